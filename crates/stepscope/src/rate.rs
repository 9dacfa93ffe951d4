//! So many sections a second leave as spans: of paths that are called often one in so many, spread over the second, and
//! of the others all. A second that has had its number has no room for more, whatever is called.
//!
//! The background thread shares the number out, some times a second, by what each path was called: those that need less
//! than an equal share get what they need, and leave the rest to the others.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use stepscope_core::PathId;

use crate::aggregate::MAX_PATHS;

/// How often the number is shared out.
pub(crate) const SHARE_INTERVAL: Duration = Duration::from_millis(250);

/// The part of the number that is shared out: the rest is for what is called more often than before.
const SHARED: (u64, u64) = (7, 8);

const NS_PER_S: u64 = 1_000_000_000;

/// A bound at work.
#[derive(Debug)]
pub(crate) struct Rate {
    per_second: u32,
    /// What each path was called since the number was shared out.
    seen: Box<[AtomicU32]>,
    /// How often it was called in a second; a half less each time that it was called less. Of the background thread.
    wanted: Box<[AtomicU32]>,
    /// One in so many of it leaves; 0: not shared out yet.
    one_in: Box<[AtomicU32]>,
    /// A second of the clock, and the sections that have left in it.
    window: AtomicU64,
}

impl Rate {
    pub(crate) fn new(per_second: u32) -> Self {
        let by_path = || (0..MAX_PATHS).map(|_| AtomicU32::new(0)).collect();
        Self { per_second, seen: by_path(), wanted: by_path(), one_in: by_path(), window: AtomicU64::new(0) }
    }

    /// Whether a section of a path leaves; it is counted. The clock is asked only where it is the path's turn.
    pub(crate) fn admits(&self, path: PathId, now_ns: impl FnOnce() -> u64) -> bool {
        let index = path.0 as usize;
        let of_path = self.seen.get(index).zip(self.one_in.get(index));
        let is_turn = |(seen, one_in): (_, &AtomicU32)| is_turn(seen, one_in.load(Ordering::Relaxed));
        of_path.is_none_or(is_turn) && self.has_room(now_ns() / NS_PER_S)
    }

