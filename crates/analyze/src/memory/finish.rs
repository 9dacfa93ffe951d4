//! Memory over steps, what it does in each process, and what the processes' gauges say.

use std::cmp::Reverse;

use crate::losses::ProcessGauge;
use crate::memory::detector::{Judgment, Memory, judge};
use crate::memory::retained::finish as retained;
use crate::metrics::stretches::StepTimes;
use crate::run::{InstanceAcc, RunAcc};
use crate::steps::finish::Steady;
use crate::steps::numbering::Numbering;
use crate::summary::{
    Gauge, MemoryCourse, MemoryFall, MemorySummary, ProcessMemory, SeriesPoint, StepSeries, Trend, TrendPair,
};

/// Steps from which on live bytes are old: what a step, its batches and those made ahead need is gone by then.
const MATURE_STEPS: u64 = 16;

/// Of so many sampled bytes and fewer it is chance whether they are more than before.
const SAMPLES: u64 = 8;

/// Processes whose memory is judged, of those that grow most.
const MOST_JUDGED: usize = 256;

/// Memory of the primary mode's steps and of the processes.
pub(crate) fn summary(run: &RunAcc, series: Option<&StepSeries>, steps: &Steady<'_>) -> MemorySummary {
    let told = series.filter(|series| steps.numbers.tell_apart(series.mode));
    let of_run = series.map_or_else(Known::default, Known::of_run);
    let (live, rss) = (pair(&of_run.live, told.is_some()), pair(&of_run.rss, told.is_some()));
    let times =
        told.and_then(|series| StepTimes::of(run, series.mode, steps.numbers.of_mode(series.mode), 0));
    let mut processes: Vec<(ProcessMemory, Known)> = run
        .instances
        .iter()
        .map(|(instance, acc)| {
            let of_steps = |series: &StepSeries| {
                let numbering = steps.numbers.of_mode(series.mode);
                Known {
                    mature: mature(acc, times.as_ref()),
                    ..Known::of_process(acc, series.mode as usize, numbering)
                }
            };
            let known = told.map_or_else(Known::default, of_steps);
            let process = ProcessMemory {
                rank: instance.0.rank,
                host: instance.0.host_name.clone(),
                pid: instance.0.pid,
                impossible_values: known.impossible,
                is_told: !known.is_empty(),
                ..gauges(acc)
            };
            (process, known)
        })
        .filter(|(process, known)| {
            process.rss_last_bytes.is_some() || process.live_last_bytes.is_some() || !known.is_empty()
        })
        .collect();
    // Gauges are read now and then; the ends of its steps tell of a process as well.
    for (process, known) in &mut processes {
        let largest = |seen: Option<u64>, points: &Points| {
            let most = points.iter().map(|(_, gauge)| gauge.max).max().unwrap_or(0);
            seen.map(|seen| seen.max(most))
        };
        process.rss_max_bytes = largest(process.rss_max_bytes, &known.rss);
        process.live_max_bytes = largest(process.live_max_bytes, &known.live);
    }
    let course = told.and_then(|_| judged(&of_run, &mut processes));
    let mut processes: Vec<ProcessMemory> = processes.into_iter().map(|(process, _)| process).collect();
    // Stable: processes of one rank stay in the order of their resources.
    processes.sort_by_key(|process| process.rank);
    let by_section =
        series.and_then(|series| retained::series(run, series.mode, steps.numbers.of_mode(series.mode)));
    let mut memory = MemorySummary { live, rss, course, processes, by_section };
    memory.course = memory.together().or(memory.course);
    memory
}

/// What a process says between steps.
fn gauges(acc: &InstanceAcc) -> ProcessMemory {
    let last = |gauge: &Option<ProcessGauge>| gauge.as_ref().map(|gauge| gauge.last.value);
    let max = |gauge: &Option<ProcessGauge>| gauge.as_ref().map(|gauge| gauge.max);
    ProcessMemory {
        rss_last_bytes: last(&acc.account.rss),
        rss_max_bytes: max(&acc.account.rss),
        live_last_bytes: last(&acc.account.live),
        live_max_bytes: max(&acc.account.live),
        ..ProcessMemory::default()
    }
}

/// Judges what is known of the run, and of each process where several tell of their memory. Gives what is told of the run.
fn judged(of_run: &Known, processes: &mut [(ProcessMemory, Known)]) -> Option<MemoryCourse> {
    let mut known: Vec<&mut (ProcessMemory, Known)> =
        processes.iter_mut().filter(|(_, known)| !known.is_empty()).collect();
    if known.len() <= 1 {
        let Some((process, own)) = known.pop() else { return of_run.course(&[]) };
        let course = of_run.course(&own.mature)?;
        (process.course, process.gauge) = (Some(course), of_run.gauge(&course));
        return Some(course);
    }
    if known.len() > MOST_JUDGED {
        known.sort_by_key(|(_, known)| Reverse(known.growth_bytes()));
    }
    for (process, known) in known.into_iter().take(MOST_JUDGED) {
        process.course = known.course(&known.mature);
        process.gauge = process.course.and_then(|course| known.gauge(&course));
    }
    None
}

