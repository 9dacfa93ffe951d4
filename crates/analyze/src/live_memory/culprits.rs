//! Who holds what grows: lines whose live bytes were allocated all along since the growth began, or grow from moment to moment
//! where they lie, as a vector does. A cache that is full, a state and what is in use have as many bytes, and do neither.

use serde::Serialize;

use super::births::Births;
use super::lines;
use super::symbols::short_function;
use crate::report::finding::rounded;
use crate::report::names;
use crate::summary::{LiveLine, LiveMemory};

/// Part of the growth that a line has to hold.
const LEAST_SHARE: f64 = 0.1;
/// Moments without which no course is told.
const LEAST_MOMENTS: usize = 3;
/// Lines that are told.
const MOST: usize = 8;

/// A line that holds a part of a growth.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// Its section; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The function.
    pub function: Option<String>,
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
    let mut found: Vec<(&LiveLine, f64, f64)> = memory
        .lines
        .iter()
        .filter_map(|line| {
            let births = Births::of(&line.ages, memory.period_bytes, memory.steps, window);
            let bytes_per_step = births.bytes_per_step().or_else(|| course(memory, line, from_step))?;
            let share = (bytes_per_step / growth_per_step).min(1.0);
            (share >= LEAST_SHARE).then_some((line, bytes_per_step, share))
        })
        .collect();
    // Lines are in a fixed order, and this sort is stable.
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told = found.into_iter().take(MOST).map(|(line, bytes_per_step, share)| Culprit {
        section: line.section.clone(),
        place: line.place.clone(),
        function: line.function.as_deref().map(short_function),
        bytes_per_step: rounded(bytes_per_step, 3),
        share: rounded(share, 6),
        stack: stack(memory, line),
    });
    told.collect()
}

impl Culprit {
    /// Where it is, in words: ``in `train/forward`, allocated at src/cache.rs:88 (CacheMap::insert)``.
    pub(crate) fn words(&self) -> String {
        let section = self.section.as_deref().map_or_else(
            || "outside of sections".to_owned(),
            |section| format!("in `{}`", names::path(section)),
        );
        let function = self.function.as_deref().map_or_else(String::new, |function| format!(" ({function})"));
        format!("{section}, allocated at {}{function}", self.place)
    }
}

/// The stack of a line with most bytes, in words.
fn stack(memory: &LiveMemory, line: &LiveLine) -> String {
    let bytes = |stack: usize| {
        let own = memory.rows.iter().filter(|row| row.stack == Some(stack) && row.section == line.section);
        own.fold(0u64, |sum, row| sum.saturating_add(row.bytes))
    };
    // Of equals the first.
    let most = line.stacks.iter().rev().copied().max_by_key(|&stack| bytes(stack));
    let frames = most.and_then(|stack| memory.stacks.get(stack)).into_iter().flatten();
    let frames = frames.filter_map(|&at| memory.frames.get(at));
    let words = frames.flat_map(|frame| match frame.lines.as_slice() {
        [] => vec![lines::address(memory, frame)],
        all => all.iter().map(|line| lines::call(memory, frame, line)).collect(),
    });
    words.collect::<Vec<_>>().join(" < ")
}

/// By how many bytes a step a line grew since that step, if it did in the second half of the time as well: room is doubled at
/// a time, which is at least once in that half.
fn course(memory: &LiveMemory, line: &LiveLine, from_step: u64) -> Option<f64> {
    let last_step = memory.step?;
    let mut points: Vec<(u64, u64)> = memory
        .moments
        .iter()
        .enumerate()
        .filter_map(|(at, moment)| Some((moment.step?, at)))
        .filter(|(step, _)| (from_step..=last_step).contains(step))
        .map(|(step, at)| {
            let own = line
                .stacks
                .iter()
                .filter_map(|&stack| memory.courses.get(&(line.section.clone(), stack))?.get(at).copied());
            (step, own.fold(0, u64::saturating_add))
        })
        .collect();
    // Of several moments of one step the last one.
    points.reverse();
    points.dedup_by_key(|(step, _)| *step);
    points.reverse();
    let (&(first_step, first), &(end_step, end)) = points.first().zip(points.last())?;
    let middle = points.iter().rev().find(|(step, _)| *step <= first_step.midpoint(end_step))?;
    let grows = points.len() >= LEAST_MOMENTS && first <= middle.1 && middle.1 < end;
    let steps = end_step.checked_sub(first_step).filter(|&steps| grows && steps > 0)?;
    Some(end.saturating_sub(first) as f64 / steps as f64)
}

/// Steps since that one as the process counts them, of all modes.
fn window(memory: &LiveMemory, from_step: u64) -> u64 {
    let Some((first, last)) = memory.first_step.zip(memory.step) else { return memory.steady_steps };
    let number = |from: u64| u128::from(last.saturating_sub(from).saturating_add(1));
    let since = number(from_step.max(first)) * u128::from(memory.steps) / number(first);
    u64::try_from(since).unwrap_or(memory.steps).min(memory.steps)
}
