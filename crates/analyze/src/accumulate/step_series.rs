//! Series over step numbers: as many points as are allowed, each holding `2^shift` numbers. Where numbers run on through
//! epochs, those of one point are in several places, one an epoch, and are put together when they are shown.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::convert::identity;

use serde::{Deserialize, Serialize};

use crate::accumulate::Merge;

/// Where a step is in a series: the steps of an epoch follow those of the epochs before it, whatever their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StepIndex {
    pub(crate) epoch: Option<u64>,
    pub(crate) step: u64,
}

impl StepIndex {
    /// In the order of places.
    pub(crate) fn key(self) -> Key {
        (self.epoch.unwrap_or(0), self.step)
    }

    /// A place with that key.
    pub(crate) const fn of_key((epoch, step): Key) -> Self {
        Self { epoch: Some(epoch), step }
    }
}

/// Epoch (0 for none) and step, the latter without its last bits.
pub(crate) type Key = (u64, u64);

/// A key with `by` bits less than at `shift`: of the step while it has any, then of the epoch.
fn coarser((epoch, step): Key, shift: u32, by: u32) -> Key {
    let of_step = by.min(u64::BITS.saturating_sub(1).saturating_sub(shift));
    (epoch.checked_shr(by - of_step).unwrap_or(0), if of_step < by { 0 } else { step >> of_step })
}

/// Step numbers that a point of a series with this shift can hold.
pub(crate) const fn numbers(shift: u32) -> u64 {
    1 << if shift < 63 { shift } else { 63 }
}

/// Places beyond the bound that a series may have for numbers that run on through epochs: so many times the bound, and
/// never more than this many.
const MORE_TIMES: usize = 8;
const MORE: usize = 8_192;

/// A series. The shift is the smallest that keeps the number of points within the bound: of places, or of numbers where
/// these run on from epoch to epoch and the places are no more than [`MORE`] above it. More steps can only raise it, so it
/// depends on the set of places only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StepSeries<T> {
    pub(crate) shift: u32,
    /// On the heap: steps come in order, which leaves nodes of the map little more than half full, and points are large.
    pub(crate) points: BTreeMap<Key, Box<T>>,
    #[serde(skip)]
    order: Option<Order>,
}

/// What is known of the keys of a series as they follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    /// Whether no epoch begins below the last number of the one before.
    runs_on: bool,
    /// Keys with the number of the one before. Means nothing where numbers do not run on.
    same: usize,
}

impl Order {
    fn of<'a>(keys: impl Iterator<Item = &'a Key>) -> Self {
        let mut order = Self { runs_on: true, same: 0 };
        let mut last = None;
        for &(_, step) in keys {
            order.runs_on &= last <= Some(step);
            order.same += usize::from(last == Some(step));
            last = Some(step);
        }
        order
    }

    /// With one more between two that follow each other.
    fn with(self, before: Option<u64>, step: u64, after: Option<u64>) -> Self {
        let runs_on = self.runs_on
            && before.is_none_or(|before| before <= step)
            && after.is_none_or(|after| step <= after);
        let parted = usize::from(before.is_some() && before == after);
        let same = usize::from(before == Some(step)) + usize::from(after == Some(step));
        Self { runs_on, same: (self.same + same).saturating_sub(parted) }
    }
}

impl<T> Default for StepSeries<T> {
    fn default() -> Self {
        Self { shift: 0, points: BTreeMap::new(), order: None }
    }
}

impl<T> StepSeries<T> {
    /// Has to be told of a key before it is added.
    fn expect(&mut self, key: Key) {
        let Some(order) = self.order.filter(|order| order.runs_on) else { return };
        if !self.points.contains_key(&key) {
            let step = |key: Option<&Key>| key.map(|&(_, step)| step);
            let before = step(self.points.range(..key).next_back().map(|(key, _)| key));
            let after = step(self.points.range(key..).next().map(|(key, _)| key));
            self.order = Some(order.with(before, key.1, after));
        }
    }

    fn fits(&mut self, bound: usize) -> bool {
        let places = self.points.len();
        if places <= bound {
            return true;
        }
        let order = *self.order.get_or_insert_with(|| Order::of(self.points.keys()));
        let most = bound.saturating_add(bound.saturating_mul(MORE_TIMES).min(MORE));
        order.runs_on && places.saturating_sub(order.same) <= bound && places <= most
    }
}

impl<T: Merge + Clone> StepSeries<T> {
    /// Adds `value` at `place`.
    pub(crate) fn add(&mut self, place: StepIndex, value: &T, bound: usize) {
        self.put(coarser(place.key(), 0, self.shift), value, |value| Box::new(value.clone()));
        self.enforce(bound);
    }

