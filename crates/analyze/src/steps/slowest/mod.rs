//! The slowest steps of a run, kept so that periodic ones do not crowd out the others: of each class of step numbers
//! ([`crate::accumulate::residue_classes`]) as many as are shown of all. Of a number the longest step is kept, of equals the smallest record:
//! all processes wait for that one. What is kept depends on the set of steps only. Which of them are shown is told in
//! `finish`, when periods are known.

pub(crate) mod finish;
pub(crate) mod slow_step;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accumulate::residue_classes::{self, Moduli};
use crate::config::SLOWEST_STEPS;
use crate::steps::StepRecord;

/// Periods of up to 16 steps, and those that people choose (20, 25, 50, 100, 200, 1,000), have factors in them.
pub(crate) const MODULI: Moduli = &[16, 9, 25, 7, 11, 13];

/// In the order of slowness.
type Key = (Reverse<u64>, u64);

/// The slowest steps of one mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<StepRecord>", into = "Vec<StepRecord>")]
pub(crate) struct SlowestSteps {
    /// By number.
    kept: BTreeMap<u64, StepRecord>,
    /// By class, slowest first; empty before the first step.
    classes: Vec<Vec<Key>>,
}

impl SlowestSteps {
    /// Adds a step; those without a number are left out.
    pub(crate) fn add(&mut self, record: &StepRecord) {
        let Some(number) = record.step else { return };
        let longer = |other: &StepRecord| {
            (Reverse(record.duration_ns()), record) < (Reverse(other.duration_ns()), other)
        };
        let known = self.kept.get(&number);
        if known.is_some_and(|other| !longer(other)) {
            return;
        }
        if self.classes.is_empty() {
            self.classes.resize(residue_classes::count(MODULI), Vec::new());
        }
        let old = known.map(|other| (Reverse(other.duration_ns()), number));
        let new = (Reverse(record.duration_ns()), number);
        let mut gone: Vec<u64> = Vec::new();
        let mut is_kept = false;
        for at in residue_classes::classes(MODULI, number) {
            let Some(class) = self.classes.get_mut(at) else { continue };
            class.retain(|key| Some(*key) != old);
            let place = class.partition_point(|key| *key < new);
            if place < SLOWEST_STEPS {
                class.insert(place, new);
                is_kept = true;
                gone.extend(class.drain(SLOWEST_STEPS.min(class.len())..).map(|(_, number)| number));
            }
        }
        if is_kept {
            self.kept.insert(number, record.clone());
        }
        for number in gone {
            self.forget(number);
        }
    }

    /// Lets a step go that no class holds any more.
    fn forget(&mut self, number: u64) {
        let holds =
            |at: usize| self.classes.get(at).is_some_and(|class| class.iter().any(|key| key.1 == number));
        if !residue_classes::classes(MODULI, number).any(holds) {
            self.kept.remove(&number);
        }
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.kept.values().for_each(|record| self.add(record));
    }

    /// The steps, by number.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &StepRecord> {
        self.kept.values()
    }
}

impl From<Vec<StepRecord>> for SlowestSteps {
    fn from(records: Vec<StepRecord>) -> Self {
        let mut slow = Self::default();
        records.iter().for_each(|record| slow.add(record));
        slow
    }
}

impl From<SlowestSteps> for Vec<StepRecord> {
    fn from(slow: SlowestSteps) -> Self {
        slow.kept.into_values().collect()
    }
}

#[cfg(test)]
mod tests;
