//! Who holds what grows: lines whose live bytes were allocated all along since the growth began, or grow from moment to moment
//! where they lie, as a vector does. A cache that is full, a state and what is in use have as many bytes, and do neither.

use serde::Serialize;

use super::births::Births;
use super::lines;
use super::symbols::short_function;
use crate::report::finding::rounded;
use crate::report::names;
use crate::summary::{LiveAge, LiveLine, LiveMemory};

/// Part of the growth that a line has to hold.
const LEAST_SHARE: f64 = 0.1;
/// Growth in the second half of the time that is worth telling.
const LEAST_GROWTH: f64 = 1.05;
/// By how many standard errors of the samples a line has to grow: one that holds this part of what is known to grow, any other,
/// and in the second half of the time, where there are few.
const MUCH: f64 = 0.2;
const ERRORS_OF_MUCH: f64 = 1.3;
const ERRORS_OF_ANY: f64 = 2.2;
const ERRORS_LATE: f64 = 0.9;
/// Part of what is known to have grown in the second half of the time that a line of few samples has to hold.
const LATE_SHARE: f64 = 0.125;
/// Where fewer samples than these are expected there, one time in a hundred and more there are none by chance: such a line counts by
/// this part, before which others come.
const FEW: f64 = 4.6;
const BY_CHANCE: f64 = 0.5;
/// Part of the time after which a first moment comes too late.
const LATEST: f64 = 0.75;
/// How much sizes of blocks may differ that stand for each other.
const SIZE_TOLERANCE: f64 = 0.25;
/// Lines that are told.
const MOST: usize = 8;

/// A line that holds a part of a growth.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// Its section; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where the section begins; null where the line is known, or this is not.
    pub section_place: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The function.
    pub function: Option<String>,
    /// Who calls it, where other sections allocate at the same line, too.
    pub caller: Option<String>,
    /// Bytes that stay of each step.
    pub bytes_per_step: f64,
    /// The part of the growth that this is, 1 at most.
    pub share: f64,
    /// Its stack with most bytes, innermost call first: functions and their places.
    #[serde(skip)]
    pub(crate) stack: String,
}

/// Lines that hold what grows by so many bytes a step from that step on, those that hold most first; empty where samples do
/// not tell.
#[must_use]
pub(crate) fn culprits(memory: Option<&LiveMemory>, from_step: u64, growth_per_step: f64) -> Vec<Culprit> {
    let Some(memory) = memory else { return Vec::new() };
    let window = window(memory, from_step);
    let courses: Vec<Option<Course>> =
        memory.lines.iter().map(|line| Course::of(memory, line, from_step, growth_per_step)).collect();
    let mut by_chance: Vec<&LiveLine> = Vec::new();
    let growing: Vec<(&LiveLine, f64)> = memory
        .lines
        .iter()
        .zip(&courses)
        .filter_map(|(line, course)| {
            let births = Births::of(&line.ages, memory.period_bytes, memory.steps, window);
            if let Some(rate) = births.bytes_per_step() {
                return Some((line, rate));
            }
            let course = course.as_ref().filter(|course| course.grows || course.may_grow)?;
            by_chance.extend((!course.grows).then_some(line));
            Some((line, course.bytes_per_step))
        })
        .collect();
    let falling: Vec<(&LiveLine, f64)> = memory
        .lines
        .iter()
        .zip(&courses)
        .filter_map(|(line, course)| Some((line, -course.as_ref()?.bytes_per_step)))
        .filter(|(_, fall)| *fall > 0.0)
        .collect();
    let mut found: Vec<(&LiveLine, f64, f64)> = growing
        .iter()
        .map(|&(line, rate)| (line, rate - replaced(line, &growing, &falling)))
        .map(|(line, rate)| (line, rate, (rate / growth_per_step).min(1.0)))
        .filter(|(.., share)| *share >= LEAST_SHARE)
        .collect();
    let is_by_chance = |line: &LiveLine| by_chance.iter().any(|own| std::ptr::eq(*own, line));
    let weight =
        |&(line, rate, _): &(&LiveLine, f64, f64)| rate * if is_by_chance(line) { BY_CHANCE } else { 1.0 };
    // Lines are in a fixed order, and this sort is stable.
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    // Behind others it is not worth telling.
    let mut at = 0;
    found.retain(|(line, ..)| {
        at += 1;
        at == 1 || !is_by_chance(line)
    });
    let told = found.into_iter().take(MOST).map(|(line, bytes_per_step, share)| Culprit {
        section: line.section.clone(),
        section_place: line.section_place.clone().filter(|_| line.file.is_none()),
        place: line.place.clone(),
        function: line.function.as_deref().map(short_function),
        bytes_per_step: rounded(bytes_per_step, 3),
        share: rounded(share, 6),
        caller: line.caller.clone(),
        stack: lines::calls(memory, line).join(" < "),
    });
    told.collect()
}

