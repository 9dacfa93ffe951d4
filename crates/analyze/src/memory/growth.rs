//! The growth of a run that leaks, with the sections that may be why. Whether it leaks is judged in `detector`.

use super::declared::Declared;
use super::left_behind::{candidates, left_bytes};
use super::spread::Spread;
use super::{Leak, LeakVerdict, Thresholds};
use crate::live_memory::culprits;
use crate::report::finding::{Verdict, rounded};
use crate::report::units::count;
use crate::steps::judged::{NUMBERS_REPEAT, Steps};
use crate::summary::{CourseVerdict, MemoryCourse, ModeSummary, StepNumbers, Summary, Trend, TrendPair};

/// What grows and which sections may be why.
pub(crate) struct Growth {
    pub(crate) leak: Leak,
    pub(crate) trend: Trend,
    pub(crate) course: MemoryCourse,
    /// The gauge that grows.
    pub(crate) gauge: TrendPair,
    /// Steps of the run, by their numbers.
    pub(crate) numbers: u64,
    /// Whether memory had a level before it.
    pub(crate) is_late: bool,
    /// Sections that leave memory behind, with net bytes a step; nearest to the growth first.
    pub(crate) candidates: Vec<(String, i64)>,
    /// What declared caches hold, which is no part of it.
    pub(crate) declared: Declared,
    /// Which processes grow, of several.
    pub(crate) spread: Option<Spread>,
    /// Whether sections say what they leave behind.
    pub(crate) is_told: bool,
}

/// Part of the steps after which growth that begins is late: before, memory finds its level.
const LATE: f64 = 0.1;

impl Growth {
    /// The growth of a run; what memory does instead where it does not grow on.
    ///
    /// # Errors
    /// With the verdict to give where too little is known.
    pub(crate) fn of(
        summary: &Summary,
        thresholds: &Thresholds,
    ) -> Result<Result<Self, MemoryCourse>, Verdict> {
        let steps = Steps::read(summary)?;
        let memory = &summary.memory;
        if memory.live.is_none() && memory.rss.is_none() {
            return Err(Verdict::unknown(
                "steps carry no memory figures; install `stepscope::Alloc` as the global allocator, and have `memory` tracked",
            ));
        }
        let Some(course) = memory.course.filter(|_| steps.mode.numbers != StepNumbers::Repeated) else {
            return Err(Verdict::unknown(NUMBERS_REPEAT));
        };
        let (verdict, gauge) = match course.verdict {
            CourseVerdict::Leak if !course.is_suspected => (LeakVerdict::Growing, &memory.live),
            CourseVerdict::Leak | CourseVerdict::Fragmentation => (LeakVerdict::Suspected, &memory.rss),
            CourseVerdict::Undecided => {
                return Err(Verdict::unknown(undecided(&course, Spread::of(memory).as_ref())));
            }
            _ => return Ok(Err(course)),
        };
        let spread = Spread::of(memory);
        let alike = memory.alike();
        let gauge = alike.first().map_or(gauge, |process| &process.gauge);
        let Some((trend, gauge)) = course.trend.zip(gauge.as_ref()) else { return Ok(Err(course)) };
        let numbers = span(steps.mode, summary).saturating_add(1);
        // What is left behind in all steps was left since the growth began.
        let share = steps_of(&trend) as f64 / numbers as f64;
        let is_late = share < 1.0 - LATE;
        let slope = trend.slope_per_step;
        // Sections' own sums are of all processes, whether they grow or not.
        let behind = (if is_late { share } else { 1.0 }, spread.as_ref().map_or(1.0, |spread| spread.share));
        let candidates = candidates(summary, steps.mode.all.count, numbers, behind, &trend);
        // Samples are of one process, which need not be one that grows.
        let is_its_own =
            |rank: Option<i64>| spread.is_none() || alike.iter().any(|process| process.rank == rank);
        let sampled = summary.live_memory.as_ref().filter(|_| verdict == LeakVerdict::Growing);
        let sampled = sampled.filter(|sampled| is_its_own(sampled.rank));
        let lines = culprits(sampled, trend.from_step, slope);
        let declared = Declared::of(&thresholds.caches.0, &lines, &candidates, slope);
        if declared.explain(slope, &lines) {
            return Err(Verdict::fine(format!("memory {}: no leak", declared.words())));
        }
        let spread = spread.map(|spread| spread.less(declared.bytes_per_step / slope));
        let trend = declared.rest(trend);
        let lines = declared.others(lines, slope / trend.slope_per_step);
        let slope = trend.slope_per_step;
        let candidates = declared.other_sections(candidates);
        let section = candidates
            .first()
            .filter(|(_, net)| (*net as f64 - slope).abs() <= thresholds.max_section_deviation * slope)
            .filter(|_| verdict == LeakVerdict::Growing)
            .map(|(path, _)| path.clone());
        let interval = trend.confidence_interval;
        Ok(Ok(Self {
            leak: Leak {
                section: lines.first().map_or(section, |line| line.section.clone()),
                verdict,
                bytes_per_step: rounded(slope, 3),
                confidence_interval: (rounded(interval.0, 3), rounded(interval.1, 3)),
                p_value: trend.p_value,
                live_bytes: gauge.last_bytes,
                stacks: lines.iter().map(|line| line.stack.clone()).collect(),
                lines,
                ranks: spread.as_ref().map_or_else(Vec::new, Spread::ranks),
            },
            declared,
            spread,
            trend,
            course,
            gauge: gauge.clone(),
            numbers,
            is_late,
            candidates,
            is_told: summary.sections.iter().any(|row| left_bytes(row).is_some()),
        }))
    }

    /// Steps of the growth, by their numbers.
    pub(crate) const fn steps(&self) -> u64 {
        steps_of(&self.trend)
    }
}

/// What is said where nothing is decided.
fn undecided(course: &MemoryCourse, spread: Option<&Spread>) -> String {
    let whose = spread.map_or_else(String::new, |spread| format!(" of {}", spread.words()));
    let needs = course.more_steps.map(|more| format!(": needs about {} more steps", count(more)));
    format!("undecided whether memory{whose} grows on{}", needs.unwrap_or_default())
}

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
