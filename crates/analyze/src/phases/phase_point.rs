//! A point of the series of phases: exposed time of whole steps, by phase and by section.

use serde::{Deserialize, Serialize};

use crate::accumulate::step_series::StepSeries;
use crate::accumulate::{Merge, sum};
use crate::phases::section_time::SectionTime;
use crate::phases::{PhaseKey, PhaseMap};
use crate::steps::{PhaseTime, StepRecord};

/// User phases that a point of the series of phases tells apart; the largest are counted together.
const CUSTOM_PHASES: usize = 16;

/// Exposed time of the whole steps of one point, by phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PhasePoint {
    pub(crate) steps: u64,
    pub(crate) total_ns: u128,
    /// Of the steps that say it.
    pub(crate) input_before_ns: Option<u128>,
    pub(crate) exposed: PhaseMap<Exposed>,
    pub(crate) section_time: SectionTime,
}

/// Exposed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Exposed(pub(crate) u128);

impl Merge for Exposed {
    fn absorb(&mut self, other: &Self) {
        sum(&mut self.0, &other.0);
    }
}

impl Merge for PhasePoint {
    fn absorb(&mut self, other: &Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        sum(&mut self.input_before_ns, &other.input_before_ns);
        self.exposed.merge(&other.exposed, CUSTOM_PHASES);
        self.section_time.absorb(&other.section_time);
    }
}

impl StepSeries<PhasePoint> {
    /// Adds a whole step, where it has a number, with the input before it and the time of its sections by the ids of their
    /// paths.
    pub(crate) fn step(
        &mut self,
        record: &StepRecord,
        input_before_ns: Option<u64>,
        sections: impl IntoIterator<Item = (u64, u64)>,
        bound: usize,
    ) {
        let Some(place) = record.place().filter(|_| record.is_whole) else { return };
        self.with(place, bound, |point| {
            point.steps = point.steps.saturating_add(1);
            point.total_ns = point.total_ns.saturating_add(record.duration_ns().into());
            sum(&mut point.input_before_ns, &input_before_ns.map(u128::from));
            for (phase, PhaseTime { exposed_ns, .. }) in &record.phases {
                if *exposed_ns > 0 && *phase != PhaseKey::Absent {
                    point.exposed.add(phase, &Exposed(*exposed_ns), CUSTOM_PHASES);
                }
            }
            for (path, exposed_ns) in sections {
                point.section_time.add(path, exposed_ns);
            }
        });
    }
}
