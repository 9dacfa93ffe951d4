//! What sections left allocated, over the steps: bytes allocated less bytes freed by each call path itself, as points
//! of steps. What no numbered step holds is kept by the time at which it ended; which step that was is told at the end,
//! when all steps are known.

pub(crate) mod finish;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::accumulate::Merge;
use crate::accumulate::path_sums::ByPath;
use crate::accumulate::step_series::{StepIndex, StepSeries};
use crate::config::Bounds;
use crate::sections::paths::PathTree;

/// Identity of sections that are not told apart.
pub(crate) const OTHER: u64 = 0;

/// What the sections of one group left allocated. Empty between groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetAllocations {
    by_path: ByPath<i64>,
    /// Of sections without a known path.
    pub(crate) unplaced: i64,
}

impl NetAllocations {
    /// Adds what a section left allocated.
    pub(crate) fn add(&mut self, path: u32, net: i64) {
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

/// What was left allocated in the steps of one point, or in one stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RetainedPoint {
    /// The last end of what is in it.
    pub(crate) until_ns: u64,
    /// By the identity of the section, in order, without zeros. Sums wrap, so that their order does not matter.
    pub(crate) nets: Vec<(u64, i64)>,
}

impl RetainedPoint {
    fn add(&mut self, id: u64, net: i64) {
        match self.nets.binary_search_by_key(&id, |&(other, _)| other) {
            Ok(at) => {
                let sum = self.nets.get(at).map_or(net, |&(_, sum)| sum.wrapping_add(net));
                match self.nets.get_mut(at).filter(|_| sum != 0) {
                    Some(mine) => mine.1 = sum,
                    None => drop(self.nets.remove(at)),
                }
            }
            Err(at) if net != 0 => self.nets.insert(at, (id, net)),
            Err(_) => {}
        }
    }

    /// Moves what a section holds to the others.
    fn give_up(&mut self, id: u64) {
        if let Ok(at) = self.nets.binary_search_by_key(&id, |&(other, _)| other) {
            let (_, net) = self.nets.remove(at);
            self.add(OTHER, net);
        }
    }
}

impl Merge for RetainedPoint {
    fn absorb(&mut self, other: &Self) {
        self.until_ns = self.until_ns.max(other.until_ns);
        other.nets.iter().for_each(|&(id, net)| self.add(id, net));
    }
}

/// What the sections of a run left allocated. Of more sections than are kept those with the smallest identities stay,
/// the others are counted together; and points hold more steps the more sections there are, so that both bounds depend
/// on the set of sections only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RetainedMemory {
    /// Identities of the sections that are told apart.
    ids: BTreeSet<u64>,
    /// Whether a path of the run is one of them, so that paths are looked up once.
    #[serde(skip)]
    known: Vec<bool>,
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

    /// Adds the sections of a group that ended at `until_ns`: of a step where it says so. Leaves `nets` empty.
    pub(crate) fn add(
        &mut self,
        step: Option<(usize, StepIndex)>,
        until_ns: u64,
        nets: &mut NetAllocations,
        tree: &PathTree,
        bounds: &Bounds,
    ) {
        let is_known = |known: &[bool], path: u32| known.get(path as usize).copied().unwrap_or(false);
        // All of them before any is looked up: one may take another's place.
        for (path, _) in nets.by_path.iter() {
            if !is_known(&self.known, path) && self.admit(tree.id(path), bounds) {
                self.known.resize(self.known.len().max(path as usize + 1), false);
                self.known.get_mut(path as usize).into_iter().for_each(|known| *known = true);
            }
        }
        let bound = self.bound(bounds);
        let (points, place) = match step.and_then(|(mode, place)| Some((self.steps.get_mut(mode)?, place))) {
            Some(found) => found,
            None => (&mut self.elsewhere, StepIndex { epoch: None, step: until_ns }),
        };
        let (ids, known) = (&self.ids, &self.known);
        points.with(place, bound, |point| {
            point.until_ns = point.until_ns.max(until_ns);
            point.add(OTHER, std::mem::take(&mut nets.unplaced));
            for (path, net) in nets.by_path.drain() {
                let id = tree.id(path);
                let is_kept = is_known(known, path) || ids.contains(&id);
                point.add(if is_kept { id } else { OTHER }, net);
            }
        });
    }

    /// Whether a section is told apart: where there are enough, one of the largest identity gives way to it. One that went
    /// has enough smaller ones beside it, which stay: it would go in any other order as well.
    fn admit(&mut self, id: u64, bounds: &Bounds) -> bool {
        if !self.ids.insert(id) {
            return true;
        }
        let mut gone = None;
        if self.ids.len() > bounds.memory_sections {
            gone = self.ids.pop_last();
            self.known.clear();
        }
        let bound = self.bound(bounds);
        for points in self.steps.iter_mut().chain([&mut self.elsewhere]) {
            if let Some(gone) = gone.filter(|&gone| gone != id) {
                points.points.values_mut().for_each(|point| point.give_up(gone));
            }
            points.enforce(bound);
        }
        gone != Some(id)
    }

    /// Points that a series may have with as many sections as there are.
    fn bound(&self, bounds: &Bounds) -> usize {
        (bounds.memory_cells / self.ids.len().max(1)).min(bounds.phase_points)
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bounds: &Bounds) {
        for &id in &other.ids {
            self.admit(id, bounds);
        }
        let gone: Vec<u64> = other.ids.difference(&self.ids).copied().collect();
        let bound = self.bound(bounds);
        let theirs = other.steps.iter().chain([&other.elsewhere]);
        for (mine, theirs) in self.steps.iter_mut().chain([&mut self.elsewhere]).zip(theirs) {
            let mut theirs = theirs.clone();
            theirs.points.values_mut().for_each(|point| gone.iter().for_each(|&id| point.give_up(id)));
            mine.merge(&theirs, bound);
        }
    }
}

#[cfg(test)]
mod tests;
