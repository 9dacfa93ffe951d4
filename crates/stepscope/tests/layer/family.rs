//! Processes that start others: all are one run, linked to where each was started from.

use std::collections::BTreeSet;
use std::path::Path;

use stepscope_core::attr;

use crate::common::recording::files;
use crate::common::{Attribute, Ended, Program, Recording, check};

const CHILDREN: usize = 3;
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn family() -> Program {
    Program::new(&["family", "3"]).env("STEPSCOPE_WORLD_SIZE", "4")
}

/// What each process wrote, by rank.
fn recordings(ended: &Ended) -> Vec<Recording> {
    let paths = files(&ended.path().join("profiles"));
    let directories: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    let mut recordings: Vec<Recording> = directories.into_iter().map(Recording::read).collect();
    recordings.sort_by_key(rank);
    recordings
}

fn rank(recording: &Recording) -> i64 {
    match recording.resource.get(attr::RANK) {
        Some(Attribute::Int(rank)) => *rank,
        other => panic!("{other:?}"),
    }
}

fn run_id(recording: &Recording) -> String {
    match recording.resource.get(attr::RUN_ID) {
        Some(Attribute::Str(id)) => id.clone(),
        other => panic!("{other:?}"),
    }
}

/// Holds the children's links to the sections in which they were started; gives the id of the one run that all are.
fn check_family(ended: &Ended) -> String {
    let all = recordings(ended);
    assert_eq!(all.iter().map(rank).collect::<Vec<_>>(), [0, 1, 2, 3]);
    all.iter().for_each(check::traces);
    let starts: Vec<_> = all[0].named("start").collect();
    assert_eq!(starts.len(), CHILDREN);
    for (child, start) in all[1..].iter().zip(starts) {
        let there = (start.trace, start.id);
        for name in ["run", "run.started", "serve"] {
            assert_eq!(child.only(name).links.iter().filter(|link| **link == there).count(), 1, "{name}");
        }
        // Steps are linked to the run, from which it goes on.
        assert!(
            child.steps().iter().all(|step| step.links == [(child.only("run").trace, child.only("run").id)])
        );
    }
    let ids: BTreeSet<String> = all.iter().map(run_id).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids.into_iter().next().unwrap_or_default()
}

#[test]
fn children_join_the_run_of_the_process_that_started_them() {
    let ended = family().succeed();
    assert_ne!(check_family(&ended), TRACE);
    assert_eq!(recordings(&ended)[0].only("run").links, []);
    assert!(!ended.stdout.contains("tracestate") && !ended.stdout.contains("baggage"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_run_is_linked_to_the_launcher_that_has_a_trace_and_named_after_it() {
    let ended = family()
        .env("TRACEPARENT", PARENT)
        .env("TRACESTATE", "vendor=1")
        .env("BAGGAGE", "user=42")
        .env("SLURM_JOB_ID", "77")
        .succeed();
    assert_eq!(check_family(&ended), TRACE);
    let launcher = (u128::from_str_radix(TRACE, 16).unwrap().to_be_bytes(), 0x00f0_67aa_0ba9_02b7);
    for name in ["run", "run.started"] {
        assert_eq!(recordings(&ended)[0].only(name).links, [launcher]);
    }
    // The children's callers are in traces of ours, of which the launcher's tracer knows nothing.
    assert!(!ended.stdout.contains(TRACE) && !ended.stdout.contains("tracestate"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("baggage: user=42\n").count(), CHILDREN);
    assert_eq!(ended.stderr, "");
}

#[test]
fn processes_of_a_launcher_that_only_has_a_trace_are_one_run() {
    let one = |rank: &str| Program::new(&["child"]).env("TRACEPARENT", PARENT).env("RANK", rank).succeed();
    for rank in ["0", "1"] {
        let recording = one(rank).recording();
        assert_eq!((run_id(&recording).as_str(), self::rank(&recording).to_string().as_str()), (TRACE, rank));
    }
}

#[test]
fn where_nothing_is_recorded_all_is_passed_on_as_it_came() {
    let ended = family()
        .env("OTEL_SDK_DISABLED", "true")
        .env("TRACEPARENT", PARENT)
        .env("TRACESTATE", "vendor=1")
        .env("BAGGAGE", "user=42")
        .succeed();
    let expected = format!("traceparent: {PARENT}\ntracestate: vendor=1\nbaggage: user=42\n");
    assert_eq!(ended.stdout, expected.repeat(CHILDREN));
}

#[test]
fn a_context_that_is_none_is_named_once_and_ignored() {
    let ended = Program::new(&["child"]).env("TRACEPARENT", "00-no").env("BAGGAGE", "a b").succeed();
    let warnings = ended.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("TRACEPARENT") && warnings[1].contains("BAGGAGE"), "{warnings:?}");
    check::all(&ended.recording());
    assert_eq!(ended.recording().only("run").links, []);
}
