//! What grew in live bytes between two steps: the difference of the moments nearest to them, by line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::lines;
use crate::summary::{LiveAt, LiveBetween, LiveChange, LiveMemory, LiveMoment};

/// Steps of moments that a message lists.
const LISTED: usize = 8;

impl LiveMemory {
    /// Compares what was live about these two steps, for the report.
    ///
    /// # Errors
    /// Where no two moments are nearest to them: which there are, in words.
    pub fn compare(&mut self, from_step: u64, to_step: u64) -> Result<(), String> {
        if from_step > to_step {
            return Err(format!("step {from_step} comes after step {to_step}: name the earlier one first"));
        }
        let (from, to) = (nearest(self, from_step), nearest(self, to_step));
        let Some((from, to)) = from.zip(to) else {
            return Err("the snapshots of live memory are of no known steps".into());
        };
        if from.0 == to.0 {
            let mut steps: Vec<u64> = self.moments.iter().filter_map(|moment| moment.step).collect();
            steps.dedup();
            let listed: Vec<String> = steps.iter().take(LISTED).map(ToString::to_string).collect();
            let more = if steps.len() > LISTED { ", …" } else { "" };
            return Err(format!(
                "one snapshot is nearest to both steps {from_step} and {to_step}: there are those of steps {}{more}",
                listed.join(", ")
            ));
        }
        let at = |asked_step, (_, moment, step): (usize, &LiveMoment, u64)| LiveAt {
            asked_step,
            step,
            time_ns: moment.time_ns,
            bytes: moment.bytes,
        };
        let lines = changes(self, from.0, to.0);
        let (from, to) = (at(from_step, from), at(to_step, to));
        let change_bytes = difference(from.bytes, to.bytes);
        let told = lines.iter().fold(0i64, |sum, line| sum.saturating_add(line.change_bytes));
        let other_change_bytes = change_bytes.saturating_sub(told);
        self.between = Some(LiveBetween { from, to, change_bytes, lines, other_change_bytes });
        Ok(())
    }
}

/// The moment nearest to a step, of two the earlier one: its place and its step.
fn nearest(memory: &LiveMemory, step: u64) -> Option<(usize, &LiveMoment, u64)> {
    let moments = memory.moments.iter().enumerate().filter(|(_, moment)| !memory.gave_back(moment));
    let known = moments.filter_map(|(at, moment)| Some((at, moment, moment.step?)));
    known.min_by_key(|(.., own)| own.abs_diff(step))
}

/// Who calls the helper of a line that is one.
fn caller(memory: &LiveMemory, section: Option<&str>, place: &str) -> Option<String> {
    let mut own = memory.lines.iter().filter(|line| line.section.as_deref() == section);
    own.find(|line| line.place == place)?.caller.clone()
}

fn difference(from: u64, to: u64) -> i64 {
    i64::try_from(to).unwrap_or(i64::MAX).saturating_sub(i64::try_from(from).unwrap_or(i64::MAX))
}

/// What lines held at both moments, those that grew most first; without those that did not change.
fn changes(memory: &LiveMemory, from: usize, to: usize) -> Vec<LiveChange> {
    let mut all: BTreeMap<(Option<&str>, String), LiveChange> = BTreeMap::new();
    for ((section, stack), course) in &memory.courses {
        let held = |at: usize| course.get(at).map_or(0, |held| held.bytes);
        let (place, source) = lines::place(memory, *stack);
        let change = all.entry((section.as_deref(), place.clone())).or_insert_with(|| LiveChange {
            section: section.clone(),
            section_place: section.as_ref().and_then(|section| memory.sections.get(section).cloned()),
            caller: caller(memory, section.as_deref(), &place),
            place,
            function: source.function,
            from_bytes: 0,
            to_bytes: 0,
            change_bytes: 0,
        });
        change.from_bytes = change.from_bytes.saturating_add(held(from));
        change.to_bytes = change.to_bytes.saturating_add(held(to));
    }
    let mut changes: Vec<LiveChange> = all
        .into_values()
        .map(|change| LiveChange { change_bytes: difference(change.from_bytes, change.to_bytes), ..change })
        .filter(|change| change.change_bytes != 0)
        .collect();
    // Equal ones stay in the order of their sections and places.
    changes.sort_by_key(|change| Reverse(change.change_bytes));
    changes
}
