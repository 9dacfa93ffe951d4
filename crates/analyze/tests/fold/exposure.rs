//! Exposed time and phase totals of steps.

use stepscope_core::{Mode, Phase};

use crate::build::{Build, summarise};

/// Phase, exposed, total, self, spans.
type Row = (String, u64, u64, u64, u64);

/// The phases of training steps, and what nothing covers.
fn phases(build: Build) -> (Vec<Row>, u64) {
    let summary = summarise([&build.trace()]);
    let mode = summary.mode(Mode::Train).unwrap();
    let rows: Vec<Row> = mode
        .phases
        .iter()
        .map(|row| (row.phase.to_string(), row.exposed_ns, row.total_ns, row.self_ns, row.spans))
        .collect();
    assert_eq!(rows.iter().map(|row| row.1).sum::<u64>() + mode.unattributed_ns, mode.steady_ns);
    (rows, mode.unattributed_ns)
}

#[test]
fn the_driving_thread_alone_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 10, 60).thread(1);
    // A loader that is busy all the time, on another thread: hidden.
    build.span(1, "load_batch", 0, 100).thread(2);
    let (rows, unattributed) = phases(build);
    assert_eq!(rows, [("forward".into(), 50, 50, 50, 1), ("data_loading".into(), 0, 100, 100, 1)]);
    assert_eq!(unattributed, 50);
}

#[test]
fn spans_without_a_thread_count_as_on_the_driving_one() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 10, 60);
    assert_eq!(phases(build).0, [("forward".into(), 50, 50, 50, 1)]);
}

#[test]
fn the_innermost_span_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 80).thread(1);
    // Inherits forward.
    build.span(2, "linear", 10, 30).thread(1);
    build.span(2, "barrier", 30, 50).thread(1);
    let (rows, unattributed) = phases(build);
    assert_eq!(rows, [("forward".into(), 60, 80, 60, 2), ("synchronization".into(), 20, 20, 20, 1)]);
    assert_eq!(unattributed, 20);
}

#[test]
fn of_concurrent_spans_the_higher_class_is_exposed() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "load_batch", 0, 60).thread(1);
    build.span(1, "all_reduce", 40, 80).thread(1);
    build.span(1, "forward", 50, 90).thread(1);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(exposed, [("data_loading", 40), ("communication", 40), ("forward", 10)]);
    assert_eq!(unattributed, 10);
}

#[test]
fn time_outside_of_the_step_is_not_the_steps() {
    let mut build = Build::new(1);
    build.step(0, 100, 200).thread(1);
    build.span(1, "forward", 50, 120).thread(1);
    build.span(1, "backward", 180, 300).thread(1);
    let (rows, unattributed) = phases(build);
    let figures: Vec<(&str, u64, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1, row.2)).collect();
    assert_eq!(figures, [("forward", 20, 20), ("backward", 20, 20)]);
    assert_eq!(unattributed, 60);
}

#[test]
fn the_users_own_phases_are_exposed_under_their_names() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "a", 0, 50);
    build.custom("zeta");
    build.span(1, "b", 20, 70);
    build.custom("alpha");
    build.span(1, "c", 60, 80).phase(Phase::Io);
    let (rows, _) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    // All are of the lowest class: ours first, then by name.
    assert_eq!(exposed, [("alpha", 40), ("zeta", 20), ("io", 20)]);
}

#[test]
fn work_handed_to_another_thread_and_back_nests_in_the_driving_section_around_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 90).thread(1);
    build.span(2, "pool", 10, 80).thread(2);
    build.span(3, "barrier", 20, 40).thread(1);
    let (rows, unattributed) = phases(build);
    let exposed: Vec<(&str, u64)> = rows.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(exposed, [("forward", 70), ("synchronization", 20)]);
    assert_eq!(unattributed, 10);
}

