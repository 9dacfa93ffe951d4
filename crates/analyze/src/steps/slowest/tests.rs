//! What is kept, by a second reckoning over all steps; any order and grouping, and through bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::steps::slowest::*;

fn record(number: u64, rank: u8, duration_ns: u64) -> StepRecord {
    StepRecord {
        step: Some(number),
        start_ns: number * 1_000,
        end_ns: number * 1_000 + duration_ns,
        trace: [rank; 16],
        ..StepRecord::default()
    }
}

fn fold<'a>(steps: impl IntoIterator<Item = &'a StepRecord>) -> SlowestSteps {
    let mut slow = SlowestSteps::default();
    steps.into_iter().for_each(|step| slow.add(step));
    slow
}

/// Of each number the longest of all, then the slowest ten of each remainder by each modulus.
fn expected(steps: &[StepRecord]) -> BTreeSet<&StepRecord> {
    let is_better = |a: &StepRecord, b: &StepRecord| {
        (Reverse(a.end_ns - a.start_ns), a) < (Reverse(b.end_ns - b.start_ns), b)
    };
    let mut longest: Vec<&StepRecord> = steps
        .iter()
        .filter(|step| !steps.iter().any(|other| other.step == step.step && is_better(other, step)))
        .collect();
    longest.sort_by_key(|step| (Reverse(step.end_ns - step.start_ns), step.step));
    let mut kept = BTreeSet::new();
    for modulus in [16, 9, 25, 7, 11, 13] {
        for remainder in 0..modulus {
            let class = longest.iter().filter(|step| step.step.unwrap() % modulus == remainder);
            kept.extend(class.take(10));
        }
    }
    kept
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_kept_depends_on_the_set_of_steps_only(
        durations in prop::collection::vec((0u64..60, 0u64..60), 1..900),
        cut in any::<prop::sample::Index>(),
        rotate in any::<prop::sample::Index>(),
    ) {
        let by_rank = |(number, (first, second))| [record(number, 0, first), record(number, 1, second)];
        let mut steps: Vec<StepRecord> = (0..).zip(durations).flat_map(by_rank).collect();
        let at_once = fold(&steps);
        prop_assert_eq!(at_once.kept().collect::<BTreeSet<_>>(), expected(&steps));
        let count = steps.len();
        steps.rotate_left(rotate.index(count));
        let (left, right) = steps.split_at(cut.index(count));
        let mut merged = fold(right);
        merged.merge(&fold(left));
        prop_assert_eq!(&merged, &at_once);
        let bytes = postcard::to_allocvec(&merged).unwrap();
        prop_assert_eq!(postcard::from_bytes::<SlowestSteps>(&bytes).unwrap(), at_once);
    }
}

#[test]
fn steps_without_a_number_are_left_out() {
    assert_eq!(fold(&[StepRecord { step: None, ..record(1, 0, 9) }]), SlowestSteps::default());
}
