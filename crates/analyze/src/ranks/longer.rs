//! What some ranks do longer than the others in a step, waits for each other apart.

use super::is_waiting;
use crate::report::names;
use crate::report::units::duration;
use crate::steps::judged::Steps;
use crate::summary::{InstanceRow, SectionRow};

/// A phase in which some ranks are for longer than the others, on average.
#[derive(Clone, Copy)]
pub(crate) struct Longer<'a> {
    pub(crate) phase: &'a str,
    /// Mean exposed time of theirs in a step.
    pub(crate) own_ns: u64,
    /// The same of the others.
    pub(crate) others_ns: u64,
}

impl<'a> Longer<'a> {
    /// The phase of the first one of these in which they are for longer than the others, by more than in any other phase;
    /// nothing where that is less than `least_ns`.
    pub(crate) fn of(these: &[&'a InstanceRow], others: &[&'a InstanceRow], least_ns: f64) -> Option<Self> {
        let mean = |rows: &[&InstanceRow], phase: &str| {
            let of = |row: &&InstanceRow| row.exposed_per_step_ns(|own| own.as_str() == phase);
            let sum = rows.iter().map(of).fold(0, u64::saturating_add);
            sum / u64::try_from(rows.len()).unwrap_or(u64::MAX).max(1)
        };
        let own = these.first()?.phases_per_step.iter().filter(|time| !is_waiting(&time.phase));
        let times = own.map(|time| time.phase.as_str()).map(|phase| Self {
            phase,
            own_ns: mean(these, phase),
            others_ns: mean(others, phase),
        });
        let most = times.max_by_key(Self::more_ns)?;
        (most.more_ns() > 0 && most.more_ns() as f64 >= least_ns).then_some(most)
    }

    pub(crate) fn more_ns(&self) -> u64 {
        self.own_ns.saturating_sub(self.others_ns)
    }

    /// The section of that phase which takes most of all ranks' steps.
    pub(crate) fn section<'s>(&self, steps: &Steps<'s>) -> Option<&'s SectionRow> {
        steps.worst_section_of(|name| name.as_str() == self.phase)
    }

    /// ``It is in `forward` (`step/forward`), 5.00 ms a step and 3.00 ms on the others``.
    pub(crate) fn words(&self, steps: &Steps<'_>) -> String {
        let phase = self.phase;
        let of = self
            .section(steps)
            .map_or_else(|| format!("`{phase}`"), |row| format!("`{phase}` (`{}`)", names::path(&row.path)));
        format!(
            "It is in {of}, {} a step and {} on the others",
            duration(self.own_ns),
            duration(self.others_ns)
        )
    }
}
