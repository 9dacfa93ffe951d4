//! Which intervals are left, and what leaves of them.

use std::sync::Arc;

use stepscope_core::{Level, PathId, attr};
use stepscope_otlp::{Value, Visitor};

use super::*;
use crate::config::Config;
use crate::context::identity::{Given, Identity};
use crate::export::poll_intervals::write;
use crate::hot::open::Spec;
use crate::hot::recorder::Recorder;
use crate::shared::attrs::{self, Entries};
use crate::shared::callsite::{Callsite, Source};
use crate::shared::record::SectionRecord;

const SPAN: u64 = 5;

/// Start, end, thread and entries of each interval that leaves for a section with so many entries.
fn leaving(polls: &Polls, enters: u32) -> Vec<[u64; 4]> {
    let mut read = Vec::new();
    polls.with_entry(SPAN, enters, |entry| {
        let Entry::Polls(bytes) = entry else { panic!("{entry:?}") };
        let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let quads = numbers.as_chunks().0.iter();
        read.extend(quads.map(|&[thread, start_ns, end_ns, count]| [start_ns, end_ns, thread, count]));
    });
    read
}

fn of(stays: &[[u64; 3]]) -> Vec<[u64; 4]> {
    let mut polls = Polls::default();
    for &[start_ns, end_ns, thread] in stays {
        polls.add(SPAN, thread, end_ns, end_ns - start_ns);
    }
    leaving(&polls, stays.len() as u32)
}

#[test]
fn the_longest_pauses_are_left_of_a_thousand_polls() {
    // Pauses of different lengths, in no order; polls on three threads in turn.
    let mut stays = Vec::new();
    let mut now_ns = 1_000;
    for number in 0..1_000u64 {
        let pause_ns = 1 + number * 389 % 1_009;
        now_ns += pause_ns;
        stays.push([now_ns, now_ns + 10 + number % 7, 20 + number % 3]);
        now_ns += 10 + number % 7;
    }
    let mut pauses: Vec<(u64, usize)> =
        (1..stays.len()).map(|at| (stays[at][0] - stays[at - 1][1], at)).collect();
    pauses.sort_unstable();
    let mut cuts: Vec<usize> = pauses[pauses.len() - 7..].iter().map(|&(_, at)| at).collect();
    cuts.sort_unstable();
    cuts.push(stays.len());
    let mut begin = 0;
    let mut expected = Vec::new();
    for end in cuts {
        let part = &stays[begin..end];
        let thread = if part.len() == 1 { part[0][2] } else { 0 };
        expected.push([part[0][0], part[part.len() - 1][1], thread, part.len() as u64]);
        begin = end;
    }
    assert_eq!(of(&stays), expected);
    assert_eq!(expected.iter().map(|interval| interval[3]).sum::<u64>(), 1_000);
    assert_eq!((expected.len(), expected[0][0], expected[7][1]), (8, stays[0][0], now_ns));
}

#[test]
fn up_to_eight_are_exact_and_in_the_order_of_their_starts() {
    let stays: Vec<[u64; 3]> = (0..8).map(|number| [number * 10, number * 10 + 1, number % 2]).collect();
    let exact = |stays: &[[u64; 3]]| -> Vec<[u64; 4]> {
        stays.iter().map(|&[start_ns, end_ns, thread]| [start_ns, end_ns, thread, 1]).collect()
    };
    assert_eq!(of(&stays), exact(&stays));
    // As two threads may come to note them.
    let turned: Vec<[u64; 3]> = stays.iter().rev().copied().collect();
    assert_eq!(of(&turned), exact(&stays));
    // All pauses are the same: the first is given up, of one thread or two.
    let more = [&stays[..], &[[80, 81, 0]]].concat();
    assert_eq!(of(&more)[..2], [[0, 11, 0, 2], [20, 21, 0, 1]]);
    let of_one: Vec<[u64; 3]> = more.iter().map(|&[start_ns, end_ns, _]| [start_ns, end_ns, 3]).collect();
    assert_eq!(of(&of_one)[0], [0, 11, 3, 2]);
    // Stays within each other, the inner one of which ends first.
    let nested = [&stays[1..7], &[[2, 9, 1], [1, 100, 1], [3, 4, 1]]].concat();
    assert_eq!(of(&nested)[..2], [[1, 100, 1, 2], [3, 4, 1, 1]]);
}

#[test]
fn what_another_section_left_counts_for_nothing() {
    let mut polls = Polls::default();
    (0..20).for_each(|number| polls.add(SPAN + 1, 1, 10 * number + 5, 1));
    assert!(!polls.are_of(SPAN) && polls.are_of(SPAN + 1));
    assert_eq!(leaving(&polls, 20), [[0; 4]; 0]);
    polls.add(SPAN, 1, 7, 2);
    polls.add(SPAN, 1, 17, 3);
    assert_eq!(leaving(&polls, 2), [[5, 7, 1, 1], [14, 17, 1, 1]]);
    // Not of all entries.
    assert!(leaving(&polls, 3).is_empty());
}