#[test]
fn sections_know_their_exposed_part() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 80).thread(1);
    build.span(2, "linear", 10, 30).thread(1);
    build.span(2, "linear", 40, 50).thread(2);
    let summary = summarise([&build.trace()]);
    let part = |path: &str| *summary.section(path).unwrap().in_mode(Mode::Train).unwrap();
    assert_eq!((part("step/forward").exposed_ns, part("step/forward").driving_ns), (50, 80));
    // The second call ran on another thread while the first thread had nothing else to do in `forward`.
    let linear = part("step/forward/linear");
    assert_eq!((linear.exposed_ns, linear.driving_ns, linear.total_ns), (30, 20, 30));
    assert_eq!(part("step").exposed_ns, 20);
}

/// Exposed time by phase, and what nothing covers.
fn exposed(build: Build) -> (Vec<(String, u64)>, u64) {
    let (rows, unattributed) = phases(build);
    (rows.into_iter().filter(|row| row.1 > 0).map(|row| (row.0, row.1)).collect(), unattributed)
}

#[test]
fn a_step_that_waits_for_another_thread_is_in_what_runs_there() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "forward", 0, 40).thread(1);
    // Hidden until 40, then joined.
    build.span(1, "all_reduce", 20, 90).thread(2);
    assert_eq!(exposed(build), ([("communication".into(), 50), ("forward".into(), 40)].into(), 10));
}

#[test]
fn what_is_beside_the_path_is_not_joined() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    // The step goes on with something else before it ends.
    build.span(1, "flush", 0, 30).thread(2).phase(Phase::Io);
    build.span(1, "forward", 20, 90).thread(1);
    assert_eq!(exposed(build), ([("forward".into(), 70)].into(), 30));
}

#[test]
fn who_synchronizes_is_in_what_it_waits_for() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "barrier", 0, 60).thread(1);
    build.span(2, "decode", 5, 50).thread(2).phase(Phase::Preprocessing);
    build.span(1, "optimizer", 60, 100).thread(1);
    // Of a lower class than what waits for it.
    build.span(4, "log", 60, 80).thread(2).phase(Phase::Io);
    let expected = [("preprocessing".into(), 45), ("optimizer".into(), 40), ("synchronization".into(), 15)];
    assert_eq!(exposed(build), (expected.into(), 0));
}

#[test]
fn a_wait_for_data_stays_one() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "next_batch", 0, 60).thread(1);
    build.span(2, "decode", 0, 55).thread(2).phase(Phase::Preprocessing);
    assert_eq!(exposed(build), ([("data_wait".into(), 60)].into(), 40));
}

#[test]
fn loading_counts_where_a_section_joins_it() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    build.span(1, "read", 0, 60).thread(1);
    build.span(2, "load_batch", 0, 50).thread(2);
    // The innermost of a class; of a higher one what is around it.
    build.span(3, "decode", 10, 30).thread(2).phase(Phase::Preprocessing);
    build.span(3, "log", 30, 40).thread(3).phase(Phase::Io);
    // A loader that nobody waits for in a section runs beside.
    build.span(1, "load_batch", 60, 100).thread(2);
    let expected = [("data_loading".into(), 30), ("preprocessing".into(), 20)];
    assert_eq!(exposed(build), (expected.into(), 50));
}

#[test]
fn between_steps_others_are_waited_for_as_well() {
    let mut build = Build::new(1);
    build.step(0, 0, 100).thread(1);
    let mut between = Build::new(2);
    between.span(0, "exchange", 100, 200).thread(1);
    between.span(1, "all_reduce", 120, 190).thread(2);
    let mut last = Build::new(3);
    last.step(1, 200, 300).thread(1);
    let summary = summarise([&build.trace(), &between.trace(), &last.trace()]);
    let rows: Vec<_> = summary
        .outside
        .iter()
        .map(|row| (row.phase.as_ref().map(ToString::to_string), row.exposed_ns))
        .collect();
    assert_eq!(rows, [(None, 30), (Some("communication".into()), 70)]);
}