impl Culprit {
    /// Where it is, in words: ``in `train/forward`, allocated at src/cache.rs:88 (CacheMap::insert)``; where no line is known, the
    /// section with its own.
    pub(crate) fn words(&self) -> String {
        let section = self.section.as_deref().map_or_else(
            || "outside of sections".to_owned(),
            |section| {
                let begins =
                    self.section_place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
                format!("in `{}`{begins}", names::path(section))
            },
        );
        if self.place == lines::UNKNOWN {
            return section;
        }
        let function = self.function.as_deref().map_or_else(String::new, |function| format!(" ({function})"));
        let caller = self.caller.as_ref().map_or_else(String::new, |caller| format!(", called by {caller}"));
        format!("{section}, allocated at {}{function}{caller}", self.place)
    }
}

/// What of the growth of a line takes the place of what other lines lose, bytes a step: a buffer that is filled in one place
/// and renewed in another, in one file and, where there is any such, in blocks of one size.
fn replaced(line: &LiveLine, growing: &[(&LiveLine, f64)], falling: &[(&LiveLine, f64)]) -> f64 {
    let is_near = |one: &LiveLine, other: &LiveLine| one.file.is_some() && one.file == other.file;
    let size = |line: &LiveLine| line.bytes as f64 / line.blocks.max(1) as f64;
    let is_alike =
        |one: &LiveLine, other: &LiveLine| (size(one) / size(other).max(1.0) - 1.0).abs() <= SIZE_TOLERANCE;
    let share = |&(lost, fall): &(&LiveLine, f64)| {
        let near = growing.iter().filter(|(other, _)| is_near(other, lost));
        let any_alike = near.clone().any(|(other, _)| is_alike(other, lost));
        let takes = |other: &LiveLine| is_near(other, lost) && (!any_alike || is_alike(other, lost));
        let all: f64 = near.filter(|(other, _)| takes(other)).map(|(_, rate)| rate).sum();
        let own = growing.iter().find(|(other, _)| std::ptr::eq(*other, line) && takes(other));
        own.map_or(0.0, |(_, rate)| fall.min(all) * rate / all.max(1.0))
    };
    falling.iter().map(share).sum()
}

/// How a line went on from moment to moment.
struct Course {
    /// From the first moment to the last.
    bytes_per_step: f64,
    /// Whether it grew in the second half of the time as well: room is doubled at a time, which is at least once in that half.
    grows: bool,
    /// Whether it may have, for all that few samples say.
    may_grow: bool,
}

