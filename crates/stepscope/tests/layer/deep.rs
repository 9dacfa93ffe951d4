//! Deep steps: some that are recorded closely by themselves, with what the threads did meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::{ThreadState, attr};

use crate::common::recording::{Attribute, Span};
use crate::common::{Ended, Program, Recording, check};

fn deep(steps: u64, waiting: u64) -> Program {
    let program = Program::new(&["deep", &steps.to_string(), &waiting.to_string()]);
    program.env("STEPSCOPE_DEEP_STEPS", "on").env("STEPSCOPE_RUN_ID", "a")
}

fn recording(ended: &Ended) -> Recording {
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    recording
}

fn is_deep(step: &Span) -> bool {
    step.attributes.get(attr::STEP_DEEP).inspect(|value| assert_eq!(**value, Attribute::Bool(true))).is_some()
}

fn numbers(recording: &Recording) -> BTreeSet<i64> {
    let deep = recording.steps().into_iter().filter(|step| is_deep(step));
    deep.map(|step| step.int(attr::STEP).unwrap()).collect()
}

fn step(recording: &Recording, number: i64) -> &Span {
    recording.steps().into_iter().find(|step| step.int(attr::STEP) == Some(number)).unwrap()
}

fn inside<'a>(recording: &'a Recording, step: &Span) -> Vec<&'a Span> {
    recording.spans.iter().filter(|span| span.trace == step.trace && span.id != step.id).collect()
}

/// What the threads did: thread, time, state, address.
fn samples(step: &Span) -> Vec<[i64; 4]> {
    let (samples, rest) = step.ints(attr::THREAD_SAMPLES).unwrap_or_default().as_chunks();
    assert_eq!(rest, [0; 0]);
    samples.to_vec()
}

/// Whether the system tells what threads do.
fn is_told() -> bool {
    std::fs::read_to_string("/proc/thread-self/syscall").is_ok()
}

#[test]
fn a_deep_step_of_a_basic_run_has_its_sections_and_the_others_have_none() {
    let recording = recording(&deep(200, 1).env("STEPSCOPE_LEVEL", "basic").succeed());
    let deep = numbers(&recording);
    assert!([4, 8, 16, 32].iter().all(|number| deep.contains(number)), "{deep:?}");
    assert!(deep.len() < 16, "{deep:?}");
    for step in recording.steps() {
        let inside = inside(&recording, step);
        let mut names: Vec<&str> = inside.iter().map(|span| &*span.name).collect();
        names.sort_unstable();
        let (names_of_deep, none): (&[&str], &[&str]) = (&["leaf", "outer"], &[]);
        assert_eq!(names, if is_deep(step) { names_of_deep } else { none }, "{step:?}");
        assert!(inside.iter().all(|span| span.int(attr::CPU_NS).is_some()), "{inside:?}");
        assert_eq!(step.int(attr::TRACE_LEFT_OUT), is_deep(step).then_some(0), "{step:?}");
    }
    // What began outside of the step while it was under way.
    assert!(recording.only("contended").int(attr::CPU_NS).is_some());
    assert_eq!(recording.only("run").events.len(), 0, "its level has not changed");
}

#[test]
fn at_detailed_a_deep_step_has_cpu_time_in_its_sections() {
    let recording = recording(&deep(40, 1).env("STEPSCOPE_LEVEL", "detailed").succeed());
    for step in recording.steps() {
        let inside = inside(&recording, step);
        assert_eq!(inside.len(), 2, "{step:?}");
        for span in inside {
            for key in [attr::CPU_NS, attr::FAULTS_MINOR] {
                assert_eq!(span.int(key).is_some(), is_deep(step), "{key} {span:?}");
            }
        }
        assert_eq!(step.int(attr::TRACE_LEFT_OUT), None, "{step:?}");
    }
}

#[test]
fn a_thread_that_waits_for_a_lock_is_seen_waiting_for_it() {
    let ended = deep(8, 1).succeed();
    let (recording, truth) = (recording(&ended), ended.truth());
    let step = step(&recording, 4);
    let (lock, main) = (truth["lock"] as i64, truth["main"] as i64);
    let waiter = *truth.iter().find(|(name, _)| name.starts_with("waiter")).unwrap().1 as i64;
    let samples = samples(step);
    if !is_told() {
        assert_eq!((samples.len(), step.int(attr::THREAD_SAMPLES_DROPPED)), (0, None));
        return;
    }
    let of_waiter: Vec<_> = samples.iter().filter(|sample| sample[0] == waiter).collect();
    let waits =
        |sample: &&&[i64; 4]| sample[2] == ThreadState::Futex as i64 && (lock..lock + 8).contains(&sample[3]);
    assert!(of_waiter.iter().filter(waits).count() >= 4, "{lock:x} {of_waiter:?}");
    assert!(samples.iter().any(|sample| sample[0] == main && sample[2] == ThreadState::Running as i64));
    assert!(samples.iter().all(|sample| [main, waiter].contains(&sample[0])), "{samples:?}");
    assert!(samples.is_sorted_by_key(|sample| sample[1]), "{samples:?}");
    assert!(samples.iter().all(|sample| (0..=step.duration_ns() as i64).contains(&sample[1])));
}

