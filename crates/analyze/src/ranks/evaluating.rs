//! The processes that do evaluation steps beside their training.

use crate::steps::judged::Steps;
use crate::summary::{InstanceRow, Summary};

/// The processes that do the evaluation steps.
pub(crate) struct Evaluating {
    /// Time of their training steps and of the input between these.
    pub(crate) training_ns: u64,
    /// How many training steps.
    pub(crate) steps: u64,
    /// Their ranks, where only a part of all processes evaluates.
    pub(crate) ranks: Option<Vec<Option<i64>>>,
}

impl Evaluating {
    /// By what processes do between their training steps; all of them where none does it there.
    pub(crate) fn of(summary: &Summary, training: &Steps<'_>) -> Self {
        let rows = || summary.instances.iter().filter(|row| row.steps.count > 0);
        let these: Vec<&InstanceRow> = rows().filter(|row| row.other_steps_ns > 0).collect();
        if these.is_empty() || these.len() == rows().count() {
            return Self { training_ns: training.total_ns(), steps: training.count(), ranks: None };
        }
        let between_ns = |row: &InstanceRow| {
            let input = row.phases_between_steps.iter().filter(|time| time.phase.is_input());
            let per_step_ns = input.fold(0u64, |sum, time| sum.saturating_add(time.exposed_ns));
            per_step_ns.saturating_mul(row.steps.count)
        };
        let sum = |of: &dyn Fn(&InstanceRow) -> u64| {
            these.iter().fold(0, |sum, row| u64::saturating_add(sum, of(row)))
        };
        Self {
            training_ns: sum(&|row| row.steps.total.saturating_add(between_ns(row))),
            steps: sum(&|row| row.steps.count),
            ranks: Some(these.iter().map(|row| row.resource.rank).collect()),
        }
    }

    /// The only one of them.
    pub(crate) fn one(&self) -> Option<i64> {
        match self.ranks.as_deref()? {
            [one] => *one,
            _ => None,
        }
    }

    /// Whose time it is, as a part of a sentence; empty where it is that of all.
    pub(crate) fn words(&self) -> String {
        match (&self.ranks, self.one()) {
            (None, _) => String::new(),
            (Some(_), Some(rank)) => format!(" of rank {rank}"),
            (Some(_), None) => " of the ranks that evaluate".into(),
        }
    }
}