    /// Whether one more may leave in this second; it is counted.
    fn has_room(&self, second: u64) -> bool {
        let second = second & u64::from(u32::MAX);
        let one_more = |window: u64| {
            let left = if window >> 32 == second { window & u64::from(u32::MAX) } else { 0 };
            (left < u64::from(self.per_second)).then_some(second << 32 | (left + 1))
        };
        self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Shares the number out by what was called in the time since it was last done. Of one thread.
    pub(crate) fn share(&self, since: Duration) {
        let since_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut wanted: Vec<u32> = Vec::new();
        for (seen, slot) in self.seen.iter().zip(&self.wanted) {
            let seen = u128::from(seen.swap(0, Ordering::Relaxed));
            let now = u32::try_from(seen * u128::from(NS_PER_S) / u128::from(since_ns)).unwrap_or(u32::MAX);
            let more = now.max(slot.load(Ordering::Relaxed) / 2);
            slot.store(more, Ordering::Relaxed);
            wanted.extend(Some(more).filter(|&more| more > 0));
        }
        let level = level(&mut wanted, u64::from(self.per_second) * SHARED.0 / SHARED.1);
        for (wanted, one_in) in self.wanted.iter().zip(&self.one_in) {
            let wanted = u64::from(wanted.load(Ordering::Relaxed));
            let parts = wanted.div_ceil(level.max(1));
            one_in.store(u32::try_from(parts).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }
}

/// Counts one more, and says whether it is the first, or one of those that are so many apart.
pub(crate) fn is_turn(seen: &AtomicU32, one_in: u32) -> bool {
    seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in.max(1))
}

/// The highest level at which all that is wanted up to it is no more than `room`; 0 where there is none.
fn level(wanted: &mut [u32], room: u64) -> u64 {
    wanted.sort_unstable();
    let (mut room, mut left) = (room, wanted.len() as u64);
    for &wanted in wanted.iter() {
        let equal = room / left;
        if u64::from(wanted) > equal {
            return equal;
        }
        room -= u64::from(wanted);
        left -= 1;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_need_less_leave_the_rest_to_the_others() {
        assert_eq!(level(&mut [10, 100, 1_000], 2_000), u64::MAX);
        assert_eq!(level(&mut [1_000, 10, 100], 510), 400);
        assert_eq!(level(&mut [1_000, 1_000, 10], 510), 250);
        assert_eq!(level(&mut [5, 5, 5], 2), 0);
        assert_eq!(level(&mut [], 7), u64::MAX);
    }

    #[test]
    fn a_second_has_room_for_so_many() {
        let rate = Rate::new(3);
        let taken = |second| (0..10).filter(|_| rate.has_room(second)).count();
        assert_eq!((taken(0), taken(0), taken(1), taken(7)), (3, 0, 3, 3));
    }

    /// A second in which each path is called so often, evenly: how many of each leave, and how many of them in its last
    /// tenth.
    fn second(rate: &Rate, number: u64, calls: &[u64]) -> Vec<(u64, u64)> {
        let mut left = vec![(0, 0); calls.len()];
        let mut shared = 0;
        for tick in 0..100_000 {
            for ((path, &calls), left) in (0..).zip(calls).zip(&mut left) {
                let is_called = (tick + 1) * calls / 100_000 > tick * calls / 100_000;
                let now_ns = number * NS_PER_S + tick * 10_000;
                if is_called && rate.admits(PathId(path), || now_ns) {
                    left.0 += 1;
                    left.1 += u64::from(tick >= 90_000);
                }
            }
            if (tick + 1) * 4 / 100_000 > shared {
                shared += 1;
                rate.share(SHARE_INTERVAL);
            }
        }
        left
    }

    #[test]
    fn rare_paths_leave_whole_and_frequent_ones_all_over_the_second() {
        let rate = Rate::new(2_000);
        let calls = [100, 500, 20_000, 50_000];
        // Nothing is known of the first.
        let first: u64 = second(&rate, 1, &calls).iter().map(|(all, _)| all).sum();
        assert_eq!(first, 2_000);
        for number in 2..6 {
            let left = second(&rate, number, &calls);
            assert_eq!((left[0].0, left[1].0), (100, 500), "{number}: {left:?}");
            // 7 of 8 of 2,000, less 600: 575 of each, in whole numbers of calls.
            for (all, last) in &left[2..] {
                assert!((540..=580).contains(all) && (50..=62).contains(last), "{number}: {left:?}");
            }
        }
    }

    #[test]
    fn what_is_called_now_and_then_is_not_forgotten_at_once() {
        let rate = Rate::new(800);
        second(&rate, 1, &[100_000]);
        let before = rate.one_in[0].load(Ordering::Relaxed);
        rate.share(SHARE_INTERVAL);
        assert_eq!(before, 100_000_u32.div_ceil(700));
        assert_eq!(rate.one_in[0].load(Ordering::Relaxed), 50_000_u32.div_ceil(700));
        for _ in 0..20 {
            rate.share(SHARE_INTERVAL);
        }
        assert_eq!(rate.one_in[0].load(Ordering::Relaxed), 0);
    }

    #[test]
    fn any_number_and_time_can_be_shared_out() {
        for per_second in [0, 1, u32::MAX] {
            let rate = Rate::new(per_second);
            for since in [Duration::ZERO, Duration::MAX] {
                rate.admits(PathId(0), || 0);
                rate.admits(PathId(u32::MAX), || u64::MAX);
                rate.share(since);
            }
            assert_eq!(rate.admits(PathId(7), || 5 * NS_PER_S), per_second > 0);
        }
    }
}
