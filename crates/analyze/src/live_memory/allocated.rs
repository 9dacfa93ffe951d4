//! What was allocated by sample, freed or not, by section and line: who makes the work of allocating. What of it is live is told beside.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Amounts, ROWS, lines, symbols};
use crate::accumulate::{Merge, keep_smallest};
use crate::summary::{AllocatedLine, LiveMemory, SourceLine};

/// What a process has allocated, as its last moment says: figures are cumulative, and a row may be among the largest once only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AllocatedSamples {
    time_ns: u64,
    /// By hash of the path and number of the stack; the rest has neither.
    pub(crate) rows: BTreeMap<(u64, Option<u64>), Amounts>,
}

impl AllocatedSamples {
    /// Adds a row of a moment.
    pub(super) fn add(&mut self, time_ns: u64, key: (u64, Option<u64>), amounts: Amounts) {
        self.absorb(&Self { time_ns, rows: BTreeMap::from([(key, amounts)]) });
    }
}

impl Merge for AllocatedSamples {
    fn absorb(&mut self, other: &Self) {
        if other.time_ns > self.time_ns {
            self.clone_from(other);
        } else if other.time_ns == self.time_ns {
            self.rows.absorb(&other.rows);
            keep_smallest(&mut self.rows, ROWS);
        }
    }
}

/// The lines that have allocated most, largest first.
pub(super) fn lines(memory: &LiveMemory) -> Vec<AllocatedLine> {
    let mut lines: BTreeMap<(Option<&str>, String, Option<usize>), AllocatedLine> = BTreeMap::new();
    // The rest has no stack, and without stacks a section stands for itself.
    for row in memory.allocated_rows.iter().filter(|row| row.section.is_some() || row.stack.is_some()) {
        let unknown = || (lines::UNKNOWN.to_owned(), SourceLine::default());
        let (place, source) = row.stack.map_or_else(unknown, |stack| lines::place(memory, stack));
        let stack = if source.file.is_none() { row.stack } else { None };
        let line = lines.entry((row.section.as_deref(), place, stack)).or_default();
        line.function = line.function.take().or(source.function);
        line.bytes = line.bytes.saturating_add(row.bytes);
        line.blocks = line.blocks.saturating_add(row.blocks);
    }
    let told = lines.into_iter().map(|((section, place, _), line)| AllocatedLine {
        section: section.map(str::to_owned),
        section_place: section.and_then(|section| memory.sections.get(section).cloned()),
        place,
        ..line
    });
    let mut lines: Vec<AllocatedLine> = told.collect();
    // Lines are in the order of their keys, and this sort is stable.
    lines.sort_by_key(|line| Reverse(line.bytes));
    lines
}

impl LiveMemory {
    /// The line of a section that allocates most by `of`, with its part of all that the section allocates itself; none where samples
    /// are few.
    pub(crate) fn allocates_most(
        &self,
        section: &str,
        of: fn(&AllocatedLine) -> u64,
    ) -> Option<(&AllocatedLine, f64)> {
        let own = || self.allocated.iter().filter(|line| line.section.as_deref() == Some(section));
        let all = own().map(of).fold(0u64, u64::saturating_add);
        let most = own().filter(|line| line.place != lines::UNKNOWN).max_by_key(|line| of(line))?;
        let is_known = most.bytes >= self.period_bytes.saturating_mul(FEW);
        (is_known && all > 0).then(|| (most, of(most) as f64 / all as f64))
    }
}

/// Samples below which a line may be the largest by chance.
const FEW: u64 = 8;

impl AllocatedLine {
    /// The line in words: ``src/cache.rs:88 (CacheMap::insert)``.
    pub(crate) fn words(&self) -> String {
        match self.function.as_deref().map(symbols::short_function) {
            Some(function) => format!("{} ({function})", self.place),
            None => self.place.clone(),
        }
    }
}
