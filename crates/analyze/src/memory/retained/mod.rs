//! What sections left allocated, over the steps: bytes allocated less bytes freed by each call path itself, as points
//! of steps. What no numbered step holds is kept by the time at which it ended; which step that was is told at the end,
//! when all steps are known.

pub(crate) mod finish;
pub(crate) mod wire;

use std::collections::BTreeMap;

use crate::accumulate::Merge;
use crate::accumulate::path_sums::ByPath;
use crate::accumulate::step_series::{StepIndex, StepSeries};
use crate::config::Bounds;
use crate::sections::paths::PathTree;

/// The column of sections that are not told apart.
const OTHER: u32 = 0;

/// What the sections of one group left allocated. Empty between groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetAllocations {
    by_path: ByPath<i128>,
    /// Of sections without a known path.
    pub(crate) unplaced: i128,
}

impl NetAllocations {
    /// Adds what a section left allocated.
    pub(crate) fn add(&mut self, path: u32, net: i128) {
        self.by_path.add(path, |sum| sum.wrapping_add(net));
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_path.is_empty() && self.unplaced == 0
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.by_path.clear();
        self.unplaced = 0;
    }
}

/// What a column of a point holds. Apart from the alignment of such integers: there are a great many of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    column: u32,
    net: [u8; 16],
}

impl Cell {
    const fn new(column: u32, net: i128) -> Self {
        Self { column, net: net.to_ne_bytes() }
    }

    const fn net(self) -> i128 {
        i128::from_ne_bytes(self.net)
    }
}

/// What was left allocated in the steps of one point, or in one stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RetainedPoint {
    /// The last end of what is in it.
    pub(crate) until_ns: u64,
    /// By column, in order: no longer than what was read, whatever columns bytes name. Sums wrap, so that their order
    /// does not matter.
    nets: Vec<Cell>,
}

impl RetainedPoint {
    fn add(&mut self, column: u32, net: i128) {
        match self.nets.binary_search_by_key(&column, |cell| cell.column) {
            Ok(at) => {
                if let Some(cell) = self.nets.get_mut(at) {
                    *cell = Cell::new(column, cell.net().wrapping_add(net));
                }
            }
            Err(at) => self.nets.insert(at, Cell::new(column, net)),
        }
    }

    /// Moves what a column holds to the others.
    fn give_up(&mut self, column: u32) {
        if let Ok(at) = self.nets.binary_search_by_key(&column, |cell| cell.column) {
            let cell = self.nets.remove(at);
            self.add(OTHER, cell.net());
        }
    }

    /// Columns that are not zero.
    pub(crate) fn nets(&self) -> impl Iterator<Item = (u32, i128)> {
        self.nets.iter().map(|cell| (cell.column, cell.net())).filter(|&(_, net)| net != 0)
    }
}

impl Merge for RetainedPoint {
    fn absorb(&mut self, other: &Self) {
        self.until_ns = self.until_ns.max(other.until_ns);
        other.nets().for_each(|(column, net)| self.add(column, net));
    }
}

/// What the sections of a run left allocated. Of more sections than are kept those with the smallest identities stay,
/// the others are counted together; and points hold more steps the more sections there are, so that both bounds depend
/// on the set of sections only.
#[derive(Debug, Clone, Default)]
pub(crate) struct RetainedMemory {
    /// Columns by identity; [`OTHER`] is none of them.
    columns: BTreeMap<u64, u32>,
    /// Column of each path of the run, so that paths are looked up once; [`OTHER`] where it is not known yet.
    known: Vec<u32>,
    /// By mode, at the places of steps.
    steps: [StepSeries<RetainedPoint>; 3],
    /// What is in no numbered step, at its end.
    elsewhere: StepSeries<RetainedPoint>,
}

impl RetainedMemory {
    /// The points of a mode's steps.
    pub(crate) fn of_mode(&self, mode: usize) -> Option<&StepSeries<RetainedPoint>> {
        self.steps.get(mode).filter(|points| !points.points.is_empty())
    }

    /// Stretches of time of what is in no step of `mode` that has a number.
    pub(crate) fn beside(&self, mode: usize) -> impl Iterator<Item = &RetainedPoint> {
        let others = self.steps.iter().enumerate().filter(move |&(other, _)| other != mode);
        let others = others.flat_map(|(_, points)| points.points.values());
        others.chain(self.elsewhere.points.values()).map(Box::as_ref)
    }

