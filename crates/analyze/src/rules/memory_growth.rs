//! Rule `memory_growth`: memory grows by the step, without end. Which section leaves the memory behind is
//! told from what sections allocate and free themselves.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::json;

use super::{Config, NUMBERS_REPEAT, Rule, Steps};
use crate::narrow::narrow_signed;
use crate::report::units::{bytes, count, duration, signed_bytes, things};
use crate::report::{BottleneckType, Evidence, Finding, Note, Verdict, rounded, severity};
use crate::summary::{
    Coverage, FigureSource, ModeSummary, SectionRow, StepNumbers, Summary, Trend, TrendPair,
};

pub(super) const RULE: Rule = Rule {
    id: "memory_growth",
    since: "0.1.0",
    name: "Memory growth",
    kind: BottleneckType::Memory,
    may_hold_up_ranks: false,
    page: include_str!("memory_growth.md"),
    check,
};

thresholds! {
    /// Significance: probability of such a trend by chance, at most.
    max_p_value: f64 = 0.01;
    /// Slope below which growth is no leak, bytes a step.
    min_bytes_per_step: f64 = 64.0;
    /// Growth below which it is no leak, bytes.
    min_growth_bytes: u64 = 1_000_000;
    /// The same for resident memory, which moves in larger amounts.
    min_rss_growth_bytes: u64 = 33_554_432;
    /// Slope of the last third of the growth, as a part of the whole slope, from which growth goes on.
    min_tail_ratio: f64 = 0.5;
    /// Growth that begins late, in times of the most that was freed before it.
    min_freed_ratio: f64 = 2.0;
    /// How near to the growth a section's own balance must be to be named: difference as a part of the growth.
    max_section_deviation: f64 = 0.5;
    /// Memory that the process may use, bytes; 0 where unknown.
    limit_bytes: u64 = 0;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 100;
    /// Steps after warm-up that are needed where only some were read, of at least `min_steps` in a row.
    min_read_steps: u64 = 30;
}

/// Most sections that evidence lists beside the one named.
const OTHER_CANDIDATES: usize = 4;

/// Growth as the `leaks` of the report list it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leak {
    /// The section that leaves about as much behind; absent where none does.
    pub section: Option<String>,
    /// How sure it is.
    pub verdict: LeakVerdict,
    /// Slope, bytes a step.
    pub bytes_per_step: f64,
    /// Its 95 % confidence interval.
    pub confidence_interval: (f64, f64),
    /// Probability of such a trend by chance.
    pub p_value: f64,
    /// Memory at the end: live bytes of a growing heap, resident bytes of a suspected leak.
    pub live_bytes: u64,
    /// Call stacks of the allocations that stayed; none are recorded yet.
    pub stacks: Vec<String>,
}

/// How sure a leak is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakVerdict {
    /// Bytes allocated and not freed grow.
    Growing,
    /// Only resident memory grows, as far as is known.
    Suspected,
}

/// The growth of the run, if there is one.
#[must_use]
pub fn leaks(summary: &Summary, config: &Config) -> Vec<Leak> {
    Growth::of(summary, config).ok().flatten().into_iter().map(|growth| growth.leak).collect()
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    match Growth::of(summary, config) {
        Err(verdict) => verdict,
        Ok(None) => Verdict::fine(fine(summary)),
        Ok(Some(growth)) => Verdict::Found(vec![growth.finding(summary, config)]),
    }
}

/// That steps share numbers, so that nothing is said of what happens over them.
pub fn notes(summary: &Summary) -> Vec<Note> {
    let mode = summary.primary().filter(|mode| mode.numbers == StepNumbers::Repeated);
    let range = mode.and_then(|mode| mode.step_range.map(|range| (mode.all.count, range)));
    let note = range.map(|(steps, (first, last))| Note {
        rule: RULE.id,
        section: None,
        text: format!(
            "{} share the numbers {} to {}: growth of memory and changes are not judged, and plots over steps mix \
             them. Number steps through the run, or open each epoch with `stepscope::epoch!`.",
            things(steps, "step", "steps"),
            count(first),
            count(last)
        ),
    });
    note.into_iter().collect()
}