static SITE: Callsite = Callsite::new("site", None, "module", "file", 1, &[]);

/// A thread that records at this level.
fn state(level: Level) -> ThreadState {
    let config = Config { level, ..Config::default() };
    let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
    ThreadState::new(Arc::new(Recorder::new(config, identity)))
}

/// What leaves of a section with these stays, of which those with the numbers `dark` come while the level is low; the
/// last word says whether they are the owner's.
fn exported(state: &mut ThreadState, dark: &[usize], stays: &[(u64, u64, bool)]) -> Vec<[u64; 4]> {
    let open = Open::default();
    open.reset(state.number, 77);
    let spec = Spec { step: Some(3), ..Spec::default() };
    assert!(state.begin(&open, Source::Section(&SITE), None, &spec, None));
    assert_ne!(open.path(), PathId::ROOT);
    open.set_start(100);
    let (mut other, mut low) = (ThreadState::new(Arc::clone(&state.recorder)), self::state(Level::Basic));
    for (number, &(start_ns, exit_ns, is_owner)) in stays.iter().enumerate() {
        let thread = if dark.contains(&number) { &mut low } else { &mut other };
        thread.number = if is_owner { state.number } else { state.number + 1 };
        thread.add_stay(&open, &Stay { enters: 1, exit_ns, busy_ns: exit_ns - start_ns, ..Stay::default() });
    }
    state.finish(&open);
    let (mut words, mut bytes) = (Vec::new(), Vec::new());
    assert!(state.shared.take(&mut words));
    let (record, rest) = SectionRecord::unpack(&words, state.shared.id).unwrap();
    assert_eq!((record.enters as usize, record.start_ns), (stays.len(), 100));
    attrs::unpack(rest, &mut bytes);
    let mut written = Written::default();
    for entry in Entries::new(&bytes, &[]) {
        if let Entry::Polls(bytes) = entry {
            write(&mut written, &record, bytes);
        }
    }
    written.0
}

#[derive(Default)]
struct Written(Vec<[u64; 4]>);

impl Visitor for Written {
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        assert!(self.0.is_empty());
        let (attr::POLLS, Value::Array(values)) = (key, value) else { panic!("{key}: {value:?}") };
        let number = |value: &Value<'_>| match value {
            Value::Int(number) => *number as u64,
            other => panic!("{other:?}"),
        };
        self.0 =
            values.as_chunks().0.iter().map(|quad: &[Value<'_>; 4]| quad.each_ref().map(number)).collect();
    }
}

#[test]
fn sections_that_were_entered_often_say_when() {
    let mut state = state(Level::Detailed);
    let own = state.shared.id;
    let mut of = |stays: &[(u64, u64, bool)]| exported(&mut state, &[], stays);
    // The owner's first stay comes from its sums: of the thread that the section began on.
    assert_eq!(of(&[(100, 110, true), (130, 135, true)]), [[77, 0, 10, 1], [own, 30, 5, 1]]);
    let expected = [[77, 0, 10, 1], [own, 30, 5, 1], [own, 60, 1, 1]];
    assert_eq!(of(&[(100, 110, true), (130, 135, false), (160, 161, false)]), expected);
    assert_eq!(of(&[(130, 135, false), (100, 110, true), (160, 161, true)]), expected);
    assert_eq!(of(&[(130, 135, false), (160, 161, false), (100, 110, true)]), expected);
    // Once is none, whoever it was.
    assert!(of(&[(100, 110, true)]).is_empty());
    assert!(of(&[(100, 110, false)]).is_empty());
    let stays: Vec<_> = (0..1_000).map(|number| (100 + 10 * number, 105 + 10 * number, number > 0)).collect();
    let intervals = of(&stays);
    assert_eq!(intervals.len(), MAX_INTERVALS);
    assert_eq!((intervals[0][1], intervals[7][1] + intervals[7][2]), (0, 9_995));
    assert_eq!(intervals.iter().map(|interval| interval[3]).sum::<u64>(), 1_000);
}

#[test]
fn below_detailed_there_are_none() {
    let stays = [(100, 110, true), (130, 135, true), (160, 161, false), (170, 171, true)];
    assert!(exported(&mut state(Level::Basic), &[], &stays).is_empty());
    assert_eq!(exported(&mut state(Level::Comprehensive), &[], &stays).len(), 4);
    // Some of them would pass for all. That of the first is known all the same.
    let mut state = state(Level::Detailed);
    for dark in [&[0, 1][..], &[1], &[2], &[3], &[0, 1, 2, 3]] {
        assert!(exported(&mut state, dark, &stays).is_empty(), "{dark:?}");
    }
    assert_eq!(exported(&mut state, &[0], &stays).len(), 4);
}
