//! Whether memory grows without end: the line of a growth, by the trend of live or resident bytes over the steps.

use super::left_behind::{candidates, left_bytes};
use super::{Leak, LeakVerdict, Thresholds};
use crate::live_memory::culprits;
use crate::report::finding::{Verdict, rounded};
use crate::steps::judged::{NUMBERS_REPEAT, Steps};
use crate::summary::{ModeSummary, StepNumbers, Summary, Trend, TrendPair};

/// What grows and which sections may be why.
pub(crate) struct Growth {
    pub(crate) leak: Leak,
    pub(crate) line: Line,
    /// Steps of the run, by their numbers.
    pub(crate) numbers: u64,
    /// Sections that leave memory behind, with net bytes a step; nearest to the growth first.
    pub(crate) candidates: Vec<(String, i64)>,
    /// Whether sections say what they leave behind.
    pub(crate) is_told: bool,
}

impl Growth {
    /// The growth of a run; nothing where memory does not grow.
    ///
    /// # Errors
    /// With the verdict to give where too little is known.
    pub(crate) fn of(summary: &Summary, thresholds: &Thresholds) -> Result<Option<Self>, Verdict> {
        let span = summary.primary().map_or(0, |mode| span(mode, summary));
        // Steps that stand for many others show the course of the memory as well, if they are enough for a trend.
        let stand_for_all = summary.coverage.partly_read().is_some() && span >= thresholds.min_steps;
        let needed = if stand_for_all {
            thresholds.min_steps.min(thresholds.min_read_steps)
        } else {
            thresholds.min_steps
        };
        let steps = Steps::read(summary)?;
        steps.at_least(needed)?;
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
        let sampled = summary.live_memory.as_ref().filter(|_| verdict == LeakVerdict::Growing);
        let lines = culprits(sampled, trend.from_step, slope);
        let interval = trend.confidence_interval;
        Ok(Some(Self {
            leak: Leak {
                section: lines.first().map_or(section, |line| line.section.clone()),
                verdict,
                bytes_per_step: rounded(slope, 3),
                confidence_interval: (rounded(interval.0, 3), rounded(interval.1, 3)),
                p_value: trend.p_value,
                live_bytes: pair.last_bytes,
                stacks: lines.iter().map(|line| line.stack.clone()).collect(),
                lines,
            },
            line,
            numbers,
            candidates,
            is_told: summary.sections.iter().any(|row| left_bytes(row).is_some()),
        }))
    }
}

/// The line of a growth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) trend: Trend,
    /// Over its last third.
    pub(crate) tail: Trend,
    /// Whether memory had a level before it.
    pub(crate) is_late: bool,
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
pub(crate) const fn grown(trend: &Trend) -> u64 {
    trend.last_bytes.saturating_sub(trend.first_bytes)
}

/// Steps of a line, by their numbers.
pub(crate) const fn steps_of(trend: &Trend) -> u64 {
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

#[cfg(test)]
mod tests;
