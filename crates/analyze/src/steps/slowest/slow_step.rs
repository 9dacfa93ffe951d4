//! One slow step as it is listed.

use std::cmp::Reverse;

use crate::accumulate::saturate::saturate;
use crate::phases::PhaseKey;
use crate::steps::{StepRecord, hexadecimal};
use crate::summary::{SlowStep, StepPhase};

/// What is listed of a step: its phases, the longest exposed first.
pub(crate) fn slow_step(record: &StepRecord) -> SlowStep {
    let mut phases: Vec<StepPhase> = record
        .phases
        .iter()
        .filter_map(|(key, time)| {
            Some(StepPhase {
                phase: key.name()?,
                exposed_ns: saturate(time.exposed_ns),
                total_ns: saturate(time.total_ns),
            })
        })
        .collect();
    phases.sort_by(|a, b| {
        (Reverse(a.exposed_ns), Reverse(a.total_ns), &a.phase).cmp(&(
            Reverse(b.exposed_ns),
            Reverse(b.total_ns),
            &b.phase,
        ))
    });
    let absent = record.phases.iter().find(|(key, _)| *key == PhaseKey::Absent);
    SlowStep {
        step: record.step,
        rank: record.rank,
        duration_ns: record.duration_ns(),
        start_ns: record.start_ns,
        trace_id: hexadecimal(&record.trace),
        phases,
        unattributed_ns: absent.map_or(0, |(_, time)| saturate(time.exposed_ns)),
    }
}
