//! Sums that a process kept of more call paths than it has room for: one for all of them, under `(other)`. Spans show
//! some of these calls under their own paths, and what has a row of its own is not counted here, too.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::histogram::midpoint;
use stepscope_core::path::OTHER;
use stepscope_core::{Distribution, Histogram};

use super::aggregates::Total;
use crate::paths::{PathTree, ROOT};
use crate::sections::{SectionAcc, Sections};

/// What is left of the sums under `(other)` while sections take what is theirs.
pub(super) struct Shared {
    rest: Option<Total>,
    /// Paths with calls that were counted there. What was called inside of such a call was not counted at all.
    entered: BTreeSet<u32>,
}

impl Shared {
    /// Takes the sums out of all. Nothing where spans have such a path themselves: a section may be called so.
    pub(super) fn of(totals: &mut BTreeMap<String, Total>, sections: &Sections) -> Self {
        let tree = sections.tree();
        let is_so_called = |path: u32| path == ROOT || (tree.depth(path) == 1 && tree.name(path) == OTHER);
        let is_of_spans =
            sections.sorted().any(|(path, acc)| is_so_called(path) && acc.durations.count() > 0);
        let rest = if is_of_spans { None } else { totals.remove(OTHER) };
        Self { rest, entered: BTreeSet::new() }
    }

    /// Takes off the calls of a path that its own sums do not have; whether there are some. To be asked of paths before
    /// those inside of them.
    pub(super) fn take(
        &mut self,
        tree: &PathTree,
        path: u32,
        acc: &SectionAcc,
        total: Option<&Total>,
    ) -> bool {
        let Some(rest) = &mut self.rest else { return false };
        let counted = total.map_or(0, |total| total.moments.count);
        let is_inside = self.entered.contains(&tree.parent(path));
        if !is_inside && acc.durations.count() <= counted {
            return false;
        }
        self.entered.insert(path);
        if !is_inside {
            rest.take_off(&acc.durations.0, total);
        }
        true
    }

    /// The sums of calls that no span shows, by their path.
    pub(super) fn rest(self) -> Option<(String, Total)> {
        self.rest.filter(|rest| rest.moments.count > 0).map(|rest| (OTHER.to_owned(), rest))
    }
}

impl Total {
    /// Takes off those of `calls` that are not in `counted`. The shortest and the longest are known as buckets are then,
    /// and what the rest did itself is not.
    fn take_off(&mut self, calls: &Distribution, counted: Option<&Self>) {
        let (theirs, none) = (calls.moments(), Self::default());
        let counted = counted.unwrap_or(&none);
        let less = |all: u64, taken: u64, known: u64| all.saturating_sub(taken.saturating_sub(known));
        let less_of = |all: u128, taken: u128, known: u128| all.saturating_sub(taken.saturating_sub(known));
        let (mine, known) = (&mut self.moments, &counted.moments);
        mine.count = less(mine.count, theirs.count, known.count);
        mine.sum = less_of(mine.sum, theirs.sum, known.sum);
        mine.sum_of_squares = less_of(mine.sum_of_squares, theirs.sum_of_squares, known.sum_of_squares);
        let taken = histogram(calls);
        let by_index = |histogram: &Histogram| histogram.buckets().collect::<BTreeMap<i32, u64>>();
        let (taken_of, known_of) = (by_index(&taken), by_index(&counted.histogram));
        let in_bucket = |of: &BTreeMap<i32, u64>, index| of.get(&index).copied().unwrap_or(0);
        let mut rest = Histogram::default();
        rest.add_zeros(less(self.histogram.zeros(), taken.zeros(), counted.histogram.zeros()));
        for (index, count) in self.histogram.buckets() {
            rest.add_to_bucket(index, less(count, in_bucket(&taken_of, index), in_bucket(&known_of, index)));
        }
        let end = |index| Some(midpoint(index).clamp(mine.min, mine.max.max(mine.min)));
        let indices: Vec<i32> = rest.buckets().map(|(index, _)| index).collect();
        let least = if rest.zeros() > 0 { Some(0) } else { indices.first().copied().and_then(end) };
        let most = indices.last().copied().and_then(end);
        (mine.min, mine.max) = (least.unwrap_or(mine.min), most.unwrap_or(mine.max));
        self.histogram = rest;
        self.self_busy_ns = None;
        self.memory = None;
    }
}

/// The values of a distribution in buckets, however few.
fn histogram(of: &Distribution) -> Histogram {
    let (_, values, buckets) = of.parts();
    let mut histogram = buckets.map(|buckets| buckets.into_owned()).unwrap_or_default();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}
