//! The level changed while the program runs: what counts, what leaves, and how a reader knows.

use std::collections::BTreeMap;

use stepscope_core::{attr, metric};

use crate::common::{Attribute, Ended, Program, Recording, check};

/// Sums of sections are the program's own, and every section is accounted for.
#[track_caller]
fn exact(ended: &Ended) -> Recording {
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let own: BTreeMap<String, i64> =
        ended.truth().iter().map(|(path, &count)| ((*path).to_owned(), count as i64)).collect();
    assert_eq!(recording.by_path(metric::SECTION_COUNT), own);
    recording
}

/// Names of the spans of each step, its own first.
fn names(recording: &Recording) -> BTreeMap<i64, Vec<&str>> {
    let steps = recording.steps().into_iter();
    let names = steps.map(|step| {
        let mut inside: Vec<&str> =
            recording.spans.iter().filter(|span| span.trace == step.trace).map(|span| &*span.name).collect();
        inside.sort_unstable();
        (step.int(attr::STEP).unwrap(), inside)
    });
    names.collect()
}

fn left_out(recording: &Recording) -> BTreeMap<i64, Option<i64>> {
    let steps = recording.steps().into_iter();
    steps.map(|step| (step.int(attr::STEP).unwrap(), step.int(attr::TRACE_LEFT_OUT))).collect()
}

/// What the run says of its level: the start, then each change.
fn told(recording: &Recording) -> Vec<String> {
    let Some(Attribute::Str(start)) = recording.resource.get(attr::LEVEL) else { panic!("no level") };
    let run = recording.only("run");
    assert!(run.events.iter().all(|event| event.name == attr::LEVEL));
    assert!(run.events.is_sorted_by_key(|event| event.time_unix_ns));
    let changes = run.events.iter().inspect(|event| {
        assert!((run.start_ns..=run.end_ns).contains(&event.time_unix_ns), "{event:?}");
    });
    std::iter::once(start.clone()).chain(changes.map(|event| event.level.clone())).collect()
}

const ALL: [&str; 6] = ["leaf", "leaf", "outer", "outer", "spanned", "step"];

#[test]
fn a_level_holds_from_one_step_to_another() {
    let levels = "detailed,basic,off,comprehensive,detailed";
    let recording = exact(&Program::new(&["levels_between", levels]).succeed());
    assert_eq!(told(&recording), levels.split(',').collect::<Vec<_>>());
    let (names, left_out) = (names(&recording), left_out(&recording));
    for number in 0..50 {
        let (inside, count) = match number / 10 {
            1 => (Some(&["step"][..]), Some(Some(5))),
            2 => (None, None),
            _ => (Some(&ALL[..]), Some(None)),
        };
        assert_eq!(names.get(&number).map(Vec::as_slice), inside, "step {number}");
        assert_eq!(left_out.get(&number).copied(), count, "step {number}");
    }
    assert_eq!(recording.dropped("", "level"), 50);
    // 30 steps of 6 spans, 10 of 1, the run and its mark.
    assert_eq!(recording.exported("directory"), 180 + 10 + 2);
    for leaf in recording.named("leaf") {
        let step = recording.steps().into_iter().find(|step| step.trace == leaf.trace).unwrap();
        let is_timed = step.int(attr::STEP).unwrap() / 10 == 3;
        assert_eq!(leaf.int(attr::CPU_NS).is_some(), is_timed, "{leaf:?}");
    }
}

#[test]
fn without_sums_there_are_the_spans_alone() {
    let program = Program::new(&["levels_between", "detailed,comprehensive"]).env("STEPSCOPE_SUMS", "off");
    let recording = program.succeed().recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    assert_eq!(recording.by_path(metric::SECTION_COUNT), BTreeMap::new());
    assert_eq!(names(&recording), (0..20).map(|number| (number, ALL.to_vec())).collect());
    assert_eq!(recording.all_dropped("directory"), 0);
}

#[test]
fn a_run_that_starts_at_basic_may_look_closer_for_a_while() {
    let program = Program::new(&["levels_between", "basic,detailed,basic"]).env("STEPSCOPE_LEVEL", "basic");
    let recording = exact(&program.succeed());
    assert_eq!(told(&recording), ["basic", "detailed", "basic"]);
    let (names, left_out) = (names(&recording), left_out(&recording));
    for number in 0..30 {
        let is_close = number / 10 == 1;
        assert_eq!(names[&number], if is_close { &ALL[..] } else { &["step"] }, "step {number}");
        // Said only where it is not as the level of the run has it.
        assert_eq!(left_out[&number], is_close.then_some(0), "step {number}");
    }
    // What the run was told not to have is no loss.
    assert_eq!(recording.all_dropped("directory"), 0);
}

#[test]
fn an_open_section_goes_by_the_level_at_its_start() {
    let recording = exact(&Program::new(&["levels_within"]).succeed());
    let names = names(&recording);
    assert_eq!(names[&0], ["after", "open", "step"]);
    assert_eq!(names[&1], ["again", "begun", "data_wait", "step"]);
    assert_eq!(names[&2], ["always", "partly", "step", "timed"]);
    assert_eq!(names[&3], ["part", "step"]);
    assert_eq!(names.len(), 4);
    assert_eq!(recording.dropped("", "level"), 2);
    // Two sections at `basic`; an unknown number at `off`; none.
    let expected = [(0, Some(2)), (1, Some(1)), (2, None), (3, None)];
    assert_eq!(left_out(&recording), BTreeMap::from(expected));
    let step = recording.steps().into_iter().find(|step| step.int(attr::STEP) == Some(1)).unwrap();
    assert!(!step.attributes.keys().any(|key| key.starts_with(attr::VALUE_PREFIX)), "{step:?}");
    assert!(recording.spans.iter().all(|span| span.name == "run" || span.events.is_empty()));
    assert!(recording.only("data_wait").links.is_empty());
    assert_eq!(recording.only("begun").parent, Some(step.id));
    assert_eq!(recording.only("again").parent, Some(step.id));
    // CPU time of a part of the stays would pass for that of all.
    assert_eq!(recording.only("partly").int(attr::CPU_NS), None);
    assert!(recording.only("always").int(attr::CPU_NS).is_some());
    assert!(recording.only("timed").int(attr::CPU_NS).is_some());
}