    /// Identities of the sections that are told apart, by column.
    pub(crate) fn columns(&self) -> BTreeMap<u32, u64> {
        self.columns.iter().map(|(&id, &column)| (column, id)).collect()
    }

    /// Adds the sections of a group that ended at `until_ns`: of a step where it says so. Leaves `nets` empty.
    pub(crate) fn add(
        &mut self,
        step: Option<(usize, StepIndex)>,
        until_ns: u64,
        nets: &mut NetAllocations,
        tree: &PathTree,
        bounds: &Bounds,
    ) {
        // All of them before any is looked up: one may take another's place.
        for (path, _) in nets.by_path.iter() {
            if self.known.get(path as usize).is_none_or(|&column| column == OTHER) {
                self.meet(tree, path, bounds);
            }
        }
        let bound = self.bound(bounds);
        let (points, place) = match step.and_then(|(mode, place)| Some((self.steps.get_mut(mode)?, place))) {
            Some(found) => found,
            None => (&mut self.elsewhere, StepIndex { epoch: None, step: until_ns }),
        };
        let (columns, known) = (&self.columns, &self.known);
        points.with(place, bound, |point| {
            point.until_ns = point.until_ns.max(until_ns);
            if nets.unplaced != 0 {
                point.add(OTHER, std::mem::take(&mut nets.unplaced));
            }
            for (path, net) in nets.by_path.drain() {
                let column = known.get(path as usize).copied().filter(|&column| column != OTHER);
                let column = column.or_else(|| columns.get(&tree.id(path)).copied());
                point.add(column.unwrap_or(OTHER), net);
            }
        });
    }

    /// Gives a path a column, if it is one of those that have one.
    #[cold]
    fn meet(&mut self, tree: &PathTree, path: u32, bounds: &Bounds) {
        let id = tree.id(path);
        if let Some(column) = self.admit(id, bounds) {
            let index = path as usize;
            if index >= self.known.len() {
                self.known.resize(index + 1, OTHER);
            }
            if let Some(slot) = self.known.get_mut(index) {
                *slot = column;
            }
        }
    }

    /// The column of an identity: a new one, or that of the largest identity where there are enough; none where it is
    /// itself too large. One that went has enough smaller ones beside it, which stay: it would go in any other order as
    /// well.
    fn admit(&mut self, id: u64, bounds: &Bounds) -> Option<u32> {
        if let Some(&column) = self.columns.get(&id) {
            return Some(column);
        }
        let next = u32::try_from(self.columns.len() + 1).ok();
        let column = if let Some(next) = next.filter(|_| self.columns.len() < bounds.memory_sections) {
            next
        } else {
            let (&largest, &column) = self.columns.last_key_value().filter(|&(&largest, _)| id < largest)?;
            self.columns.remove(&largest);
            let all = self.steps.iter_mut().chain([&mut self.elsewhere]);
            all.flat_map(|points| points.points.values_mut()).for_each(|point| point.give_up(column));
            self.known.clear();
            column
        };
        self.columns.insert(id, column);
        let bound = self.bound(bounds);
        self.steps.iter_mut().chain([&mut self.elsewhere]).for_each(|points| points.enforce(bound));
        Some(column)
    }

    /// Points that a series may have with as many sections as there are.
    fn bound(&self, bounds: &Bounds) -> usize {
        (bounds.memory_cells / self.columns.len().max(1)).min(bounds.phase_points)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bounds: &Bounds) {
        other.columns.keys().for_each(|&id| {
            self.admit(id, bounds);
        });
        let mut columns = vec![OTHER; other.columns.len() + 1];
        for (id, &theirs) in &other.columns {
            if let (Some(slot), Some(&mine)) = (columns.get_mut(theirs as usize), self.columns.get(id)) {
                *slot = mine;
            }
        }
        let moved = |points: &StepSeries<RetainedPoint>| {
            points.map(|point| {
                let mut moved = RetainedPoint { until_ns: point.until_ns, nets: Vec::new() };
                for (column, net) in point.nets() {
                    moved.add(columns.get(column as usize).copied().unwrap_or(OTHER), net);
                }
                moved
            })
        };
        let bound = self.bound(bounds);
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.merge(&moved(theirs), bound);
        }
        self.elsewhere.merge(&moved(&other.elsewhere), bound);
    }
}

#[cfg(test)]
mod tests;
