//! What a generated run holds, known from its making.

use std::collections::{BTreeMap, HashMap};

use stepscope_core::{Histogram, Moments, PathId, PathTable, Phase, SectionKind};

use super::plan::{Memory, Plan};

/// Figures of one call path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathTruth {
    /// Durations.
    pub moments: Moments,
    /// Their sum without those inside a section of the same path.
    pub total_ns: u128,
    /// Sum of the time not covered by sections inside.
    pub self_ns: u128,
    /// Sum of the time entered without sections entered inside on the same thread.
    pub self_busy_ns: u128,
    /// Durations in buckets.
    pub histogram: Histogram,
    /// Bytes allocated, sections inside included.
    pub alloc_bytes: u64,
    /// Bytes freed, sections inside included.
    pub free_bytes: u64,
    /// Allocations, sections inside included.
    pub alloc_count: u64,
    /// Bytes allocated by the section itself.
    pub self_alloc_bytes: u64,
    /// Bytes freed by the section itself.
    pub self_free_bytes: u64,
    pub(super) phase: Option<Phase>,
    pub(super) kind: Option<SectionKind>,
}

impl PathTruth {
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.self_busy_ns += other.self_busy_ns;
        self.histogram.merge(&other.histogram);
        self.alloc_bytes += other.alloc_bytes;
        self.free_bytes += other.free_bytes;
        self.alloc_count += other.alloc_count;
        self.self_alloc_bytes += other.self_alloc_bytes;
        self.self_free_bytes += other.self_free_bytes;
        self.phase = self.phase.or(other.phase);
        self.kind = self.kind.or(other.kind);
    }
}

/// Figures of a generated run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// Spans, the markers of runs and epochs included.
    pub spans: u64,
    /// Of those, markers.
    pub markers: u64,
    /// Traces.
    pub traces: u64,
    /// Training steps, over all ranks.
    pub train_steps: u64,
    /// Evaluation steps, over all ranks.
    pub eval_steps: u64,
    /// Batches made.
    pub batches: u64,
    /// By call path.
    pub paths: BTreeMap<String, PathTruth>,
}

impl Truth {
    /// Adds another process.
    pub(super) fn merge(&mut self, other: &Self) {
        self.spans += other.spans;
        self.markers += other.markers;
        self.traces += other.traces;
        self.train_steps += other.train_steps;
        self.eval_steps += other.eval_steps;
        self.batches += other.batches;
        for (path, theirs) in &other.paths {
            self.paths.entry(path.clone()).or_default().merge(theirs);
        }
    }
}

/// Collects the sums of one process by interned path.
#[derive(Debug)]
pub(super) struct Ledger {
    table: PathTable,
    known: HashMap<(PathId, &'static str), PathId>,
    sums: Vec<PathTruth>,
    of_sections: Vec<PathId>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            table: PathTable::new(1 << 20),
            known: HashMap::new(),
            sums: Vec::new(),
            of_sections: Vec::new(),
        }
    }

    /// Adds every section of a completed plan; the root only if it has ended.
    pub(super) fn add(&mut self, plan: &Plan, root_has_ended: bool) {
        self.of_sections.clear();
        for section in &plan.sections {
            let parent = section.parent.map_or(PathId::ROOT, |parent| self.of_sections[parent]);
            let table = &mut self.table;
            let name = section.name;
            let path = *self.known.entry((parent, name)).or_insert_with(|| table.child(parent, name));
            self.of_sections.push(path);
            if section.parent.is_none() && !root_has_ended {
                continue;
            }
            let slot = path.0 as usize;
            if self.sums.len() <= slot {
                self.sums.resize_with(slot + 1, PathTruth::default);
            }
            let sums = &mut self.sums[slot];
            let duration_ns = section.duration_ns();
            // A section inside one of the same path is a part of that: it adds to self figures only.
            if path != parent {
                sums.moments.record(duration_ns);
                sums.histogram.record(duration_ns);
                sums.total_ns += u128::from(duration_ns);
                let Memory { alloc_bytes, free_bytes, alloc_count, .. } = section.memory;
                sums.alloc_bytes += alloc_bytes;
                sums.free_bytes += free_bytes;
                sums.alloc_count += alloc_count;
            }
            sums.self_ns += u128::from(section.self_ns);
            sums.self_busy_ns += u128::from(section.self_busy_ns);
            sums.self_alloc_bytes += section.own.alloc_bytes;
            sums.self_free_bytes += section.own.free_bytes;
            sums.phase = sums.phase.or(section.phase);
            sums.kind = (section.kind != SectionKind::Section).then_some(section.kind);
        }
    }

    /// The paths used so far, in the order of first use.
    pub(super) fn paths(&self) -> impl Iterator<Item = (String, &PathTruth)> {
        let used = self.sums.iter().enumerate().filter(|(_, sums)| sums.moments.count > 0);
        used.map(|(slot, sums)| (self.table.text(PathId(slot as u32)), sums))
    }

    /// What it holds, by text.
    pub(super) fn into_paths(self) -> BTreeMap<String, PathTruth> {
        self.paths().map(|(path, sums)| (path, sums.clone())).collect()
    }
}