#[test]
fn a_section_outside_of_steps_that_a_deep_step_outlives_is_one_of_its_parts() {
    let recording = recording(&deep(40, 3).succeed());
    let (step, run) = (step(&recording, 4), recording.only("run"));
    let beside: Vec<&Span> = recording.spans.iter().filter(|span| span.name == "contended").collect();
    assert_eq!((beside.len(), step.int(attr::TRACE_PARTS)), (3, Some(3)));
    for span in beside {
        assert!(is_deep(span) && span.parent.is_none() && span.trace != step.trace, "{span:?}");
        assert_eq!(span.links, [(step.trace, step.id), (run.trace, run.id)]);
        assert_eq!((span.int(attr::TRACE_PARTS), span.text(attr::PARENT_PATH)), (Some(0), None));
    }
    let others = recording.steps().into_iter().filter(|other| other.id != step.id);
    assert!(others.into_iter().all(|other| other.int(attr::TRACE_PARTS).is_none()));
}

#[test]
fn of_more_threads_than_are_looked_at_the_others_are_counted() {
    let ended = deep(5, 80).succeed();
    let recording = recording(&ended);
    let step = step(&recording, 4);
    if is_told() {
        let threads: BTreeSet<i64> = samples(step).iter().map(|sample| sample[0]).collect();
        assert!(threads.len() <= 64 && threads.contains(&(ended.truth()["main"] as i64)), "{threads:?}");
        assert!(step.int(attr::THREAD_SAMPLES_DROPPED).is_some_and(|dropped| dropped >= 17));
    }
}

#[test]
fn a_deep_step_tells_the_cpu_time_of_the_machine_and_of_the_process() {
    let recording = recording(&deep(40, 1).succeed());
    let of = |key| [4, 8, 16, 32].map(|number| step(&recording, number).int(key).unwrap());
    assert!(of(attr::PROCESS_CPU_NS).is_sorted() && of(attr::HOST_CPU_NS).is_sorted());
    assert!(of(attr::HOST_CPU_NS)[0] > 0 && of(attr::PROCESS_CPU_NS)[0] > 0);
    assert_eq!(step(&recording, 5).int(attr::PROCESS_CPU_NS), None);
}

#[test]
fn deep_steps_and_captures_leave_each_other_alone() {
    let plan = "skip=3,wait=7,steps=2,repeat=3,level=detailed";
    let ended = deep(40, 1).env("STEPSCOPE_LEVEL", "basic").env("STEPSCOPE_CAPTURE", plan).succeed();
    let recording = recording(&ended);
    let deep = numbers(&recording);
    let close = recording.steps().into_iter().filter(|step| !inside(&recording, step).is_empty());
    let close: BTreeSet<i64> = close.map(|step| step.int(attr::STEP).unwrap()).collect();
    assert_eq!(close, deep.union(&[10, 11, 19, 20, 28, 29].into()).copied().collect());
    let told: Vec<_> = recording.only("run").events.iter().map(|event| event.level.as_str()).collect();
    assert_eq!(told, ["detailed", "basic", "detailed", "basic", "detailed", "basic"]);
}

#[test]
fn there_are_none_where_they_are_off_or_everything_is_close() {
    for (key, value) in [("STEPSCOPE_DEEP_STEPS", "off"), ("STEPSCOPE_LEVEL", "comprehensive")] {
        let recording = recording(&deep(40, 1).env(key, value).succeed());
        assert_eq!(numbers(&recording), BTreeSet::new(), "{key}");
        assert!(recording.steps().iter().all(|step| step.int(attr::HOST_CPU_NS).is_none()), "{key}");
    }
}

#[test]
fn all_ranks_of_a_run_have_the_same_ones() {
    let of_rank = |run: &str, rank: &str| {
        let program = deep(400, 1).env("STEPSCOPE_RUN_ID", run).env("STEPSCOPE_RANK", rank);
        numbers(&program.env("STEPSCOPE_WORLD_SIZE", "2").succeed().recording())
    };
    let (first, second) = (of_rank("a", "0"), of_rank("a", "1"));
    // A rank on which they take too much has fewer, and no others.
    assert!(first.is_subset(&second) || second.is_subset(&first), "{first:?} {second:?}");
    assert!(first.is_superset(&[4, 8, 16, 32].into()) && second.is_superset(&[4, 8, 16, 32].into()));
}

#[test]
fn a_fork_in_a_deep_step_does_no_harm() {
    let program = Program::new(&["deep_forked"]).env("STEPSCOPE_DEEP_STEPS", "on");
    let ended = program.succeed();
    let recording = recording(&ended);
    assert_eq!((ended.truth()["child"], recording.steps().len()), (7, 12));
    assert!(numbers(&recording).is_superset(&[4, 8].into()));
}

#[test]
fn a_basic_step_has_its_time_in_the_run_queue() {
    let recording = deep(6, 1).env("STEPSCOPE_LEVEL", "basic").succeed().recording();
    let is_there = std::fs::read_to_string("/proc/thread-self/schedstat").is_ok();
    for step in recording.steps() {
        assert_eq!(step.int(attr::RUN_QUEUE_NS).is_some(), is_there, "{step:?}");
        assert!(step.int(attr::CPU_NS).is_some(), "{step:?}");
    }
}

#[test]
fn a_run_says_what_memory_costs() {
    let recording = deep(1, 1).succeed().recording();
    for name in ["run", "run.started"] {
        for key in [attr::ALLOC_COST_NS, attr::FAULT_COST_NS] {
            let cost_ns = recording.only(name).int(key).unwrap();
            assert!((1..1_000_000).contains(&cost_ns), "{name} {key} {cost_ns}");
        }
    }
    let sums: BTreeMap<_, _> = recording.by_path(stepscope_core::metric::SECTION_COUNT);
    assert!(!sums.is_empty());
}