    /// Adds every point of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        self.coarsen(other.shift);
        let finer = self.shift.saturating_sub(other.shift);
        for (&key, value) in &other.points {
            self.put(coarser(key, other.shift, finer), value.as_ref(), |value| Box::new(value.clone()));
        }
        self.enforce(bound);
    }

    /// Changes the point of `place`.
    pub(crate) fn with(&mut self, place: StepIndex, bound: usize, change: impl FnOnce(&mut T))
    where
        T: Default,
    {
        let key = coarser(place.key(), 0, self.shift);
        self.expect(key);
        change(self.points.entry(key).or_default());
        self.enforce(bound);
    }

    fn put<V: Borrow<T>>(&mut self, key: Key, value: V, keep: impl FnOnce(V) -> Box<T>) {
        self.expect(key);
        match self.points.entry(key) {
            Entry::Occupied(mut mine) => mine.get_mut().absorb(value.borrow()),
            Entry::Vacant(place) => {
                place.insert(keep(value));
            }
        }
    }

    /// Makes points hold more steps until there are few enough.
    pub(crate) fn enforce(&mut self, bound: usize) {
        while !self.fits(bound.max(2)) {
            self.coarsen(self.shift + 1);
        }
    }

    fn coarsen(&mut self, shift: u32) {
        let by = shift.saturating_sub(self.shift);
        if by > 0 {
            let before = std::mem::replace(&mut self.shift, shift);
            self.order = None;
            for (key, value) in std::mem::take(&mut self.points) {
                self.put(coarser(key, before, by), value, identity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::steps::step_point::StepPoint;

    fn at(step: u64) -> StepIndex {
        StepIndex { epoch: None, step }
    }

    fn point(value: u64) -> StepPoint {
        StepPoint {
            count: 1,
            sum_ns: value,
            min_ns: Some(value),
            max_ns: Some(value),
            ..StepPoint::default()
        }
    }

    #[test]
    fn of_many_epochs_the_last_ones_go_together() {
        let mut series = StepSeries::default();
        for epoch in 0..1_000 {
            series.add(StepIndex { epoch: Some(epoch), step: epoch % 7 }, &point(epoch), 10);
        }
        // No more than 90.
        assert_eq!(series.shift, 63 + 4);
        let counts: Vec<_> = series.points.iter().map(|(&key, point)| (key, point.count)).collect();
        assert_eq!(counts[0], ((0, 0), 16));
        assert_eq!((counts.len(), counts[62]), (63, ((62, 0), 8)));
        let mut late = StepSeries::default();
        late.add(StepIndex { epoch: Some(999), step: u64::MAX }, &point(1), 10);
        late.merge(&series, 10);
        assert_eq!((late.shift, late.points[&(62, 0)].count), (67, 9));
    }

    /// The shift by its definition: the least by which all fit.
    fn least_shift(places: &[(u64, u64)], bound: usize) -> u32 {
        let fits = |shift: &u32| {
            let keys: BTreeSet<Key> = places.iter().map(|&place| coarser(place, 0, *shift)).collect();
            let steps: Vec<u64> = keys.iter().map(|key| key.1).collect();
            let numbers = steps.iter().collect::<BTreeSet<_>>().len();
            keys.len() <= bound || steps.is_sorted() && numbers <= bound && keys.len() <= 9 * bound
        };
        (0..).find(fits).unwrap()
    }

    proptest! {
        #[test]
        fn the_shift_depends_on_the_places_only(
            epochs in proptest::collection::vec((0u64..40, 0u64..60), 1..120),
            runs_on in any::<bool>(),
            odd in proptest::option::of(0usize..120),
            cut in 0usize..120,
            bound in 2usize..12,
        ) {
            let mut places: Vec<(u64, u64)> =
                epochs.iter().map(|&(epoch, step)| (epoch, if runs_on { epoch * 60 + step } else { step })).collect();
            if let Some(odd) = odd.and_then(|odd| places.get_mut(odd)) {
                odd.1 = 7;
            }
            let of = |places: &[(u64, u64)]| {
                let mut series = StepSeries::default();
                for &(epoch, step) in places {
                    series.add(StepIndex { epoch: Some(epoch), step }, &point(1), bound);
                }
                series
            };
            let all = of(&places);
            prop_assert_eq!(all.shift, least_shift(&places, bound));
            let (first, last) = places.split_at(cut.min(places.len()));
            // As read from a file, which does not tell of its order.
            let (mut first, mut last) = (StepSeries { order: None, ..of(first) }, of(last));
            first.merge(&last, bound);
            prop_assert_eq!((first.shift, &first.points), (all.shift, &all.points));
            places.reverse();
            last.merge(&of(&places), bound);
            prop_assert_eq!(last.shift, all.shift);
        }
    }

    #[test]
    fn step_numbers_at_the_limit_are_two_points_at_least() {
        let mut series = StepSeries::default();
        for step in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            series.add(at(step), &point(1), 0);
        }
        assert_eq!(series.shift, 63);
        assert_eq!(series.points.len(), 2);
    }
}