fn fine(summary: &Summary) -> String {
    let (kind, pair) = match (&summary.memory.live, &summary.memory.rss) {
        (Some(live), _) => ("live", live),
        (None, Some(rss)) => ("resident", rss),
        (None, None) => return "memory does not grow".into(),
    };
    let change = narrow_signed(i128::from(pair.last_bytes) - i128::from(pair.first_bytes));
    format!(
        "{kind} memory changed by {} from the first step to the last, without lasting growth",
        signed_bytes(change)
    )
}

/// What grows and which sections may be why.
struct Growth {
    leak: Leak,
    line: Line,
    /// Steps of the run, by their numbers.
    numbers: u64,
    candidates: Vec<(String, i64)>,
    /// Whether sections say what they leave behind.
    is_told: bool,
}

impl Growth {
    fn of(summary: &Summary, config: &Config) -> Result<Option<Self>, Verdict> {
        let thresholds = &config.memory_growth;
        let span = summary.primary().map_or(0, |mode| span(mode, summary));
        // Steps that stand for many others show the course of the memory as well, if they are enough for a trend.
        let stand_for_all = summary.coverage.partly_read().is_some() && span >= thresholds.min_steps;
        let needed = if stand_for_all {
            thresholds.min_steps.min(thresholds.min_read_steps)
        } else {
            thresholds.min_steps
        };
        let steps = Steps::read(summary, needed)?;
        let memory = &summary.memory;
        if memory.live.is_none() && memory.rss.is_none() {
            return Err(Verdict::unknown(
                "steps carry no memory figures; install `stepscope::Alloc` as the global allocator, and have `memory` tracked",
            ));
        }
        if steps.mode.numbers == StepNumbers::Repeated {
            return Err(Verdict::unknown(NUMBERS_REPEAT));
        }
        let kinds = [
            (LeakVerdict::Growing, &memory.live, thresholds.min_growth_bytes),
            (LeakVerdict::Suspected, &memory.rss, thresholds.min_rss_growth_bytes),
        ];
        let found = kinds.into_iter().find_map(|(verdict, pair, least)| {
            let pair = pair.as_ref()?;
            Some((verdict, pair, line(pair, least, thresholds)?))
        });
        let Some((verdict, pair, line)) = found else { return Ok(None) };
        let trend = line.trend;
        let slope = trend.slope_per_step;
        let numbers = span.saturating_add(1);
        // What is left behind in all steps was left since the growth began.
        let since = if line.is_late { steps_of(&trend) as f64 / numbers as f64 } else { 1.0 };
        let candidates = candidates(summary, steps.mode.all.count, numbers, since, slope);
        let section = candidates
            .first()
            .filter(|(_, net)| (*net as f64 - slope).abs() <= thresholds.max_section_deviation * slope)
            .filter(|_| verdict == LeakVerdict::Growing)
            .map(|(path, _)| path.clone());
        let interval = trend.confidence_interval;
        Ok(Some(Self {
            leak: Leak {
                section,
                verdict,
                bytes_per_step: rounded(slope, 3),
                confidence_interval: (rounded(interval.0, 3), rounded(interval.1, 3)),
                p_value: trend.p_value,
                live_bytes: pair.last_bytes,
                stacks: Vec::new(),
            },
            line,
            numbers,
            candidates,
            is_told: summary.sections.iter().any(|row| left_bytes(row).is_some()),
        }))
    }

