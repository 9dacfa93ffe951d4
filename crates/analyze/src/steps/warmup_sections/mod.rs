//! The first steps of a mode by their numbers, with what sections took in them: sums over all steps are made before anybody
//! knows what is warm-up, and this is what is taken off them in the end. Also the longest calls of a section with the
//! steps that they were in, for the same reason.

pub(crate) mod finish;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accumulate::step_series::{Key, StepIndex};
use crate::accumulate::{Merge, accumulate, earliest, keep_smallest};
use crate::config::WARMUP_STEPS;

/// Sections of a step that are told apart: those with the smallest identities.
const SECTIONS: usize = 2_048;

/// Step numbers whose longest calls of a section are kept.
const LONGEST: usize = 16;

/// A section's part in some steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) calls: u64,
    pub(crate) total_ns: u64,
    pub(crate) driving_ns: u64,
    pub(crate) exposed_ns: u64,
}

impl Part {
    /// With one call more.
    pub(crate) const fn with_call(mut self, duration_ns: u64, is_driving: bool) -> Self {
        self.calls = self.calls.saturating_add(1);
        self.total_ns = self.total_ns.saturating_add(duration_ns);
        if is_driving {
            self.driving_ns = self.driving_ns.saturating_add(duration_ns);
        }
        self
    }

    /// With more exposed time.
    pub(crate) const fn with_exposed(mut self, exposed_ns: u64) -> Self {
        self.exposed_ns = self.exposed_ns.saturating_add(exposed_ns);
        self
    }
}

accumulate!(Part { sum: calls, total_ns, driving_ns, exposed_ns; });

/// Whole steps, of all processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct WarmupStep {
    pub(crate) steps: u64,
    pub(crate) total_ns: u64,
    /// Time for which their own spans were on the critical path.
    pub(crate) other_ns: u64,
    /// By the identity of the path.
    sections: BTreeMap<u64, Part>,
    /// The smallest identity of those that were left out.
    cut: Option<u64>,
}

impl WarmupStep {
    /// One step; its sections apart.
    pub(crate) fn one(total_ns: u64, other_ns: u64) -> Self {
        Self { steps: 1, total_ns, other_ns, ..Self::default() }
    }

    /// Adds a section's part.
    pub(crate) fn add(&mut self, id: u64, part: &Part) {
        if self.cut.is_some_and(|cut| id >= cut) {
            return;
        }
        self.sections.entry(id).or_default().absorb(part);
        while self.sections.len() > SECTIONS {
            self.cut = earliest(self.cut, self.sections.pop_last().map(|(id, _)| id));
        }
    }

    /// A section's part; nothing where that is not known.
    pub(crate) fn of(&self, id: u64) -> Part {
        self.sections.get(&id).copied().unwrap_or_default()
    }
}

impl Merge for WarmupStep {
    fn absorb(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.other_ns = self.other_ns.saturating_add(other.other_ns);
        self.cut = earliest(self.cut, other.cut);
        if let Some(cut) = self.cut {
            self.sections.retain(|&id, _| id < cut);
        }
        other.sections.iter().for_each(|(&id, part)| self.add(id, part));
    }
}

/// The steps of one mode with the smallest numbers: as many as are looked at to tell warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct WarmupSections {
    kept: BTreeMap<Key, WarmupStep>,
}

impl WarmupSections {
    /// Whether a step at this place is kept.
    pub(crate) fn wants(&self, place: StepIndex) -> bool {
        let is_full = self.kept.len() >= WARMUP_STEPS;
        !is_full || self.kept.last_key_value().is_some_and(|(&last, _)| place.key() <= last)
    }

    /// Adds a step.
    pub(crate) fn add(&mut self, place: StepIndex, step: &WarmupStep) {
        self.kept.entry(place.key()).or_default().absorb(step);
        keep_smallest(&mut self.kept, WARMUP_STEPS);
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.kept.absorb(&other.kept);
        keep_smallest(&mut self.kept, WARMUP_STEPS);
    }

    /// Those that `is_meant`, all together: with all sections that are known of each, however many these are.
    pub(crate) fn sum(&self, is_meant: impl Fn(StepIndex) -> bool) -> WarmupStep {
        let meant = self.kept.iter().filter(|&(&key, _)| is_meant(StepIndex::of_key(key)));
        meant.fold(WarmupStep::default(), |mut sum, (_, step)| {
            sum.steps = sum.steps.saturating_add(step.steps);
            sum.total_ns = sum.total_ns.saturating_add(step.total_ns);
            sum.other_ns = sum.other_ns.saturating_add(step.other_ns);
            sum.sections.absorb(&step.sections);
            sum
        })
    }
}

/// The step numbers with the longest calls of a section, each by its longest, longest first; of equals the first number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Longest(Vec<(Reverse<u64>, Key)>);

impl Longest {
    /// Adds a call.
    #[inline]
    pub(crate) fn add(&mut self, duration_ns: u64, place: StepIndex) {
        let new = (Reverse(duration_ns), place.key());
        if self.0.len() < LONGEST || self.0.last().is_some_and(|last| new < *last) {
            self.insert(new);
        }
    }

