//! More than fits, and everything at once: nothing breaks and every loss is counted.

use std::collections::{BTreeMap, HashMap};

use stepscope_core::attr;

use crate::common::{Program, Recording, check};

/// Much more than a ring holds: what is left is counted right, on each step as well.
fn flooded(scenario: &str, overflow: &str) -> Recording {
    let ended = Program::new(&[scenario, "20000"])
        .env("STEPSCOPE_RING_BYTES", "0")
        .env("STEPSCOPE_OVERFLOW", overflow)
        .succeed();
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(recording.emitted(), ended.truth()["emitted"]);
    assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
    let lost = recording.dropped("", "ring_full");
    assert!(lost > 0, "nothing was lost: the flood is too small");
    assert_eq!(recording.all_dropped("directory"), lost);
    // Roots have room of their own in the ring: where one came through, it knows what is missing.
    let traces = recording.traces();
    assert!(recording.steps().len() > 100);
    for step in recording.steps() {
        let members = traces[&step.trace].len() as i64;
        assert_eq!(step.int(attr::TRACE_SPANS), Some(members), "{step:?}");
        assert_eq!(step.int(attr::TRACE_DROPPED), Some(21 - members), "{step:?}");
    }
    recording
}

#[test]
fn a_ring_that_is_too_small_loses_children_and_counts_them() {
    let recording = flooded("flood", "newest");
    // The sums know better than the spans.
    let counts = recording.by_path(stepscope_core::metric::SECTION_COUNT);
    assert_eq!((counts["step"], counts["step/part"]), (20_000, 400_000));
}

#[test]
fn a_ring_that_keeps_steps_loses_parts_before_phases() {
    let recording = flooded("flood_phases", "steps");
    let share = |name: &str, of: usize| recording.named(name).count() as f64 / of as f64;
    let (steps, phases, parts) = (share("step", 20_000), share("phase", 40_000), share("part", 360_000));
    assert!(steps >= phases && phases > parts, "{steps} {phases} {parts}");
}

#[test]
fn a_ring_that_drops_the_oldest_counts_them_and_has_the_newest() {
    for scenario in ["flood", "flood_phases"] {
        let recording = flooded(scenario, "oldest");
        // The last ones are there, with all that is in them: nothing came after that could have taken their place.
        let traces = recording.traces();
        let last = recording.steps().into_iter().max_by_key(|step| step.int(attr::STEP)).unwrap();
        assert_eq!((last.int(attr::STEP), traces[&last.trace].len()), (Some(19_999), 21));
    }
}

/// Where nothing is lost, the policy changes nothing.
#[test]
fn a_ring_that_may_drop_the_oldest_and_need_not_drops_none() {
    for scenario in ["order", "mixed", "wide"] {
        let ended = Program::new(&[scenario, "25000"]).env("STEPSCOPE_OVERFLOW", "oldest").succeed();
        check::all(&ended.recording());
    }
}