    fn finding(self, summary: &Summary, config: &Config) -> Finding {
        let thresholds = &config.memory_growth;
        let Line { trend, tail, is_late } = self.line;
        let (growth_bytes, steps) = (grown(&trend), steps_of(&trend));
        let done = summary.primary().map(|mode| mode.throughput).unwrap_or_default();
        let steps_per_second = match summary.coverage.partly_read() {
            // Of sampled steps the numbers say how many there were.
            Some(_) if done.elapsed_ns > 0 => Some(self.numbers as f64 / (done.elapsed_ns as f64 / 1e9)),
            _ => mean_rate(summary),
        };
        let bytes_per_hour = steps_per_second.map(|rate| trend.slope_per_step * rate * 3_600.0);
        let left =
            (thresholds.limit_bytes > 0).then(|| thresholds.limit_bytes.saturating_sub(self.leak.live_bytes));
        let hours_left =
            left.zip(bytes_per_hour).filter(|&(_, rate)| rate > 0.0).map(|(left, rate)| left as f64 / rate);
        let others: Vec<_> = self
            .candidates
            .iter()
            .filter(|(path, _)| Some(path) != self.leak.section.as_ref())
            .take(OTHER_CANDIDATES)
            .map(|(path, net)| json!({ "section": path, "net_per_step_bytes": net }))
            .collect();
        let named = self.leak.section.as_ref();
        let own = self.candidates.iter().find(|(path, _)| Some(path) == named).map(|&(_, net)| net);
        let suspected = self.leak.verdict == LeakVerdict::Suspected;
        let mut points = match hours_left {
            Some(hours) if hours < 1.0 => 100.0,
            Some(hours) if hours < 24.0 => 70.0,
            _ => by_rate(bytes_per_hour),
        };
        if suspected {
            points /= 2.0;
        }
        let slope = bytes(trend.slope_per_step.max(0.0).round() as u64);
        let since = if is_late { format!(" since step {}", count(trend.from_step)) } else { String::new() };
        let what = if suspected { "Resident memory grows (a leak is suspected)" } else { "Memory grows" };
        Finding {
            title: format!(
                "{what} by {slope} a step{since}, {} in {}.",
                bytes(growth_bytes),
                things(steps, "step", "steps")
            ),
            severity: severity(points),
            section: self.leak.section.clone(),
            phase: None,
            rank: None,
            evidence: Evidence::new()
                .with("growth_per_step_bytes", self.leak.bytes_per_step)
                .with("slope_low_bytes", self.leak.confidence_interval.0)
                .with("slope_high_bytes", self.leak.confidence_interval.1)
                .with("p_value", self.leak.p_value)
                .with("last_third_per_step_bytes", rounded(tail.slope_per_step, 3))
                .with("from_step", trend.from_step)
                .with("steps", steps)
                .with("growth_bytes", growth_bytes)
                .with("first_bytes", trend.first_bytes)
                .with("last_bytes", trend.last_bytes)
                .with_known("growth_per_hour_bytes", bytes_per_hour.map(|rate| rate.round() as u64))
                .with_known("hours_to_limit", hours_left.map(|hours| rounded(hours, 2)))
                .with_known("section_net_per_step_bytes", own)
                .with("other_candidates", others),
            recommendation: advice(&self.leak, self.is_told, summary.memory.live.is_some(), hours_left),
            predicted_gain: None,
        }
    }
}

/// The line of a growth.
#[derive(Debug, Clone, Copy)]
struct Line {
    trend: Trend,
    /// Over its last third.
    tail: Trend,
    /// Whether memory had a level before it.
    is_late: bool,
}

/// The line of a pair that grows by the definition of the rule: one that begins late, where there is one, or that of the
/// whole.
fn line(pair: &TrendPair, min_growth_bytes: u64, thresholds: &Thresholds) -> Option<Line> {
    let late = pair
        .late
        .filter(|late| grown(&late.growth) as f64 >= thresholds.min_freed_ratio * late.freed_bytes as f64);
    let late = late.map(|late| Line { trend: late.growth, tail: late.tail, is_late: true });
    let whole = pair.whole.zip(pair.tail).map(|(trend, tail)| Line { trend, tail, is_late: false });
    let grows = |Line { trend, tail, .. }: &Line| {
        trend.p_value <= thresholds.max_p_value
            && trend.confidence_interval.0 > 0.0
            && trend.slope_per_step >= thresholds.min_bytes_per_step
            && grown(trend) >= min_growth_bytes
            && tail.slope_per_step >= thresholds.min_tail_ratio * trend.slope_per_step
    };
    late.filter(grows).or_else(|| whole.filter(grows))
}

/// What a line rises from its first step to its last.
const fn grown(trend: &Trend) -> u64 {
    trend.last_bytes.saturating_sub(trend.first_bytes)
}

/// Steps of a line, by their numbers.
const fn steps_of(trend: &Trend) -> u64 {
    trend.to_step.saturating_sub(trend.from_step).saturating_add(1)
}

/// Last number of the steps minus the first, counted on over epochs where their numbers begin anew.
fn span(mode: &ModeSummary, summary: &Summary) -> u64 {
    let said = || mode.step_range;
    let counted = || {
        let points = &summary.series_of(mode.mode)?.points;
        Some((points.first()?.step, points.last()?.step))
    };
    let range = if mode.numbers == StepNumbers::Unique { said() } else { counted() };
    range.map_or(0, |(first, last)| last.saturating_sub(first))
}

