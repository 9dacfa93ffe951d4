//! Sections and spans of each sort on several threads, while another one changes the level all the time and asks for
//! figures: whatever leaves, the sums of every path are what the threads themselves have counted, and each span is accounted
//! for.

use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope::{Handle, Level, section, step};
use tracing::info_span;

use crate::plan::Random;
use crate::received::{Keep, Received, Span};
use crate::{PROGRESS, check_account, say, start};

/// Threads that record.
const THREADS: u64 = 3;

/// Sections in each other, outermost aside, at most.
const MAX_DEPTH: usize = 3;

/// What arrives: sections that a panic left, and all.
#[derive(Debug, Default)]
struct Arrived {
    all: u64,
    failed: u64,
}

impl Keep for Arrived {
    fn keep(&mut self, span: &mut Span) {
        assert_eq!(span.has_failed, span.name.starts_with("left"), "{span:?}");
        self.all += 1;
        self.failed += u64::from(span.has_failed);
    }
}

/// Leaves a section and a span by a panic.
fn fails() {
    let _section = section!("left_section");
    let _span = info_span!("left_span").entered();
    resume_unwind(Box::new("on purpose"));
}

/// How often each path was taken.
type Taken = BTreeMap<String, u64>;

struct Player {
    random: Random,
    taken: Taken,
}

impl Player {
    /// Some sections inside of one, and others inside of these.
    fn inside(&mut self, path: &str, depth: usize) {
        let most = if depth < MAX_DEPTH { 6 } else { 1 };
        for _ in 0..self.random.below(most) {
            self.section(path, depth + 1);
        }
    }

    fn took(&mut self, path: &str, name: &str) -> String {
        let path = format!("{path}/{name}");
        *self.taken.entry(path.clone()).or_default() += 1;
        path
    }

    fn section(&mut self, around: &str, depth: usize) {
        match self.random.below(7) {
            0 => {
                let _section = section!("light", number = 3_u64);
                let path = self.took(around, "light");
                self.inside(&path, depth);
            }
            1 => {
                let mut section = section!("whole", phase = Forward, ratio = 0.5);
                let path = self.took(around, "whole");
                self.inside(&path, depth);
                section.record("text", "text");
            }
            2 => info_span!("span", number = 3_u64).in_scope(|| {
                let path = self.took(around, "span");
                self.inside(&path, depth);
            }),
            3 => {
                let first = section!("first");
                let path = self.took(around, "first");
                let second = info_span!("second").entered();
                let path = self.took(&path, "second");
                self.inside(&path, depth);
                drop(first);
                drop(second);
            }
            4 => {
                let span = info_span!("twice");
                let path = self.took(around, "twice");
                for _ in 0..2 {
                    span.in_scope(|| self.inside(&path, depth));
                }
            }
            5 => {
                let path = self.took(around, "left_section");
                self.took(&path, "left_span");
                assert!(catch_unwind(fails).is_err());
            }
            _ => {
                let _section = section!("talks");
                self.took(around, "talks");
                stepscope::value!("loss", f64::NAN);
                tracing::warn!("something");
            }
        }
    }
}

fn play(steps: u64, seed: u64) -> Taken {
    let mut player = Player { random: Random(seed), taken: Taken::new() };
    for number in 0..steps {
        if player.random.below(5) == 0 {
            let _outside = section!("outside");
            *player.taken.entry("outside".to_owned()).or_default() += 1;
            player.inside("outside", 0);
        } else {
            let _step = step!(number);
            *player.taken.entry("step".to_owned()).or_default() += 1;
            player.inside("step", 0);
        }
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
    player.taken
}

/// Changes the level until the others are done; how often.
fn change(handle: &Handle, seed: u64, is_over: &AtomicBool) -> u64 {
    let (mut random, mut changes) = (Random(seed), 0);
    let levels = [Level::Basic, Level::Detailed, Level::Comprehensive];
    while !is_over.load(Ordering::Relaxed) {
        handle.set_level(levels[random.below(levels.len())]);
        if changes % 64 == 0 {
            std::hint::black_box(handle.figures());
        }
        changes += 1;
        // Sometimes at once again.
        (0..random.below(2_000)).for_each(|_| std::hint::spin_loop());
    }
    changes
}

pub(crate) fn run(steps: u64, seed: u64) {
    let received = Received::<Arrived>::default();
    let (run, directory) = start(&received);
    let handle = run.handle();
    let is_over = AtomicBool::new(false);
    let (played, changes) = std::thread::scope(|scope| {
        let named = |name: String| std::thread::Builder::new().name(name);
        let change = || change(&handle, seed, &is_over);
        let changer = named("changer".into()).spawn_scoped(scope, change).unwrap();
        let seeds = (1..=THREADS).map(|number| seed.wrapping_mul(1 << 32).wrapping_add(number));
        let players: Vec<_> = seeds
            .map(|seed| {
                named(format!("player-{seed}")).spawn_scoped(scope, move || play(steps, seed)).unwrap()
            })
            .collect();
        let played: Vec<_> = players.into_iter().map(|player| player.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        (played, changer.join().unwrap())
    });
    let mut taken = Taken::new();
    for (path, count) in played.into_iter().flat_map(|player| player.unwrap()) {
        *taken.entry(path).or_default() += count;
    }
    drop(run);

    let figures = handle.figures();
    let sections = figures.sections().iter().filter(|section| section.path != "run");
    let sums = sections.clone().map(|section| (section.path.clone(), section.count));
    assert_eq!(sums.collect::<Taken>(), taken);
    for section in sections {
        assert!(section.self_busy_ns <= section.total_ns, "{section:?}");
    }
    let (_, lost) = check_account(&figures);
    let arrived = std::mem::take(&mut *received.0.lock().unwrap());
    let by_exporter = figures.spans().sinks.iter().find(|(name, ..)| *name != "directory").unwrap();
    assert_eq!(arrived.all, by_exporter.1);
    say("sections", taken.values().sum());
    say("paths", taken.len() as u64);
    say("changes", changes);
    say("arrived", arrived.all);
    say("failed", arrived.failed);
    say("lost", lost);
    drop(directory);
}