    fn insert(&mut self, new: (Reverse<u64>, Key)) {
        if let Some(at) = self.0.iter().position(|kept| kept.1 == new.1) {
            if self.0.get(at).is_some_and(|kept| *kept <= new) {
                return;
            }
            self.0.remove(at);
        }
        self.0.insert(self.0.partition_point(|kept| *kept < new), new);
        self.0.truncate(LONGEST);
    }

    /// The longest call of a step that `is_meant`; where all that are kept are of others, what it is no longer than.
    pub(crate) fn of(&self, is_meant: impl Fn(StepIndex) -> bool) -> Option<u64> {
        let meant = self.0.iter().find(|kept| is_meant(StepIndex::of_key(kept.1)));
        let bound = || self.0.last().filter(|_| self.0.len() >= LONGEST);
        meant.or_else(bound).map(|kept| kept.0.0)
    }
}

impl Merge for Longest {
    fn absorb(&mut self, other: &Self) {
        other.0.iter().for_each(|&(Reverse(ns), key)| self.add(ns, StepIndex::of_key(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn place(step: u64) -> StepIndex {
        StepIndex { epoch: None, step }
    }

    fn step(ns: u64, sections: impl IntoIterator<Item = u64>) -> WarmupStep {
        let mut step = WarmupStep::one(ns, 1);
        sections.into_iter().for_each(|id| step.add(id, &Part::default().with_call(id + ns, true)));
        step
    }

    #[test]
    fn the_first_numbers_stay_in_any_order() {
        let of = |order: &[u64]| {
            let mut steps = WarmupSections::default();
            for &at in order {
                if steps.wants(place(at)) {
                    steps.add(place(at), &step(at, [at % 7]));
                }
            }
            steps
        };
        let forward: Vec<u64> = (0..1_000).chain(0..1_000).collect();
        let backward: Vec<u64> = (0..1_000).rev().chain((0..1_000).rev()).collect();
        assert_eq!(of(&forward), of(&backward));
        let mut merged = of(&forward[500..1_500]);
        merged.merge(&of(&[&forward[..500], &forward[1_500..]].concat()));
        assert_eq!(merged, of(&forward));
        let first = merged.sum(|place| place.step < 2);
        assert_eq!((first.steps, first.total_ns, first.of(0).calls, first.of(1).total_ns), (4, 2, 2, 4));
        assert_eq!(merged.sum(|_| true).steps, 512);
    }

    #[test]
    fn of_too_many_sections_those_that_stay_are_exact() {
        let mut all = step(5, 0..2_100);
        assert_eq!((all.of(2_047).total_ns, all.of(2_048)), (2_052, Part::default()));
        all.absorb(&step(5, (0..100).rev()));
        assert_eq!((all.of(99).total_ns, all.of(100).total_ns), (208, 105));
    }

    fn longest(calls: &[(u64, u64)]) -> Longest {
        let mut longest = Longest::default();
        calls.iter().for_each(|&(at, ns)| longest.add(ns, place(at)));
        longest
    }

    #[test]
    fn the_longest_calls_are_known_with_their_steps() {
        let calls: Vec<(u64, u64)> = (0..60).map(|at| (at % 30, at * 37 % 101)).collect();
        let few = longest(&[(0, 900), (0, 700), (1, 20), (2, 30), (1, 15)]);
        let after = |place: StepIndex| place.step > 0;
        assert_eq!((few.of(|_| true), few.of(after), few.of(|_| false)), (Some(900), Some(30), None));
        let many = longest(&calls);
        assert_eq!(many.of(|_| false), many.0.last().map(|kept| kept.0.0));
    }

    #[test]
    fn a_warm_up_has_more_sections_than_any_of_its_steps() {
        let mut early = WarmupSections::default();
        for at in 0..8 {
            let mut step = WarmupStep::one(1_000, 10);
            // Some in every step, the others in one only.
            (0..100)
                .chain((at + 1) * 10_000..(at + 1) * 10_000 + 1_000)
                .for_each(|id| step.add(id, &Part::default().with_call(1, true)));
            early.add(place(at), &step);
        }
        let sum = early.sum(|place| place.key() < self::place(7).key());
        assert_eq!((sum.steps, sum.total_ns, sum.other_ns), (7, 7_000, 70));
        let calls = |id| sum.of(id).calls;
        assert!((0..100).all(|id| calls(id) == 7));
        assert!((1..8).all(|at| (at * 10_000..at * 10_000 + 1_000).all(|id| calls(id) == 1)));
        assert_eq!(calls(80_000), 0);
    }

    proptest::proptest! {
        #[test]
        fn calls_together_are_the_same_in_any_order(
            calls in proptest::collection::vec((0u64..40, 0u64..60), 0..600),
            seed in 0usize..1_000,
        ) {
            let all = longest(&calls);
            let mut other = calls.clone();
            // Some other order.
            for at in 1..other.len() {
                other.swap(at, (at * 7_919 + seed) % at);
            }
            proptest::prop_assert_eq!(&longest(&other), &all);
            let (first, rest) = calls.split_at(seed.min(calls.len()));
            let mut merged = longest(rest);
            merged.absorb(&longest(first));
            proptest::prop_assert_eq!(&merged, &all);
        }
    }
}
