//! Memory over steps, its trends, and what the processes' gauges say.

use crate::losses::ProcessGauge;
use crate::memory::detector::{Judgment, Memory, judge};
use crate::memory::retained::finish as retained;
use crate::run::RunAcc;
use crate::steps::finish::Steady;
use crate::summary::{
    Gauge, MemoryCourse, MemorySummary, ProcessMemory, SeriesPoint, StepSeries, Trend, TrendPair,
};

/// Memory of the primary mode's steps and of the processes.
pub(crate) fn summary(run: &RunAcc, series: Option<&StepSeries>, steps: &Steady<'_>) -> MemorySummary {
    let is_told = series.is_some_and(|series| steps.numbers.tell_apart(series.mode));
    let points = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
        series.map_or_else(Vec::new, |series| points(series, gauge))
    };
    let (live_points, rss_points) = (points(|point| point.live_bytes), points(|point| point.rss_bytes));
    let (live, rss) = (pair(&live_points, is_told), pair(&rss_points, is_told));
    let (live_gauge, rss_gauge) = (gauge(&live_points), gauge(&rss_points));
    let known = is_told && !(live_gauge.is_empty() && rss_gauge.is_empty());
    let memory = Memory { live: &live_gauge, rss: &rss_gauge, ..Memory::default() };
    let course = known.then(|| course(&judge(&memory)));
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
    MemorySummary { live, rss, course, processes, by_section }
}

/// Steps of points and one gauge of theirs.
fn points(series: &StepSeries, gauge: fn(&SeriesPoint) -> Option<Gauge>) -> Vec<(u64, Gauge)> {
    series.points.iter().filter_map(|point| gauge(point).map(|gauge| (point.step, gauge))).collect()
}

/// Means of points, since points can hold several steps and ranks.
fn gauge(points: &[(u64, Gauge)]) -> Vec<(u64, f64)> {
    points.iter().map(|&(step, gauge)| (step, gauge.mean as f64)).collect()
}

fn pair(points: &[(u64, Gauge)], is_told: bool) -> Option<TrendPair> {
    let whole = || trend(&judge(&Memory { live: &gauge(points), ..Memory::default() }));
    Some(TrendPair {
        first_bytes: points.first()?.1.mean,
        last_bytes: points.last()?.1.mean,
        max_bytes: points.iter().map(|(_, gauge)| gauge.max).max()?,
        whole: is_told.then(whole).flatten(),
    })
}

/// The growth that a judgment is about.
fn trend(judged: &Judgment) -> Option<Trend> {
    Some(Trend {
        n: judged.points as u64,
        from_step: judged.since_step?,
        to_step: judged.steps.1,
        slope_per_step: judged.bytes_per_step,
        confidence_interval: judged.interval,
        p_value: judged.chance,
    })
}

fn course(judged: &Judgment) -> MemoryCourse {
    MemoryCourse {
        verdict: judged.verdict.into(),
        is_suspected: judged.is_suspected,
        trend: trend(judged),
        plateau_bytes: judged.plateau_bytes.map(|bytes| bytes.round().max(0.0) as u64),
        least_seen_bytes_per_step: judged.least_seen,
        more_steps: judged.more_steps,
    }
}
