//! Figures over step numbers.

use stepscope_core::Mode;

use crate::accumulate::gauge::GaugeAcc;
use crate::accumulate::saturate::saturate;
use crate::run::RunAcc;
use crate::steps::numbering::Numbering;
use crate::steps::values::ValueAcc;
use crate::summary::{
    Gauge, PhasePoint, PhaseSeries, PhaseTime, SeriesPoint, StepSeries, ValuePoint, ValueSeries,
};

/// The series of one mode; absent where no step has a number.
pub(crate) fn steps(run: &RunAcc, mode: Mode, numbering: &Numbering) -> Option<StepSeries> {
    let series = run.series.get(mode as usize).filter(|series| !series.points.is_empty())?;
    let points = numbering.told(series, |step, point| SeriesPoint {
        step,
        count: point.count,
        duration_sum_ns: point.sum_ns,
        duration_min_ns: point.min_ns.unwrap_or(0),
        duration_max_ns: point.max_ns.unwrap_or(0),
        live_bytes: gauge(&point.live),
        rss_bytes: gauge(&point.rss),
        samples: point.samples,
        wait_ns: point.wait_ns,
        run_queue_ns: point.run_queue_ns,
        cpu_ns: point.cpu_ns,
        input_before_ns: point.input_before_ns,
    });
    Some(StepSeries { mode, shift: series.shift.min(63), points })
}

/// Exposed time by phase over step numbers; absent where no whole step has a number.
pub(crate) fn phases(run: &RunAcc, mode: Mode, numbering: &Numbering) -> Option<PhaseSeries> {
    let series = run.phase_series.get(mode as usize).filter(|series| !series.points.is_empty())?;
    let points = numbering.told(series, |step, point| {
        let exposed = point.exposed.iter().filter_map(|(phase, time)| {
            Some(PhaseTime { phase: phase.name()?, exposed_ns: saturate(time.0) })
        });
        let exposed: Vec<PhaseTime> = exposed.collect();
        let total_ns = saturate(point.total_ns);
        let known_ns = exposed.iter().fold(0u64, |sum, time| sum.saturating_add(time.exposed_ns));
        PhasePoint {
            step,
            steps: point.steps,
            total_ns,
            unattributed_ns: total_ns.saturating_sub(known_ns),
            input_before_ns: point.input_before_ns.map(saturate),
            exposed,
        }
    });
    Some(PhaseSeries { mode, shift: series.shift.min(63), points })
}

/// The user's own values, under the numbers of training steps.
pub(crate) fn values(run: &RunAcc, numbering: &Numbering) -> Vec<ValueSeries> {
    run.values
        .tracks
        .iter()
        .map(|(name, track)| ValueSeries {
            name: name.to_string(),
            shift: track.points.shift.min(63),
            not_finite: track.not_finite,
            unnumbered: track.elsewhere.as_ref().map(|acc| value(0, acc)),
            points: numbering.told(&track.points, value),
        })
        .collect()
}

fn gauge(acc: &GaugeAcc) -> Option<Gauge> {
    let mean = saturate(acc.sum.checked_div(acc.count.into())?);
    Some(Gauge { count: acc.count, min: acc.min?, max: acc.max?, mean })
}

fn value(step: u64, acc: &ValueAcc) -> ValuePoint {
    ValuePoint {
        step,
        count: acc.count,
        mean: acc.mean(),
        min: acc.min.0,
        max: acc.max.0,
        last: acc.last.1.0,
    }
}
