//! Which steps stay, by a second reckoning over all of them; any order and grouping.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::exemplars::*;

fn record(number: u64, duration_ns: u64) -> StepRecord {
    let mut trace = [0; 16];
    trace[8..].copy_from_slice(&number.to_be_bytes());
    StepRecord {
        step: Some(number),
        start_ns: number * 1_000,
        end_ns: number * 1_000 + duration_ns,
        trace,
        span: 1,
        is_whole: true,
        ..StepRecord::default()
    }
}

fn example(number: u64) -> Example {
    Example { spans_in_step: number, names: vec![], lanes: vec![], spans: vec![], pieces: vec![] }
}

/// As the fold does it.
fn fold(steps: &[(u64, u64)]) -> Exemplars {
    let mut examples = Exemplars::default();
    for &(number, duration_ns) in steps {
        let step = record(number, duration_ns);
        if examples.wants(&step) {
            examples.add(&step, example(number));
        }
    }
    examples
}

fn numbers(examples: &Exemplars) -> BTreeSet<u64> {
    examples.steps().filter_map(|step| step.step).collect()
}

/// The steps that must stay, from all of them at once.
fn expected(steps: &[(u64, u64)]) -> BTreeSet<u64> {
    let all: BTreeSet<StepRecord> =
        steps.iter().map(|&(number, duration)| record(number, duration)).collect();
    let mut by_duration: Vec<_> = all.iter().collect();
    by_duration.sort_by(|a, b| (b.end_ns - b.start_ns).cmp(&(a.end_ns - a.start_ns)).then(a.cmp(b)));
    let mut by_hash: Vec<_> = all.iter().collect();
    by_hash.sort_by_key(|step| (draw(step), *step));
    let first = all.iter().take(2);
    let of_classes = [8, 9, 25, 7, 11].into_iter().flat_map(|modulus| {
        let slowest = |remainder| by_duration.iter().find(|step| step.step.unwrap() % modulus == remainder);
        (0..modulus).filter_map(slowest).copied().collect::<Vec<_>>()
    });
    let slow = by_duration.iter().copied().take(8).chain(of_classes);
    let stay = first.chain(slow).chain(by_hash.into_iter().take(16));
    stay.filter_map(|step| step.step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_stays_depends_on_the_set_of_steps_only(
        durations in prop::collection::vec(0u64..40, 1..300),
        cut in any::<prop::sample::Index>(),
        rotate in any::<prop::sample::Index>(),
    ) {
        let mut steps: Vec<(u64, u64)> = (0..).zip(durations).collect();
        let at_once = fold(&steps);
        prop_assert_eq!(numbers(&at_once), expected(&steps));
        let count = steps.len();
        steps.rotate_left(rotate.index(count));
        let (left, right) = steps.split_at(cut.index(count));
        let mut merged = fold(right);
        merged.merge(&fold(left));
        prop_assert_eq!(merged.kept, at_once.kept);
    }
}

#[test]
fn what_is_out_of_bounds_is_not_taken_over() {
    let mut theirs = Exemplars::default();
    let names = vec!["x".repeat(EXAMPLE_BYTES + 1).into()];
    theirs.add(&record(1, 10), Example { names, ..example(1) });
    theirs.add(&record(2, 10), example(2));
    let mut mine = Exemplars::default();
    mine.merge(&theirs);
    assert_eq!(numbers(&mine), BTreeSet::from([2]));
}