#[test]
fn a_trace_that_is_too_wide_goes_on_in_linked_ones() {
    let ended = Program::new(&["wide", "25000"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(recording.named("part").count(), 25_000);
    let (step, traces) = (recording.steps()[0], recording.traces());
    assert_eq!(traces[&step.trace].len(), 10_000);
    let outer = recording.only("outer");
    // 25,000 parts and a leaf in every 5,000th of them. The trace of the step holds 9,997 parts and a leaf, the
    // next one 9,998 parts and two leaves.
    let continued: Vec<_> = recording.named("part").filter(|part| part.is_root()).collect();
    assert_eq!(continued.len(), 25_000 - 9_997);
    let mut sizes: BTreeMap<[u8; 16], usize> = BTreeMap::new();
    for part in &continued {
        assert_eq!(part.text(attr::PARENT_PATH), Some("step/outer"));
        assert_eq!((part.kind(), part.int(attr::STEP)), ("section", Some(0)));
        sizes.insert(part.trace, traces[&part.trace].len());
        if part.int(attr::TRACE_SPANS).is_some() {
            assert_eq!((part.links[0], part.int(attr::TRACE_PARTS)), ((outer.trace, outer.id), Some(0)));
        }
    }
    let mut sizes: Vec<usize> = sizes.into_values().collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [25_005 - 9_998 - 10_000, 10_000]);
    assert_eq!(step.int(attr::TRACE_PARTS), Some(2));
    assert!(continued.is_sorted_by_key(|part| part.start_ns));
    // The next step is an ordinary one.
    assert_eq!(recording.steps()[1].int(attr::TRACE_SPANS), Some(1));
}

#[test]
fn spans_of_many_threads_go_on_in_linked_traces() {
    let ended = Program::new(&["wide_spans", "30000"]).env("STEPSCOPE_RING_BYTES", "16000000").succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(recording.spans.len() as u64, ended.truth()["spans"]);
    // The run's trace, the step's, and those for the 20,002 parts that did not fit: two, or one more where both
    // threads found a full one at the same time.
    let traces = recording.traces();
    assert!((5..=7).contains(&traces.len()), "{}", traces.len());
    assert_eq!(traces.values().filter(|spans| spans.len() == 10_000).count(), 3);
}

#[test]
fn threads_that_come_and_go_leave_everything() {
    let ended = Program::new(&["threads", "200"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(recording.spans.len() as u64, ended.truth()["emitted"]);
    let names: HashMap<&str, usize> = recording.steps().iter().fold(HashMap::new(), |mut names, step| {
        *names.entry(step.text(attr::THREAD_NAME).unwrap()).or_default() += 1;
        names
    });
    assert_eq!(names.len(), 200);
    assert!(names.keys().all(|name| name.starts_with("visitor-")));
}

#[test]
fn a_thread_takes_the_memory_that_it_uses() {
    let ended = Program::new(&["at_once", "300"]).env("STEPSCOPE_RING_BYTES", "1048576").succeed();
    let each = ended.truth()["resident_bytes"] / 300;
    // A part of it is the stack of the thread; the ring alone would be 1 MiB.
    assert!(each < 256 << 10, "{each} bytes a thread");
}

#[test]
fn more_open_spans_than_there_is_room_for_are_counted() {
    let ended = Program::new(&["crowd", "70000"]).env("STEPSCOPE_RING_BYTES", "4000000").succeed();
    let recording = ended.recording();
    let lost = recording.dropped("", "open_spans");
    // Of one thread's 70,001, all that there are places for fit.
    assert!((70_001 - 65_536..4_600).contains(&lost), "{lost}");
    assert_eq!(recording.named("open").count() as u64 + 1, ended.truth()["ended"] - lost);
    check::account(&recording, "directory");
    assert_eq!(recording.emitted(), ended.truth()["ended"] + 2);
}

#[test]
fn many_open_spans_of_many_threads_have_room() {
    for (threads, spans) in [("4", "3000"), ("16", "3500")] {
        let ended =
            Program::new(&["crowds", threads, spans]).env("STEPSCOPE_RING_BYTES", "4000000").succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert_eq!(recording.dropped("", "open_spans"), 0, "{threads} threads");
        let counts = recording.by_path(stepscope_core::metric::SECTION_COUNT);
        assert_eq!(counts["parent/open"] as u64 + 1, ended.truth()["ended"], "{counts:?}");
        assert_eq!(recording.named("open").count() as u64 + 1, ended.truth()["ended"]);
    }
}

#[test]
fn paths_beyond_the_bound_share_one() {
    let ended = Program::new(&["names", "5000"]).succeed();
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let counts = recording.by_path(stepscope_core::metric::SECTION_COUNT);
    // 4,096, less the root above all of them and the mark of the run's start, which is no section.
    assert_eq!(counts.len(), 4_094);
    assert_eq!(counts.values().sum::<i64>() as u64, ended.truth()["sections"]);
    assert_eq!(counts["(other)"] as usize, counts.values().sum::<i64>() as usize - 4_093);
}

#[test]
fn sections_that_are_never_left_take_no_more_than_their_room() {
    const STEPS: i64 = 6_000;
    const ROOM: i64 = 4_096;
    let recording = Program::new(&["forgotten", &STEPS.to_string()]).succeed().recording();
    // The step of each round, the one that is forgotten in it, and one more.
    let (forgotten, parts) = (ROOM - 1, ROOM - 2);
    let lost = 2 * STEPS - forgotten - parts;
    assert_eq!(recording.dropped("", "open_spans") as i64, lost);
    check::account(&recording, "directory");
    let counts = recording.by_path(stepscope_core::metric::SECTION_COUNT);
    let of = |name: &str| -> i64 {
        counts.iter().filter(|(path, _)| path.rsplit('/').next() == Some(name)).map(|(_, count)| count).sum()
    };
    assert_eq!((of("step"), of("forgotten"), of("part")), (STEPS, 0, parts));
    assert_eq!(recording.named("step").count() as i64, STEPS);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_that_stay_beyond_the_run_give_their_rings_back() {
    let rings = 4 * (8 << 20);
    let ended = Program::new(&["idle", "4", "140000"]).env("STEPSCOPE_RING_BYTES", "8388608").succeed();
    let [before, after] = ["before", "after"].map(|when| ended.truth()[when]);
    assert!(before.saturating_sub(after) > rings * 3 / 4, "{before} bytes before, {after} after");
}
