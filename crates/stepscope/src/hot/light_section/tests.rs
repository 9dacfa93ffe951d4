//! A section that lives in its frame alone leaves what it would leave with an open section behind it, however it is made
//! whole, and whatever becomes of it.

use std::sync::Arc;

use stepscope_core::{Level, Phase};

use super::*;
use crate::config::Config;
use crate::config::ring::Overflow;
use crate::context::identity::{Given, Identity};
use crate::hot::open::Spec;
use crate::hot::recorder::Recorder;
use crate::hot::state::SPARE_FRAMES;
use crate::os::clock::told;
use crate::shared::attrs::{self, Entries, Entry};

static STEP: Callsite = Callsite::new("step", None, "module", "file", 1, &[]);
static PLAIN: Callsite =
    Callsite::new("plain", None, "module", "file", 2, &["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
static PHASED: Callsite = Callsite::new("phased", Some(Phase::Forward), "module", "file", 3, &["a"]);

fn state(config: Config) -> ThreadState {
    ThreadState::new(Arc::new(Recorder::new(
        config,
        Identity::resolve(Given::default(), |_| None, &mut Vec::new()),
    )))
}

/// A step on the stack of `state`, so that sections have something around them.
fn step(state: &mut ThreadState) -> u64 {
    let spec = Spec { step: Some(7), ..Spec::default() };
    state.enter_section(Source::Section(&STEP), &spec, &[], |_| ()).unwrap()
}

/// The form of the innermost section.
fn form(state: &ThreadState) -> Form {
    state.frames[state.depth - 1].form.get()
}

/// All records, each without its ids, with its parent's number among them, and its entries as text.
fn taken(state: &ThreadState) -> Vec<(SectionRecord, Option<usize>, String)> {
    let (mut words, mut bytes, mut found) = (Vec::new(), Vec::new(), Vec::new());
    while state.shared.take(&mut words) {
        let (record, attached) = SectionRecord::unpack(&words, state.shared.id).unwrap();
        attrs::unpack(attached, &mut bytes);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let entries = Entries::new(&bytes, &names).map(|entry| format!("{entry:?} ")).collect();
        found.push((record, entries));
    }
    let ids: Vec<u64> = found.iter().map(|(record, _)| record.span_id).collect();
    let number = |id: u64| ids.iter().position(|&other| other == id);
    found
        .into_iter()
        .map(|(record, entries)| {
            let parent = number(record.parent_span_id);
            (SectionRecord { span_id: 0, parent_span_id: 0, trace_id: [0; 16], ..record }, parent, entries)
        })
        .collect()
}

/// What the sums of `state` say.
fn sums(state: &ThreadState) -> Vec<String> {
    let mut all = Vec::new();
    state.shared.aggregates.for_each(|path, sums| all.push(format!("{path} {sums:?}")));
    all
}

/// Sections in a step with these fields, one inside of the other; `touch` is run inside of each with its key.
fn played(values: &[FieldValue<'_>], touch: impl Fn(&ThreadState, u64)) -> ThreadState {
    let mut state = state(Config::default());
    told::set(1_000);
    let step = step(&mut state);
    // The first time, places are not known.
    for round in 1..4 {
        told::set(10_000 * round);
        let outer = state.enter_plain(&PHASED, &values[..values.len().min(1)]).unwrap();
        touch(&state, outer);
        told::set(10_000 * round + 100);
        let inner = state.enter_plain(&PLAIN, values).unwrap();
        touch(&state, inner);
        told::set(10_000 * round + 130);
        state.end_section(inner);
        told::set(10_000 * round + 200);
        state.end_section(outer);
    }
    told::set(90_000);
    state.end_section(step);
    state
}

#[test]
fn light_sections_leave_what_whole_ones_do() {
    let long = "x".repeat(300);
    let values = [
        FieldValue::Int(-1),
        FieldValue::Str("four"),
        FieldValue::Double(0.5),
        FieldValue::Bool(true),
        FieldValue::Uint(u64::MAX),
        FieldValue::Str(""),
        FieldValue::Str("eighteen bytes ..."),
        FieldValue::Str(&long),
    ];
    for count in 0..=values.len() {
        let fields = &values[..count];
        let light = played(fields, |_, _| ());
        let whole = played(fields, |state, key| assert!(state.open(key).is_some()));
        let records = taken(&light);
        assert_eq!(records.len(), 7);
        // (The step has figures of the system's.)
        assert_eq!(records[..6], taken(&whole)[..6], "{count} fields");
        assert_eq!(sums(&light), sums(&whole));
        assert_eq!(light.shared.emitted.load(std::sync::atomic::Ordering::Relaxed), 7);
        assert_eq!((records[6].0.root.map(|root| root.trace_spans), light.depth), (Some(7), 0));
        let parents: Vec<Option<usize>> = records.iter().map(|(_, parent, _)| *parent).collect();
        assert_eq!(parents, [Some(1), Some(6), Some(3), Some(6), Some(5), Some(6), None]);
    }
}

#[test]
fn a_section_is_light_as_soon_as_its_place_is_known_and_until_somebody_looks() {
    let mut state = state(Config::default());
    let step = step(&mut state);
    for is_known in [false, true, true] {
        let key = state.enter_plain(&PLAIN, &[FieldValue::Int(1)]).unwrap();
        assert_eq!(form(&state), if is_known { Form::Light } else { Form::Whole });
        let (open, owned) = state.open(key).unwrap();
        assert!(owned);
        open.push(true, Entry::UserValue("loss", 2.0));
        open.set_error(true, true);
        assert_eq!(form(&state), Form::Whole);
        state.end_section(key);
    }
    // More fields than a frame has room for.
    let many = [FieldValue::Int(1); 9];
    let key = state.enter_plain(&PLAIN, &many).unwrap();
    assert_eq!(form(&state), Form::Whole);
    state.end_section(key);
    state.end_section(step);
    let found = taken(&state);
    assert_eq!(found.len(), 5);
    for (record, _, entries) in &found[..3] {
        assert!(record.is_error);
        assert_eq!(entries.trim(), r#"Field("a", Int(1)) UserValue("loss", 2.0)"#);
    }
    assert_eq!(found[3].2.matches("Field").count(), 9);
}

#[test]
fn guards_that_go_in_another_order_and_deep_stacks_lose_nothing() {
    let mut state = state(Config { ring_bytes: 1 << 20, ..Config::default() });
    let step = step(&mut state);
    for _ in 0..2 {
        let keys: Vec<u64> = (0..100).map(|_| state.enter_plain(&PLAIN, &[]).unwrap()).collect();
        let (first, others) = keys.split_first().unwrap();
        others.iter().chain([first]).for_each(|&key| state.end_section(key));
        assert!(state.frames.len() <= KEPT_FRAMES + SPARE_FRAMES);
    }
    state.end_section(step);
    let found = taken(&state);
    assert_eq!((found.len(), state.depth), (201, 0));
    assert_eq!(found[200].0.root.map(|root| (root.trace_spans, root.trace_dropped)), Some((201, 0)));
}

#[test]
fn a_loop_deep_down_uses_its_frames_again() {
    let mut state = state(Config { ring_bytes: 1 << 20, ..Config::default() });
    let step = step(&mut state);
    let around: Vec<u64> = (0..KEPT_FRAMES + 10).map(|_| state.enter_plain(&PLAIN, &[]).unwrap()).collect();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let inner: Vec<u64> = (0..20).map(|_| state.enter_plain(&PLAIN, &[]).unwrap()).collect();
        seen.insert(state.frames.len());
        inner.iter().rev().for_each(|&key| state.end_section(key));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [KEPT_FRAMES + 31]);
    around.iter().rev().for_each(|&key| state.end_section(key));
    state.end_section(step);
}

#[test]
fn a_path_whose_sections_say_different_phases_has_none() {
    static BACKWARD: Callsite = Callsite::new("phased", Some(Phase::Backward), "module", "file", 4, &[]);
    let mut state = state(Config::default());
    let step = step(&mut state);
    let forward = Some(Phase::Forward);
    for (callsite, expected) in [(&PHASED, forward), (&PHASED, forward), (&BACKWARD, None), (&PHASED, None)] {
        let key = state.enter_plain(callsite, &[]).unwrap();
        let path = state.current().unwrap().path;
        state.end_section(key);
        assert_eq!(state.recorder.path_info(path).phase, expected);
    }
    state.end_section(step);
}

/// The own times of all paths in the order of these.
fn own_times(state: &ThreadState) -> Vec<u128> {
    let mut all = Vec::new();
    state.shared.aggregates.for_each(|path, sums| all.extend(sums.map(|sums| (path, sums.self_busy_ns))));
    all.sort_unstable();
    all.into_iter().map(|(_, own_ns)| own_ns).collect()
}

#[test]
fn own_times_of_guards_that_go_in_the_order_in_which_they_came_are_those_of_the_thread() {
    // The last one as a light section, and as one that somebody has looked at.
    for is_looked_at in [false, true] {
        let mut state = state(Config::default());
        told::set(1_000);
        let step = step(&mut state);
        told::set(2_000);
        let outer = state.enter_plain(&PHASED, &[]).unwrap();
        told::set(42_000);
        let inner = state.enter_plain(&PLAIN, &[]).unwrap();
        assert!(!is_looked_at || state.open(outer).is_some() && state.open(inner).is_some());
        for (time_ns, key) in [(62_000, outer), (106_000, inner), (107_000, step)] {
            told::set(time_ns);
            state.end_section(key);
        }
        assert_eq!(own_times(&state), [2_000, 40_000, 64_000]);
    }
}

#[test]
fn own_times_add_up_in_whatever_order_guards_go() {
    let mut random = 7u64;
    let mut below = |end: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % end
    };
    for _ in 0..50 {
        let mut state = state(Config { ring_bytes: 1 << 20, ..Config::default() });
        let mut now_ns = 1_000;
        told::set(now_ns);
        let step = step(&mut state);
        let mut keys = Vec::new();
        for _ in 0..200 {
            now_ns += below(1_000);
            told::set(now_ns);
            if keys.is_empty() || keys.len() < 12 && below(2) == 0 {
                keys.push(state.enter_plain(if below(2) == 0 { &PLAIN } else { &PHASED }, &[]).unwrap());
            } else {
                state.end_section(keys.remove(below(keys.len() as u64) as usize));
            }
        }
        keys.into_iter().for_each(|key| state.end_section(key));
        now_ns += 500;
        told::set(now_ns);
        state.end_section(step);
        assert_eq!(own_times(&state).iter().sum::<u128>(), u128::from(now_ns - 1_000));
    }
}

#[test]
fn what_finds_no_room_is_counted_and_the_root_says_so() {
    for overflow in [Overflow::DropNewest, Overflow::KeepSteps] {
        let mut state = state(Config { ring_bytes: 0, overflow, ..Config::default() });
        let step = step(&mut state);
        for _ in 0..1_000 {
            let key = state.enter_plain(&PLAIN, &[FieldValue::Str("some text")]).unwrap();
            state.end_section(key);
        }
        state.end_section(step);
        let found = taken(&state);
        let lost = state.shared.ring_full.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(found.len() as u64 + lost, 1_001);
        let root = found.last().and_then(|(record, ..)| record.root).unwrap();
        assert!(lost > 0);
        assert_eq!((u64::from(root.trace_spans), u64::from(root.trace_dropped)), (1_001 - lost, lost));
        let calls = sums(&state);
        assert!(calls.iter().any(|sums| sums.contains("count: 1000")), "{calls:?}");
    }
}

#[test]
fn at_basic_there_are_sums_alone_and_at_comprehensive_everything() {
    for (level, expected) in [(Level::Basic, Form::Sums), (Level::Comprehensive, Form::Whole)] {
        let mut state = state(Config { level, ..Config::default() });
        let step = step(&mut state);
        for _ in 0..3 {
            let outer = state.enter_plain(&PHASED, &[FieldValue::Int(1)]).unwrap();
            let inner = state.enter_plain(&PLAIN, &[]).unwrap();
            assert_eq!((form(&state), state.open(inner).is_some()), (expected, level != Level::Basic));
            state.end_section(inner);
            state.end_section(outer);
        }
        state.end_section(step);
        assert_eq!(taken(&state).len(), if level == Level::Basic { 1 } else { 7 });
        assert_eq!(sums(&state).iter().filter(|sums| sums.contains("count: 3")).count(), 2);
    }
}

#[test]
fn a_section_that_is_made_whole_has_no_cpu_time_of_what_had_its_frame_before() {
    let mut state = state(Config { level: Level::Comprehensive, ..Config::default() });
    let count = 3;
    let play = |state: &mut ThreadState| {
        let step = step(state);
        let outer = state.enter_plain(&PHASED, &[FieldValue::Int(1)]).unwrap();
        let inner = state.enter_plain(&PLAIN, &[]).unwrap();
        [inner, outer].into_iter().for_each(|key| assert!(state.open(key).is_some()));
        [inner, outer, step].into_iter().for_each(|key| state.end_section(key));
    };
    (0..count).for_each(|_| play(&mut state));
    state.recorder.set_level_of_a_test(Level::Detailed);
    (0..count).for_each(|_| play(&mut state));
    let timed: Vec<bool> = taken(&state).iter().map(|(record, ..)| record.cpu_ns.is_some()).collect();
    let (before, after) = timed.split_at(3 * count);
    assert!(before.iter().all(|&is_timed| is_timed));
    // Steps have theirs at any level.
    assert!(after.chunks(3).all(|step| step == [false, false, true]), "{after:?}");
}
