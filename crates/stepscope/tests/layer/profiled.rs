//! `#[profile]`: which sections the calls become, below which, with what they were asked to record.

use std::collections::BTreeMap;

use stepscope_core::{attr, metric};

use crate::common::check;
use crate::common::recording::Attribute;
use crate::common::{Ended, Program, Recording, Span};

const STEPS: u64 = 5;

/// OTLP's status code of an error.
const ERROR: i32 = 2;

fn record() -> Ended {
    Program::new(&["profiled", &STEPS.to_string()]).succeed()
}

/// The names below `span`, depth first, children by start.
fn tree(recording: &Recording, span: &Span) -> String {
    let children: Vec<String> =
        recording.children(span).into_iter().map(|child| tree(recording, child)).collect();
    if children.is_empty() { span.name.clone() } else { format!("{}({})", span.name, children.join(" ")) }
}

#[test]
fn every_call_is_a_section_below_its_callers() {
    let ended = record();
    let (recording, truth) = (ended.recording(), ended.truth());
    check::all(&recording);

    let steps = recording.steps();
    assert_eq!(steps.len() as u64, STEPS + 1);
    for step in &steps[..STEPS as usize] {
        let even = "Model::forward(sum Model::parameters descend(descend(descend(sum))))";
        let work =
            format!("Model::new {even} Model::new Model::forward(sum) Plain::zero_grad Optimizer::name");
        assert_eq!(tree(&recording, step), format!("step(step work({work}))"));
    }
    // Twice two calls deep and a poll, each closed by its panic: what comes next is not inside.
    assert_eq!(tree(&recording, steps[STEPS as usize]), "step(explode(explode(explode)) sum fails sum)");

    // What the bodies counted, and what there is of them, in spans and in sums.
    let mut sums = BTreeMap::<String, u64>::new();
    for (path, count) in recording.by_path(metric::SECTION_COUNT) {
        *sums.entry(path.rsplit('/').next().unwrap().to_owned()).or_default() += count as u64;
    }
    let renamed = [("Model::descend", "descend"), ("Model::zero_grad", "Plain::zero_grad")];
    for (name, &calls) in truth.iter().filter(|(name, _)| name.contains("::") || **name == "sum") {
        let name = renamed.iter().find(|(method, _)| method == name).map_or(*name, |(_, section)| section);
        assert!(calls > 0, "{name}");
        assert_eq!((recording.named(name).count() as u64, sums[name]), (calls, calls), "{name}");
    }
    // A method that is left out, and nothing else that the attribute made up.
    assert_eq!(recording.named("Model::quiet").count(), 0);
}

#[test]
fn phases_fields_and_places_are_those_of_the_source() {
    let recording = record().recording();
    for (number, step) in recording.steps().into_iter().take(STEPS as usize).enumerate() {
        let work = recording.children(step)[0];
        assert_eq!((work.int("step"), work.text(attr::PHASE)), (Some(number as i64), None));
        let methods = recording.children(work);
        let phases: Vec<Option<&str>> = methods.iter().map(|span| span.text(attr::PHASE)).collect();
        let (forward, gradient, optimizer) = (Some("forward"), Some("gradient"), Some("optimizer"));
        assert_eq!(phases, [None, forward, None, forward, gradient, optimizer]);
        let [even, odd] = [methods[1], methods[3]];
        assert_eq!((even.int(attr::SAMPLES), odd.int(attr::SAMPLES)), (Some(2), Some(1)));
        assert_eq!(even.attributes["scale"], Attribute::Double(2.0));
        assert_eq!((even.text("title"), odd.text("title")), (Some("2"), Some("1")));
        // The arguments that nobody asked for.
        assert!(methods.iter().all(|span| !span.attributes.contains_key("batch")));
    }
    let source = include_str!("../../examples/programs/profiled.rs");
    let places = [
        ("Model::forward", "fn forward("),
        ("Plain::zero_grad", "fn zero_grad(&mut self) {"),
        ("Optimizer::name", "fn name("),
        ("sum", "fn sum<"),
        ("load", "async fn load("),
        ("Source::read", "async fn read("),
    ];
    for (name, head) in places {
        let span = recording.named(name).next().unwrap();
        assert!(
            span.text(attr::CODE_FILE_PATH).unwrap().ends_with("examples/programs/profiled.rs"),
            "{name}"
        );
        let line = span.int(attr::CODE_LINE_NUMBER).unwrap() as usize;
        let written = source.lines().nth(line - 1).unwrap();
        assert!(written.trim_start().starts_with(head), "{name}: line {line}: {written}");
    }
}

#[test]
fn a_panic_ends_the_sections_that_it_leaves() {
    let recording = record().recording();
    let exploded: Vec<&Span> = recording.named("explode").collect();
    assert_eq!(exploded.len(), 3);
    assert!(exploded.iter().all(|span| span.status == ERROR && span.text(attr::PHASE) == Some("io")));
    assert_eq!(recording.only("fails").status, ERROR);
    assert!(recording.named("sum").all(|span| span.status != ERROR));
}

#[test]
fn futures_are_busy_while_they_are_polled_and_idle_between() {
    let ended = record();
    let (recording, truth) = (ended.recording(), ended.truth());
    let figure = |span: &Span, key: &str| u64::try_from(span.int(key).unwrap()).unwrap();
    // The two clocks may differ by a thousandth.
    let at_least = |measured: u64| measured - measured / 1_000;
    let at_most = |measured: u64| measured + measured / 1_000;

    let load = recording.only("load");
    // 4 polls of its own and 3 of the inner one; the last goes on into the first of those.
    assert_eq!((truth["load.polls"], truth["load.threads"]), (6, 2));
    assert_eq!((load.text(attr::PHASE), load.int("polls")), (Some("data_wait"), Some(4)));
    assert_eq!(load.text("kind"), Some("outer"));
    let (busy, idle) = (figure(load, attr::BUSY_NS), figure(load, attr::IDLE_NS));
    assert_eq!(busy + idle, load.duration_ns());
    assert!(busy >= at_least(truth["load.inside"] + truth["read.inside"]), "{load:?} {truth:?}");
    assert!(busy <= at_most(truth["load.outside"]), "{load:?} {truth:?}");
    assert!(idle > 0 && idle <= at_most(truth["load.suspended"] + truth["load.outside"]));

    let children = recording.children(load);
    let names: Vec<&str> = children.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["Source::read", "sum"]);
    let (read_busy, read_idle) = (figure(children[0], attr::BUSY_NS), figure(children[0], attr::IDLE_NS));
    assert_eq!(read_busy + read_idle, children[0].duration_ns());
    assert!(read_busy >= at_least(truth["read.inside"]) && read_busy <= busy);
    assert!(read_idle > 0 && read_idle <= idle);
}