impl Course {
    /// Since that step, of a process that grows by so many bytes a step; absent where there are no moments late and early enough.
    fn of(memory: &LiveMemory, line: &LiveLine, from_step: u64, growth_per_step: f64) -> Option<Self> {
        let last_step = memory.step?;
        let bytes_at = |at: usize| {
            let own = line.stacks.iter().filter_map(|&stack| {
                Some(memory.courses.get(&(line.section.clone(), stack))?.get(at)?.stayed_bytes)
            });
            own.fold(0, u64::saturating_add)
        };
        let moments = memory.moments.iter().enumerate();
        let points: Vec<(u64, u64)> = moments
            .filter_map(|(at, moment)| Some((moment.step?, at)))
            .filter(|(step, _)| (from_step..=last_step).contains(step))
            .map(|(step, at)| (step, bytes_at(at)))
            .collect();
        let (&(first_step, first), &(end_step, end)) = points.first().zip(points.last())?;
        let steps = end_step.checked_sub(first_step).filter(|&steps| steps > 0)?;
        let until =
            |part: f64| from_step.saturating_add((last_step.saturating_sub(from_step) as f64 * part) as u64);
        let half = points.iter().filter(|(step, _)| *step <= until(0.5)).max_by_key(|(_, bytes)| *bytes);
        // Where the first moment is later, it says as much as long as it is not one of the last.
        let before =
            half.copied().or_else(|| (first_step <= until(LATEST)).then_some((first_step, first)))?;
        let bytes_per_step = (end as f64 - first as f64) / steps as f64;
        let errors = if bytes_per_step >= MUCH * growth_per_step { ERRORS_OF_MUCH } else { ERRORS_OF_ANY };
        let since = |(step, bytes)| Change::of(memory, line, (step, bytes), (end_step, end));
        let (whole, late) = (since((first_step, first)), since(before));
        let late_steps = end_step.saturating_sub(before.0) as f64;
        let rises = whole.bytes > errors * whole.error;
        let is_late = end as f64 > before.1 as f64 * LEAST_GROWTH
            && late.bytes > ERRORS_LATE * late.error
            && (late.error == 0.0 || late.bytes >= LATE_SHARE * growth_per_step * late_steps);
        let expected = (whole.bytes / whole.error).powi(2) * late_steps / steps as f64;
        Some(Self {
            bytes_per_step,
            grows: rises && is_late,
            may_grow: rises && late.bytes >= 0.0 && expected < FEW,
        })
    }
}

/// What a line holds more at a moment than at an earlier one.
struct Change {
    bytes: f64,
    /// Standard error of the samples: of what came and what went, not of what stayed.
    error: f64,
}

impl Change {
    fn of(memory: &LiveMemory, line: &LiveLine, from: (u64, u64), to: (u64, u64)) -> Self {
        let bytes = to.1 as f64 - from.1 as f64;
        // A class of ages ends where the next one begins.
        let steps = to.0.saturating_sub(from.0) as f64;
        let young =
            |age: &LiveAge| ((steps - age.age_steps as f64) / age.age_steps.max(1) as f64).clamp(0.0, 1.0);
        let old_enough = line.ages.iter().filter(|age| age.age_steps > 0);
        let came =
            old_enough.map(|age| age.bytes as f64 * young(age)).sum::<f64>().min(to.1 as f64).max(bytes);
        let went = came - bytes;
        Self { bytes, error: error(memory, line, (came + went).max(0.0)) }
    }
}

/// The standard error of so many bytes of a line's blocks, by sample; none of blocks that are all there.
fn error(memory: &LiveMemory, line: &LiveLine, bytes: f64) -> f64 {
    let (size, period) = (line.bytes as f64 / line.blocks.max(1) as f64, memory.period_bytes as f64);
    // What a sample stands for beside itself.
    let others = if size < period { size / -(-size / period).exp_m1() - size } else { 0.0 };
    (bytes * others).sqrt()
}

/// Steps since that one as the process counts them, of all modes.
fn window(memory: &LiveMemory, from_step: u64) -> u64 {
    let Some((first, last)) = memory.first_step.zip(memory.step) else { return memory.steady_steps };
    let number = |from: u64| u128::from(last.saturating_sub(from).saturating_add(1));
    let since = number(from_step.max(first)) * u128::from(memory.steps) / number(first);
    u64::try_from(since).unwrap_or(memory.steps).min(memory.steps)
}
