//! The rules by which fields of accumulators merge; `accumulate!` names them.

use std::ops::BitOrAssign;

use super::Merge;

/// An integer that is added without overflow.
pub(crate) trait Saturating: Copy {
    /// The sum, or the largest value.
    fn plus(self, other: Self) -> Self;
}

macro_rules! saturating {
    ($($type:ty),+) => {$(
        impl Saturating for $type {
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.saturating_add(other)
            }
        }
    )+};
}
saturating!(u64, u128, i128);

/// The sum of what is known of two; absent where nothing is.
impl<T: Saturating> Saturating for Option<T> {
    #[inline]
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        }
    }
}

impl<T: Saturating, const N: usize> Saturating for [T; N] {
    fn plus(mut self, other: Self) -> Self {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = mine.plus(theirs));
        self
    }
}

/// Their sum.
#[inline]
pub(crate) fn sum<T: Saturating>(mine: &mut T, theirs: &T) {
    *mine = mine.plus(*theirs);
}

/// The larger one; of an absent one and another, the other.
#[inline]
pub(crate) fn max<T: Ord + Clone>(mine: &mut T, theirs: &T) {
    if *theirs > *mine {
        mine.clone_from(theirs);
    }
}

/// The smaller one.
#[inline]
pub(crate) fn min<T: Ord + Clone>(mine: &mut T, theirs: &T) {
    if *theirs < *mine {
        mine.clone_from(theirs);
    }
}

/// The smaller one; of an absent one and another, the other.
#[inline]
pub(crate) fn least<T: Ord + Clone>(mine: &mut Option<T>, theirs: &Option<T>) {
    if theirs.is_some() && (mine.is_none() || theirs < mine) {
        mine.clone_from(theirs);
    }
}

/// Whether either is.
#[inline]
pub(crate) fn any(mine: &mut bool, theirs: &bool) {
    *mine |= theirs;
}

/// The bits of both.
#[inline]
pub(crate) fn bits<T: BitOrAssign + Copy>(mine: &mut T, theirs: &T) {
    *mine |= *theirs;
}

/// An accumulator of its own.
#[inline]
pub(crate) fn merge<T: Merge>(mine: &mut T, theirs: &T) {
    mine.absorb(theirs);
}

#[cfg(test)]
mod tests {
    use super::super::accumulate;
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    struct Acc {
        count: u64,
        said: Option<u64>,
        first: Option<u64>,
        last: Option<u64>,
        is_cut: bool,
        kinds: u8,
    }

    accumulate!(Acc { sum: count, said; least: first; max: last; any: is_cut; bits: kinds; });

    #[test]
    fn fields_merge_by_their_rules() {
        let one = Acc { count: u64::MAX, said: Some(3), first: Some(5), last: None, is_cut: false, kinds: 1 };
        let other = Acc { count: 2, said: Some(4), first: None, last: Some(7), is_cut: true, kinds: 4 };
        let sum =
            Acc { count: u64::MAX, said: Some(7), first: Some(5), last: Some(7), is_cut: true, kinds: 5 };
        for (mut mine, theirs) in [(one, other), (other, one)] {
            mine.absorb(&theirs);
            assert_eq!(mine, sum);
        }
        let mut nothing = Acc::default();
        nothing.absorb(&one);
        assert_eq!(nothing, one);
    }
}