/// What a section itself allocated and did not free over the run, where it says so.
fn left_bytes(row: &SectionRow) -> Option<i64> {
    row.memory?.self_net_bytes
}

/// Sections that leave memory behind, net bytes a step of the share of the steps in which they did; nearest to the growth
/// first, then by path.
fn candidates(summary: &Summary, steps: u64, numbers: u64, share: f64, slope: f64) -> Vec<(String, i64)> {
    let all = numbers.saturating_mul(summary.state.instances.max(1));
    let a_step = |row: &SectionRow| Some(left_bytes(row)? / behind(row, &summary.coverage, steps, all));
    let net = |row: &SectionRow| a_step(row).map(|net| (net as f64 / share) as i64);
    let mut candidates: Vec<(String, i64)> = summary
        .sections
        .iter()
        .filter_map(|row| Some((row.path.clone(), net(row)?)))
        .filter(|&(_, net)| net > 0)
        .collect();
    let distance = |net: i64| (net as f64 - slope).abs();
    candidates.sort_by(|a, b| {
        distance(a.1).partial_cmp(&distance(b.1)).unwrap_or(Ordering::Equal).then_with(|| a.0.cmp(&b.0))
    });
    candidates
}

/// The steps that a section's sums are about: of `steps` that were read, or of `all` that there were by their numbers.
fn behind(row: &SectionRow, coverage: &Coverage, steps: u64, all: u64) -> i64 {
    let about = match row.source {
        FigureSource::Aggregates if coverage.partly_read().is_some() => {
            return i64::try_from(all.max(1)).unwrap_or(i64::MAX);
        }
        FigureSource::Aggregates => coverage.recorded_steps.unwrap_or(coverage.read_steps),
        FigureSource::Spans if row.is_part() => coverage.whole_steps,
        FigureSource::Spans => coverage.read_steps,
    };
    let read = u128::from(coverage.read_steps.max(1));
    let steps = u128::from(steps).saturating_mul(about.into()) / read;
    i64::try_from(steps.max(1)).unwrap_or(i64::MAX)
}

fn by_rate(bytes_per_hour: Option<f64>) -> f64 {
    const GIB: f64 = 1_073_741_824.0;
    match bytes_per_hour {
        Some(rate) if rate >= 10.0 * GIB => 60.0,
        Some(rate) if rate >= GIB => 45.0,
        Some(rate) if rate >= GIB / 10.0 => 30.0,
        _ => 15.0,
    }
}

/// `is_told` is whether sections say what they leave behind, `is_counted` whether the heap is counted.
fn advice(leak: &Leak, is_told: bool, is_counted: bool, hours_left: Option<f64>) -> String {
    let time = hours_left.map_or(String::new(), |hours| {
        format!(" The limit is reached in {}.", duration((hours * 3.6e12).min(1e19) as u64))
    });
    match (&leak.section, leak.verdict) {
        (Some(section), _) => format!(
            "Look at what `{section}` keeps: histories, caches without bound, values collected by step. Clear \
             or bound it, or keep numbers instead of tensors.{time}"
        ),
        (None, LeakVerdict::Growing) if !is_told => format!(
            "In which section is not known, as none says what it allocates and frees: record with `stepscope::Alloc` as \
             the global allocator, and put sections around what runs by step.{time}"
        ),
        (None, LeakVerdict::Growing) => format!(
            "No section leaves about as much behind: the memory is allocated outside of sections or freed by \
             others. Put sections around what runs by step.{time}"
        ),
        (None, LeakVerdict::Suspected) if is_counted => format!(
            "The counting allocator does not see this memory, the heap does not grow: look at native libraries, mapped \
             files, thread stacks, and at a heap in pieces that goes back to nobody.{time}"
        ),
        (None, LeakVerdict::Suspected) => format!(
            "Nobody counts the heap: install `stepscope::Alloc` as the global allocator to see whether it is what grows, \
             and look at native libraries.{time}"
        ),
    }
}

/// Steps per second of a process, on average.
fn mean_rate(summary: &Summary) -> Option<f64> {
    let rates: Vec<f64> =
        summary.instances.iter().filter_map(|row| row.throughput.steps_per_second).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

#[cfg(test)]
mod tests;
