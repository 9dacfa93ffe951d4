//! Sums that a process kept of more call paths than it has room for: one for all of them, under `(other)`. Spans show
//! some of these calls under their own paths, and what has a row of its own is not counted here, too.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::histogram::midpoint;
use stepscope_core::path::OTHER;
use stepscope_core::{Distribution, Histogram};

use crate::sections::aggregates::finish::Total;
use crate::sections::paths::{PathTree, ROOT};
use crate::sections::{SectionAcc, Sections};

/// The sums under `(other)`, and what sections take of them.
pub(crate) struct Shared {
    all: Option<Total>,
    /// Paths with calls that were counted there. What was called inside of such a call was not counted at all.
    entered: BTreeSet<u32>,
    /// The calls of these paths, and those of them that are in sums of their own.
    taken: Distribution,
    counted: Total,
}

impl Shared {
    /// Takes the sums out of all. Nothing where spans have such a path themselves: a section may be called so.
    pub(crate) fn of(totals: &mut BTreeMap<String, Total>, sections: &Sections) -> Self {
        let tree = sections.tree();
        let is_so_called = |path: u32| path == ROOT || (tree.depth(path) == 1 && tree.name(path) == OTHER);
        let is_of_spans =
            sections.sorted().any(|(path, acc)| is_so_called(path) && acc.durations.count() > 0);
        let all = if is_of_spans { None } else { totals.remove(OTHER) };
        Self { all, entered: BTreeSet::new(), taken: Distribution::default(), counted: Total::default() }
    }

    /// Takes off the calls of a path that its own sums do not have; whether there are some. To be asked of paths before
    /// those inside of them.
    pub(crate) fn take(
        &mut self,
        tree: &PathTree,
        path: u32,
        acc: &SectionAcc,
        total: Option<&Total>,
    ) -> bool {
        if self.all.is_none() {
            return false;
        }
        let counted = total.map_or(0, |total| total.moments.count);
        let is_inside = self.entered.contains(&tree.parent(path));
        if !is_inside && acc.durations.count() <= counted {
            return false;
        }
        self.entered.insert(path);
        if !is_inside {
            self.taken.merge(&acc.durations.0);
            total.into_iter().for_each(|total| self.counted.merge(total));
        }
        true
    }

    /// The sums of calls that no span shows, by their path.
    pub(crate) fn rest(self) -> Option<(String, Total)> {
        let mut rest = self.all?;
        if !self.entered.is_empty() {
            rest.take_off(&self.taken, &self.counted);
        }
        (rest.moments.count > 0).then(|| (OTHER.to_owned(), rest))
    }
}

impl Total {
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }

    /// Takes off those of `calls` that are not in `counted`. The shortest and the longest are known as buckets are then,
    /// and what the rest did itself is not.
    fn take_off(&mut self, calls: &Distribution, counted: &Self) {
        // Adding what is counted elsewhere first, nothing is less than what is taken.
        let (least_ns, most_ns) = (self.moments.min, self.moments.max.max(self.moments.min));
        self.merge(counted);
        let (mine, theirs) = (&mut self.moments, calls.moments());
        mine.count = mine.count.saturating_sub(theirs.count);
        mine.sum = mine.sum.saturating_sub(theirs.sum);
        mine.sum_of_squares = mine.sum_of_squares.saturating_sub(theirs.sum_of_squares);
        let taken = histogram(calls);
        let of: BTreeMap<i32, u64> = taken.buckets().collect();
        let left =
            |(index, count): (i32, u64)| (index, count.saturating_sub(of.get(&index).copied().unwrap_or(0)));
        let buckets: Vec<(i32, u64)> =
            self.histogram.buckets().map(left).filter(|&(_, count)| count > 0).collect();
        let zeros = self.histogram.zeros().saturating_sub(taken.zeros());
        let end =
            |bucket: Option<&(i32, u64)>| bucket.map(|&(index, _)| midpoint(index).clamp(least_ns, most_ns));
        mine.min = if zeros > 0 { 0 } else { end(buckets.first()).unwrap_or(least_ns) };
        mine.max = end(buckets.last()).unwrap_or(most_ns);
        self.histogram = Histogram::default();
        self.histogram.add_zeros(zeros);
        buckets.into_iter().for_each(|(index, count)| self.histogram.add_to_bucket(index, count));
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