/// A gauge over step numbers.
type Points = Vec<(u64, Gauge)>;

/// What steps say of memory.
#[derive(Default)]
struct Known {
    live: Points,
    rss: Points,
    /// Live bytes that are old, where samples tell.
    mature: Vec<(u64, f64)>,
    /// Values that no memory has.
    impossible: u64,
}

impl Known {
    fn of_run(series: &StepSeries) -> Self {
        let points = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
            series.points.iter().filter_map(|point| gauge(point).map(|gauge| (point.step, gauge))).collect()
        };
        let (live, rss) = (points(|point| point.live_bytes), points(|point| point.rss_bytes));
        Self { live, rss, ..Self::default() }
    }

    fn of_process(acc: &InstanceAcc, mode: usize, numbering: &Numbering) -> Self {
        let Some(series) = acc.memory.get(mode) else { return Self::default() };
        let mut known = Self::default();
        for (step, point) in numbering.told(series, |step, point| (step, *point)) {
            let (live, rss) = (point.live.gauge(), point.rss.gauge());
            known.impossible = known.impossible.saturating_add(point.impossible);
            known.live.extend(live.map(|gauge| (step, gauge)));
            known.rss.extend(rss.map(|gauge| (step, gauge)));
        }
        known
    }

    fn is_empty(&self) -> bool {
        self.live.is_empty() && self.rss.is_empty()
    }

    /// What memory does, with what is known of old bytes; absent where nothing is known of it.
    fn course(&self, mature: &[(u64, f64)]) -> Option<MemoryCourse> {
        let (live, rss) = (gauge(&self.live), gauge(&self.rss));
        let judge = || course(&judge(&Memory { live: &live, rss: &rss, mature, ..Memory::default() }));
        (!self.is_empty()).then(judge)
    }

    /// Ends of the gauge that a course is about.
    fn gauge(&self, course: &MemoryCourse) -> Option<TrendPair> {
        let points = if course.is_suspected { &self.rss } else { &self.live };
        Some(TrendPair { whole: course.trend, ..pair(points, false)? })
    }

    /// By how much it is larger at the end than it ever was before, of what counts: eighths of the run.
    fn growth_bytes(&self) -> u64 {
        let points = if self.live.is_empty() { &self.rss } else { &self.live };
        let mean = |part: &[(u64, Gauge)]| {
            part.iter().fold(0u64, |sum, (_, gauge)| sum.saturating_add(gauge.mean))
                / part.len().max(1) as u64
        };
        let means: Vec<u64> = points.chunks(points.len().div_ceil(8).max(1)).map(mean).collect();
        let least = means.iter().copied().min().unwrap_or(0);
        means.last().map_or(0, |last| last.saturating_sub(least))
    }
}

/// Live bytes that are old at the moments at which samples were taken, by step; none where they grow by no more than chance.
fn mature(acc: &InstanceAcc, times: Option<&StepTimes>) -> Vec<(u64, f64)> {
    let Some(times) = times else { return Vec::new() };
    // What is left when the steps are over is of no step.
    let moments = acc.live_memory.moments.iter().filter(|(time_ns, _)| **time_ns <= times.window.to_ns);
    let mut points: Vec<(u64, u64, u64)> = moments
        .filter_map(|(&time_ns, moment)| {
            let old =
                moment.rows.iter().filter(|(key, _)| key.age_steps.is_none_or(|age| age >= MATURE_STEPS));
            let bytes = old.fold(0u64, |sum, (_, row)| sum.saturating_add(row.bytes));
            Some((times.begun_by(time_ns)?.0, bytes, moment.period_bytes))
        })
        .collect();
    points.dedup_by_key(|point| point.0);
    let ends = points.first().zip(points.last());
    let grows =
        ends.is_some_and(|(first, last)| last.1 > first.1.saturating_add(last.2.saturating_mul(SAMPLES)));
    points.into_iter().filter(|_| grows).map(|(step, bytes, _)| (step, bytes as f64)).collect()
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
        verdict: judged.verdict,
        is_suspected: judged.is_suspected,
        trend: trend(judged),
        plateau_bytes: judged.plateau_bytes.map(|bytes| bytes.round().max(0.0) as u64),
        least_seen_bytes_per_step: judged.least_seen,
        more_steps: judged.more_steps,
        fell: judged.fell.map(|fell| MemoryFall {
            step: fell.step,
            from_bytes: fell.from_bytes.round() as u64,
            to_bytes: fell.to_bytes.round() as u64,
        }),
    }
}
