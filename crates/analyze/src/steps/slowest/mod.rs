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
use crate::accumulate::smallest::{Place, Smallest};
use crate::config::SLOWEST_STEPS;
use crate::steps::StepRecord;

/// Periods of up to 16 steps, and those that people choose (20, 25, 50, 100, 200, 1,000), have factors in them.
pub(crate) const MODULI: Moduli = &[16, 9, 25, 7, 11, 13];

/// The slowest steps of one mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<StepRecord>", into = "Vec<StepRecord>")]
pub(crate) struct SlowestSteps {
    /// By number.
    kept: BTreeMap<u64, StepRecord>,
    /// By class, in the order of slowness, then of numbers.
    classes: Smallest<(Reverse<u64>, u64)>,
}

/// Where a step of a number goes.
fn places(number: u64, duration_ns: u64) -> impl Iterator<Item = Place<(Reverse<u64>, u64)>> {
    let classes = residue_classes::classes(MODULI, number);
    classes.map(move |at| (at, SLOWEST_STEPS, (Reverse(duration_ns), number)))
}

impl SlowestSteps {
    /// Adds a step; those without a number are left out.
    pub(crate) fn add(&mut self, record: &StepRecord) {
        let Some(number) = record.step else { return };
        let order = |record: &StepRecord| Reverse(record.duration_ns());
        if let Some(known) = self.kept.get(&number) {
            if (order(known), known) <= (order(record), record) {
                return;
            }
            self.classes.remove(places(number, known.duration_ns()));
        } else if !self.classes.admits(places(number, record.duration_ns())) {
            return;
        }
        self.kept.insert(number, record.clone());
        for (Reverse(duration_ns), gone) in self.classes.add(places(number, record.duration_ns())) {
            if !self.classes.holds(places(gone, duration_ns)) {
                self.kept.remove(&gone);
            }
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
