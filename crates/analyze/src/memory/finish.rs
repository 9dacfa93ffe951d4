//! Memory over steps, its trends, and what the processes' gauges say.

use crate::losses::ProcessGauge;
use crate::memory::retained::finish as retained;
use crate::memory::trend::late::{last_third, late};
use crate::memory::trend::trend;
use crate::run::RunAcc;
use crate::steps::finish::Steady;
use crate::summary::{Gauge, MemorySummary, ProcessMemory, SeriesPoint, StepSeries, TrendPair};

/// Memory of the primary mode's steps and of the processes.
pub(crate) fn summary(run: &RunAcc, series: Option<&StepSeries>, steps: &Steady<'_>) -> MemorySummary {
    let pair = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
        let pair = trends(series?, steps.first_step(series?.mode).unwrap_or(0), gauge)?;
        let is_told = steps.numbers.tell_apart(series?.mode);
        Some(if is_told { pair } else { TrendPair { whole: None, tail: None, late: None, ..pair } })
    };
    let mut processes: Vec<ProcessMemory> = run
        .instances
        .iter()
        .filter(|(_, acc)| acc.account.rss.is_some() || acc.account.live.is_some())
        .map(|(instance, acc)| {
            let last = |gauge: &Option<ProcessGauge>| gauge.as_ref().map(|gauge| gauge.last.value);
            let max = |gauge: &Option<ProcessGauge>| gauge.as_ref().map(|gauge| gauge.max);
            ProcessMemory {
                rank: instance.0.rank,
                host: instance.0.host_name.clone(),
                rss_last_bytes: last(&acc.account.rss),
                rss_max_bytes: max(&acc.account.rss),
                live_last_bytes: last(&acc.account.live),
                live_max_bytes: max(&acc.account.live),
            }
        })
        .collect();
    let (live, rss) = (pair(|point| point.live_bytes), pair(|point| point.rss_bytes));
    // Gauges are read now and then; where all steps are those of one process, their ends tell of it as well.
    if let ([process], 1) = (processes.as_mut_slice(), run.instances.len()) {
        let largest = |seen: Option<u64>, at_steps: &Option<TrendPair>| {
            seen.map(|seen| seen.max(at_steps.as_ref().map_or(0, |pair| pair.max_bytes)))
        };
        process.rss_max_bytes = largest(process.rss_max_bytes, &rss);
        process.live_max_bytes = largest(process.live_max_bytes, &live);
    }
    // Stable: processes of one rank stay in the order of their resources.
    processes.sort_by_key(|process| process.rank);
    let by_section =
        series.and_then(|series| retained::series(run, series.mode, steps.numbers.of_mode(series.mode)));
    MemorySummary { live, rss, processes, by_section }
}

/// Trends of one gauge from step `first` on; means of points, since points can hold several steps and ranks.
fn trends(series: &StepSeries, first: u64, gauge: fn(&SeriesPoint) -> Option<Gauge>) -> Option<TrendPair> {
    let all: Vec<(u64, Gauge)> =
        series.points.iter().filter_map(|point| gauge(point).map(|gauge| (point.step, gauge))).collect();
    let points: Vec<(u64, u64)> =
        all.iter().filter(|(step, _)| *step >= first).map(|&(step, gauge)| (step, gauge.mean)).collect();
    let whole = trend(&points);
    Some(TrendPair {
        first_bytes: all.first()?.1.mean,
        last_bytes: all.last()?.1.mean,
        max_bytes: all.iter().map(|(_, gauge)| gauge.max).max()?,
        whole,
        tail: trend(last_third(&points)),
        late: whole.and_then(|whole| late(&points, &whole)),
    })
}
