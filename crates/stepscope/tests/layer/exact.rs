//! Aggregates are exact: they agree with the program's own counts and with the spans, whatever the sections
//! went through.

use std::collections::BTreeMap;

use stepscope_core::{attr, metric};

use crate::common::check;
use crate::common::{Program, Recording};

#[test]
fn counts_are_the_programs_own() {
    let ended = Program::new(&["mixed"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    let own: BTreeMap<String, i64> =
        ended.truth().iter().map(|(path, &count)| ((*path).to_owned(), count as i64)).collect();
    assert_eq!(recording.by_path(metric::SECTION_COUNT), own);

    // A caught panic makes the sections and spans that it left failed, and no others.
    for name in ["fragile", "inner"] {
        assert_eq!(recording.named(name).count(), 20 * 7);
        assert_eq!(recording.named(name).filter(|span| span.status == 2).count(), 20 * 4, "{name}");
    }
    assert_eq!(recording.spans.iter().filter(|span| span.status == 2).count(), 2 * 20 * 4);
    // A span that was entered 50 times.
    for again in recording.named("again") {
        assert_eq!(recording.children(again).len(), 50);
        let busy = again.int(attr::BUSY_NS).unwrap() as u64;
        let parts: u64 = recording.children(again).iter().map(|part| part.duration_ns()).sum();
        assert!(busy >= parts && busy <= again.duration_ns());
    }
    // Spans of other threads than their root's say whose they are.
    for help in recording.named("help") {
        assert!(help.text(attr::THREAD_NAME).unwrap().starts_with("helper-"), "{help:?}");
    }
    for epoch in recording.named("epoch") {
        let number = epoch.int(attr::EPOCH).unwrap();
        let mark =
            recording.named("epoch.started").find(|mark| mark.int(attr::EPOCH) == Some(number)).unwrap();
        assert_eq!((mark.parent, mark.duration_ns()), (epoch.parent, 0));
        assert!(mark.id != epoch.id && mark.start_ns <= epoch.start_ns + 1_000_000_000);
        let steps = recording.steps().iter().filter(|step| step.int(attr::EPOCH) == Some(number)).count();
        assert_eq!(steps, 10);
    }
}

fn self_times(recording: &Recording) -> BTreeMap<String, i64> {
    let paths = check::paths(recording);
    let mut sums = BTreeMap::new();
    for span in recording.spans.iter().filter(|span| !span.name.ends_with(".started") && span.name != "run") {
        let nested: u64 = recording.children(span).iter().map(|child| child.duration_ns()).sum();
        *sums.entry(paths[&span.id].0.join("/")).or_default() += (span.duration_ns() - nested) as i64;
    }
    sums
}

#[test]
fn the_time_of_sections_themselves_is_exact() {
    let recording = Program::new(&["order"]).succeed().recording();
    check::all(&recording);
    let mut measured = recording.by_path(metric::SECTION_SELF_BUSY);
    measured.remove("run");
    assert_eq!(measured, self_times(&recording));
    assert_eq!(recording.by_path(metric::SECTION_COUNT)["step/outer/inner/leaf"], 150);
    let phases: Vec<_> = recording
        .points(metric::SECTION_COUNT)
        .filter_map(|(attributes, _)| {
            Some((attributes[attr::PATH].as_str(), attributes.get(attr::PHASE)?.as_str()))
        })
        .collect();
    assert_eq!(phases, [("step/outer", "forward")]);
}

#[test]
fn levels_decide_what_leaves_and_every_section_counts() {
    let full = Program::new(&["order"]).succeed().recording();
    let ended = Program::new(&["order"]).env("STEPSCOPE_LEVEL", "basic").succeed();
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    assert_eq!(recording.spans.len(), 50 + 2);
    assert_eq!(recording.by_path(metric::SECTION_COUNT), full.by_path(metric::SECTION_COUNT));
    let ended = Program::new(&["order"]).env("STEPSCOPE_LEVEL", "comprehensive").succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert!(recording.named("leaf").all(|leaf| leaf.int(attr::CPU_NS).is_some()));
    assert!(full.named("leaf").all(|leaf| leaf.int(attr::CPU_NS).is_none()));
    assert!(full.steps().iter().all(|step| step.int(attr::CPU_NS).is_some()));
    let off = Program::new(&["order"]).env("STEPSCOPE_LEVEL", "off").succeed();
    assert!(!off.path().join("profiles").exists());
}
