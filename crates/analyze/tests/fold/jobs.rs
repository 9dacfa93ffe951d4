//! Which runs are one job, and which of several is reported; what devices' annotations count for; names of any length.

use std::sync::Arc;

use stepscope_core::Phase;
use stepscope_model::{Resource, Trace};

use crate::build::{Build, summarise};

/// A process of another program's.
fn process(service: &str, rank: Option<i64>, world_size: Option<i64>) -> Arc<Resource> {
    Arc::new(Resource { service_name: service.into(), rank, world_size, ..Resource::default() })
}

/// Three steps of 100 ns, the first of which begins at `at_ns`.
fn steps(number: u64, resource: &Arc<Resource>, at_ns: u64) -> Vec<Trace> {
    let step = |step: u64| {
        let mut build = Build::of(number * 100 + step, resource);
        let start_ns = at_ns + step * 100;
        build.step(step.cast_signed(), start_ns, start_ns + 100);
        build.foreign().trace()
    };
    (0..3).map(step).collect()
}

#[test]
fn ranks_of_one_job_are_one_run_whatever_their_programs_are_called() {
    let of = |rank: i64, size: i64, at_ns: u64| {
        steps(rank.cast_unsigned() + 1, &process(&format!("train-{rank}"), Some(rank), Some(size)), at_ns)
    };
    let summary = summarise(&[of(0, 2, 1_000), of(1, 2, 1_010)].concat());
    assert_eq!((summary.modes[0].all.count, summary.instances.len(), summary.other_runs.len()), (6, 2, 0));
    // Of another size, of a rank that is there, at another time: of another job.
    let same_rank = [of(0, 2, 1_000), steps(9, &process("other", Some(0), Some(2)), 1_010)].concat();
    for traces in
        [same_rank, [of(0, 2, 1_000), of(1, 3, 1_010)].concat(), [of(0, 2, 0), of(1, 2, 900)].concat()]
    {
        let summary = summarise(&traces);
        let counts = (summary.modes[0].all.count, summary.instances.len(), summary.other_runs.len());
        assert_eq!(counts, (3, 1, 1));
    }
}

#[test]
fn the_run_that_does_steps_is_reported_rather_than_a_program_beside_it() {
    let other = |at_ns: u64| {
        let mut build = Build::of(7, &process("database", None, None));
        build.span(0, "query", at_ns, at_ns + 50);
        build.foreign().trace()
    };
    let trainer = steps(1, &process("train", None, None), 1_000);
    let beside = [trainer, vec![other(1_250)]].concat();
    assert_eq!(summarise(&beside).run.id, "train");
    assert_eq!(summarise(&beside).other_runs.len(), 1);
}

#[test]
fn annotations_of_devices_are_no_sections_and_take_no_time() {
    let step = |is_annotated: bool| {
        let mut build = Build::of(1, &process("train", None, None));
        build.step(0, 0, 1_000);
        build.span(1, "forward", 0, 200).phase(Phase::Forward);
        build.span(1, "gemm", 300, 400).thread(7).on_device();
        if is_annotated {
            build.span(1, "forward", 250, 900).thread(7).on_device();
            let annotation = build.0.spans.last_mut().unwrap();
            annotation.is_device_annotation = true;
        }
        summarise(&[build.foreign().trace()])
    };
    let (with, without) = (step(true), step(false));
    assert_eq!(with.state.spans, without.state.spans + 1);
    assert_eq!(
        (with.sections, with.modes, with.critical_path),
        (without.sections, without.modes, without.critical_path)
    );
}

#[test]
fn names_that_differ_far_behind_their_beginning_are_two_sections() {
    let mut build = Build::of(1, &process("train", None, None));
    build.step(0, 0, 1_000);
    let name = |end: &str| format!("void kernel<{}{end}>", "Functor, ".repeat(100));
    build.span(1, &name("float"), 0, 100);
    build.span(1, &name("double"), 100, 300);
    let summary = summarise(&[build.foreign().trace()]);
    for (end, ns) in [("float", 100), ("double", 200)] {
        assert_eq!(summary.section(&format!("step/{}", name(end))).unwrap().stats.total, ns, "{end}");
    }
}
