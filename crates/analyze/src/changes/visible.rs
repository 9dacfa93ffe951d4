//! How large a change has to be to be told: tried out on a series that shows none, with its second half longer, and shorter.
//!
//! The series may have a change that is not told. So what is told here would have been told in it either way; of what is
//! not, it is only known that it may not be.

use super::{MAX_POINTS, MIN_POINTS, changes_of_even, cycle, median};

/// What is tried, per cent.
const TRIED: [u64; 8] = [5, 10, 15, 20, 25, 50, 75, 100];

/// The smallest change in the middle of `values` that is told, per cent, whether values become longer or shorter; absent
/// where none of up to 100 is. Both, since a change that is there and is not told adds to one and takes from the other.
#[must_use]
pub fn smallest_visible(values: &[u64]) -> Option<u64> {
    if values.len() < 2 * MIN_POINTS {
        return None;
    }
    // Rounds end where neighbours are taken together.
    let evened = cycle::evened(values);
    let values = evened.as_deref().unwrap_or(values);
    let coarse: Vec<u64> = values.chunks(values.len().div_ceil(MAX_POINTS).max(1)).map(median).collect();
    let middle = coarse.len() / 2;
    let is_told = |percent: &u64| {
        let longer = |value: &u64| {
            u64::try_from(u128::from(*value) * u128::from(100 + percent) / 100).unwrap_or(u64::MAX)
        };
        let (before, after) = coarse.split_at(middle);
        let is_it = |at: usize| at.abs_diff(middle) <= coarse.len() / 10;
        let rises: Vec<u64> = before.iter().copied().chain(after.iter().map(longer)).collect();
        let falls: Vec<u64> = before.iter().map(longer).chain(after.iter().copied()).collect();
        changes_of_even(&rises).iter().any(|change| change.after > change.before && is_it(change.at))
            && changes_of_even(&falls).iter().any(|change| change.after < change.before && is_it(change.at))
    };
    TRIED.get(TRIED.partition_point(|percent| !is_told(percent))).copied()
}
