//! The level changed while the program runs, and the program's own count of what was meant to be recorded.

use std::collections::BTreeMap;

use stepscope::{Handle, Level, section, step};
use tracing::info_span;

use crate::say;

/// How often each path was taken while something was recorded.
#[derive(Default)]
struct Truth(BTreeMap<&'static str, u64>);

impl Truth {
    fn took(&mut self, path: &'static str) {
        *self.0.entry(path).or_default() += 1;
    }

    fn say(&self) {
        self.0.iter().for_each(|(path, &count)| say(path, count));
    }
}

/// A step of five sections, of which the one in the middle is a span.
fn plain_step(number: u64, level: Level, truth: &mut Truth) {
    let mut took = |path| {
        if level != Level::Off {
            truth.took(path);
        }
    };
    let _step = step!(number);
    took("step");
    stepscope::value!("number", number as f64);
    for _ in 0..2 {
        let _outer = section!("outer");
        took("step/outer");
        let _leaf = section!("leaf");
        took("step/outer/leaf");
    }
    info_span!("spanned").in_scope(|| took("step/spanned"));
}

/// Changes between steps: ten steps at each level.
pub(crate) fn between(levels: &str) {
    let run = crate::start();
    let handle = run.handle();
    let mut truth = Truth::default();
    truth.took("run");
    for (position, name) in levels.split(',').enumerate() {
        let level = Level::parse(name).unwrap();
        handle.set_level(level);
        assert_eq!(run.handle().level(), level);
        for number in 0..10 {
            plain_step(position as u64 * 10 + number, level, &mut truth);
        }
    }
    drop(run);
    handle.set_level(Level::Detailed);
    assert_eq!(handle.level(), Level::Off);
    truth.say();
}

/// Changes while sections are open, one step each.
pub(crate) fn within() {
    let run = crate::install(stepscope::builder().level(Level::Detailed));
    let handle = run.handle();
    let mut truth = Truth::default();
    truth.took("run");
    lowered_and_raised(&handle, &mut truth);
    off_and_on(&handle, &mut truth);
    timed_for_a_while(&handle, &mut truth);
    truth.took("step");
    {
        // As if nothing had been.
        let _step = step!(3);
        let _part = section!("part");
        truth.took("step/part");
    }
    drop(run);
    truth.say();
}

fn lowered_and_raised(handle: &Handle, truth: &mut Truth) {
    let _step = step!(0);
    truth.took("step");
    let _open = section!("open");
    truth.took("step/open");
    handle.set_level(Level::Basic);
    {
        let _quiet = section!("quiet");
        truth.took("step/open/quiet");
        handle.set_level(Level::Detailed);
        let _inside = info_span!("inside").entered();
        truth.took("step/open/quiet/inside");
    }
    let _after = section!("after");
    truth.took("step/open/after");
    // What is open now ends as a span.
    handle.set_level(Level::Basic);
    drop(_after);
    drop(_open);
    drop(_step);
    handle.set_level(Level::Detailed);
}

fn off_and_on(handle: &Handle, truth: &mut Truth) {
    let step = step!(1);
    truth.took("step");
    let span = info_span!("begun");
    truth.took("step/begun");
    handle.set_level(Level::Off);
    let unseen = section!("unseen");
    let unseen_span = info_span!("unseen_span").entered();
    stepscope::value!("unseen", 1.0);
    tracing::warn!("unseen");
    {
        let _unseen_step = step!(1_000);
        let _unseen_epoch = stepscope::epoch!(1_000_u64);
    }
    // Open before, and entered now.
    span.in_scope(|| ());
    let loader = stepscope::Loader::new("unseen");
    let batch = loader.produce(|| 7);
    handle.set_level(Level::Detailed);
    assert_eq!(loader.wait(|| Some(batch)), Some(7));
    truth.took("step/data_wait");
    {
        let _again = section!("again");
        truth.took("step/again");
    }
    drop((unseen, unseen_span, span, step));
}

/// A span whose stays are timed by the system now and then, and one that always is.
fn timed_for_a_while(handle: &Handle, truth: &mut Truth) {
    let _step = step!(2);
    truth.took("step");
    let partly = info_span!("partly");
    truth.took("step/partly");
    partly.in_scope(|| ());
    handle.set_level(Level::Comprehensive);
    let always = info_span!("always");
    truth.took("step/always");
    partly.in_scope(|| ());
    always.in_scope(|| ());
    always.in_scope(|| ());
    // As soon as it is entered, CPU time is measured to the exit, whatever the level is then.
    let _timed = section!("timed");
    truth.took("step/timed");
    handle.set_level(Level::Detailed);
}
