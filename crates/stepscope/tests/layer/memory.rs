//! Allocation figures to the byte, from the first use of a section on.

use std::collections::BTreeMap;

use stepscope_core::{attr, metric};

use crate::common::{Program, Recording, Span, check};

/// Allocated and freed bytes, allocations, deallocations, peak.
fn figures(span: &Span) -> [i64; 5] {
    [
        attr::MEM_ALLOC_BYTES,
        attr::MEM_FREE_BYTES,
        attr::MEM_ALLOC_COUNT,
        attr::MEM_FREE_COUNT,
        attr::MEM_PEAK_BYTES,
    ]
    .map(|key| span.int(key).unwrap())
}

fn of_step<'a>(recording: &'a Recording, number: i64, name: &str) -> &'a Span {
    let step = recording.steps().into_iter().find(|step| step.int(attr::STEP) == Some(number)).unwrap();
    recording.spans.iter().find(|span| span.trace == step.trace && span.name == name).unwrap()
}

fn check_steps(recording: &Recording, steps: std::ops::Range<i64>) {
    for n in steps {
        let of = |name: &str| figures(of_step(recording, n, name));
        // Names, then what the program says: see examples/programs/memory.rs.
        let inner = [5_700 + n, 5_000 + n, 2, 1, 5_000 + n];
        // Growing is a free of the old size and an allocation of the new one.
        let grow = [100 + 400, 100, 2, 1, 400];
        let outer_alloc = 1_000 + n + inner[0] + grow[0];
        let outer_free = 1_000 + n + inner[1] + 700 + grow[1];
        let outer = [outer_alloc, outer_free, 5, 4, 1_000 + n + 5_000 + n];
        assert_eq!(of("inner"), inner, "step {n}");
        assert_eq!(of("grow"), grow, "step {n}");
        assert_eq!(of("nothing"), [0; 5], "step {n}");
        // What the layer allocates for itself is in no figure: here an event's text, the first value of a
        // step, and buffers at the first use of a section and of a thread.
        assert_eq!(of("deep"), [0; 5], "step {n}");
        assert_eq!(of("noisy"), [0; 5], "step {n}");
        assert_eq!(of("outer"), outer, "step {n}");
        assert_eq!(of("fresh_thread"), [0; 5], "step {n}");
    }
}

#[test]
fn figures_are_exact_from_the_first_use_of_a_section() {
    let recording = Program::new(&["memory", "section"]).succeed().recording();
    check::all(&recording);
    check_steps(&recording, 0..5);
    for root in recording.named("on_fresh_thread") {
        assert_eq!(figures(root), [40_064, 40_064, 2, 2, 40_064]);
    }
    for part in recording.named("part_of_fresh") {
        assert_eq!(figures(part), [64, 64, 1, 1, 64]);
    }
}

#[test]
fn a_section_that_moves_has_the_peak_of_all_its_threads() {
    let recording = Program::new(&["memory", "moved"]).succeed().recording();
    check::all(&recording);
    for n in 1..5 {
        assert_eq!(
            figures(of_step(&recording, n, "moved")),
            [3_000_004, 3_000_004, 2, 2, 3_000_004],
            "step {n}"
        );
    }
}

#[test]
fn live_bytes_are_the_programs_own() {
    let recording = Program::new(&["memory", "section"]).succeed().recording();
    let live: Vec<i64> =
        recording.steps().iter().map(|step| step.int(attr::MEM_LIVE_BYTES).unwrap()).collect();
    // Each step forgets 400 bytes (in `grow`). Whatever the layer and its thread hold meanwhile is in no figure;
    // the first step registers callsites of `tracing`.
    assert_eq!(live.len(), 5);
    assert!(live[1..].windows(2).all(|pair| pair[1] - pair[0] == 400), "{live:?}");
}

#[test]
fn spans_of_tracing_are_exact_once_the_registry_is_warm() {
    let recording = Program::new(&["memory", "span"]).succeed().recording();
    check::all(&recording);
    // The registry's own tables grow at the first use of a depth on a thread: those bytes are not ours.
    check_steps(&recording, 1..5);
}

#[test]
fn a_filter_by_memory_leaves_what_allocates() {
    let program = || Program::new(&["memory", "section"]);
    let full = program().succeed().recording();
    let recording = program().env("STEPSCOPE_FILTER", "memory=4KiB").succeed().recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let mut names: Vec<&str> =
        recording.spans.iter().filter(|span| span.kind() == "section").map(|span| &*span.name).collect();
    names.sort_unstable();
    names.dedup();
    // What failed leaves whatever it allocated.
    let is_large = |span: &&Span| span.int(attr::MEM_ALLOC_BYTES).is_some_and(|bytes| bytes >= 4_096);
    let leaves = |span: &&Span| span.kind() == "section" && (span.status == 2 || is_large(span));
    let mut expected: Vec<&str> = full.spans.iter().filter(leaves).map(|span| &*span.name).collect();
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(names, expected);
    assert!(names.contains(&"inner") && !names.contains(&"grow"), "{names:?}");
    for name in [metric::SECTION_COUNT, metric::SECTION_ALLOC, metric::SECTION_FREE] {
        assert_eq!(recording.by_path(name), full.by_path(name), "{name}");
    }
}

#[test]
fn sums_of_allocations_are_those_of_the_spans() {
    let recording = Program::new(&["memory", "section"]).succeed().recording();
    let paths = check::paths(&recording);
    let columns = [
        (metric::SECTION_ALLOC, attr::MEM_ALLOC_BYTES),
        (metric::SECTION_FREE, attr::MEM_FREE_BYTES),
        (metric::SECTION_ALLOC_COUNT, attr::MEM_ALLOC_COUNT),
    ];
    for (name, key) in columns {
        let mut sums = BTreeMap::new();
        for span in recording.spans.iter().filter(|span| span.attributes.contains_key(key)) {
            *sums.entry(paths[&span.id].0.join("/")).or_default() += span.int(key).unwrap();
        }
        assert_eq!(recording.by_path(name), sums, "{name}");
    }
    // What a section allocated itself, without the sections inside of it; of five steps.
    let own = recording.by_path(metric::SECTION_SELF_ALLOC);
    assert_eq!(own["step/outer"], (0..5).map(|n| 1_000 + n).sum::<i64>());
    assert_eq!(own["step/outer/inner"], (0..5).map(|n| 5_700 + n).sum::<i64>());
    let freed = recording.by_path(metric::SECTION_SELF_FREE);
    assert_eq!(freed["step/outer"], (0..5).map(|n| 1_000 + n + 700).sum::<i64>());
}
