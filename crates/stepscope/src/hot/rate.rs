//! So many sections a second leave as spans: of paths that are called often one in so many, spread over the second, and
//! of the others all. A second that has had its number has no room for more, whatever is called.
//!
//! The background thread shares the number out, some times a second, by what each path was called: those that need less
//! than an equal share get what they need, and leave the rest to the others. What is left to the others is a bound for
//! them as well, so that those that need little still find room where the others are suddenly called more often.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use stepscope_core::PathId;

use crate::hot::budget::{Budget, Measured};
use crate::shared::aggregate::MAX_PATHS;
use crate::shared::lock::lock;

/// How often the number is shared out.
pub(crate) const SHARE_INTERVAL: Duration = Duration::from_millis(250);

/// The part of the number that is shared out: the rest is for what is called more often than before.
const SHARED: (u64, u64) = (7, 8);

/// One in so many is for paths that leave whole, beyond what they were called.
const SPARE: u64 = 16;

/// Of a path that came after the number was shared out, one in so many of a second leaves as if it left whole: it may be one
/// that needs no more.
const OF_NEW: u32 = 64;

/// Before it is shared out first, one in so many of a second is not for those that need more than that.
const OF_LATER: u32 = 8;

const NS_PER_S: u64 = 1_000_000_000;

/// A bound at work.
#[derive(Debug)]
pub(crate) struct Rate {
    /// So many at most, whatever a budget has room for.
    at_most: u32,
    budget: Option<Mutex<Budget>>,
    per_second: AtomicU32,
    /// What each path was called since the number was shared out.
    seen: Box<[AtomicU32]>,
    /// How often it was called in a second; a half less each time that it was called less. Of the background thread.
    wanted: Box<[AtomicU32]>,
    /// One in so many of it leaves; 0: not shared out yet.
    one_in: Box<[AtomicU32]>,
    /// How many of a second may be of paths of which not all leave; the rest is for the others.
    of_frequent: AtomicU32,
    /// What has left, of all paths and of those of which not all leave.
    all: Window,
    frequent: Window,
}

/// A second of the clock, and the sections that have left in it.
#[derive(Debug, Default)]
struct Window(AtomicU64);

impl Window {
    /// Whether there is room for so many more within `bound` in this second; they are counted.
    fn has_room(&self, second: u64, more: u32, bound: u32) -> bool {
        let second = second & u64::from(u32::MAX);
        let add = |window: u64| {
            let left = if window >> 32 == second { window & u64::from(u32::MAX) } else { 0 };
            let left = (left + u64::from(more)).min(u64::from(u32::MAX));
            (left <= u64::from(bound)).then_some(second << 32 | left)
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}

impl Rate {
    /// Of so many in a second, of as many as a budget has room for, or of the smaller of both numbers.
    pub(crate) fn new(at_most: Option<u32>, budget: Option<Budget>) -> Self {
        let at_most = at_most.unwrap_or(u32::MAX);
        let per_second = budget.as_ref().map_or(u32::MAX, Budget::per_second).min(at_most);
        let by_path = || (0..MAX_PATHS).map(|_| AtomicU32::new(0)).collect();
        Self {
            at_most,
            budget: budget.map(Mutex::new),
            per_second: AtomicU32::new(per_second),
            seen: by_path(),
            wanted: by_path(),
            one_in: by_path(),
            // Of paths that nobody has called yet nothing is known: some of it is for those that come later.
            of_frequent: AtomicU32::new(per_second - per_second / OF_LATER),
            all: Window::default(),
            frequent: Window::default(),
        }
    }

    /// Whether a section of a path leaves, with `more` in all, itself and what leaves for it alone; they are counted. The
    /// clock is asked only where it is the path's turn.
    pub(crate) fn admits(&self, path: PathId, more: u32, now_ns: impl FnOnce() -> u64) -> bool {
        let index = path.0 as usize;
        let Some((seen, one_in)) = self.seen.get(index).zip(self.one_in.get(index)) else {
            return self.all.has_room(now_ns() / NS_PER_S, more, self.per_second());
        };
        let one_in = one_in.load(Ordering::Relaxed);
        let before = seen.fetch_add(1, Ordering::Relaxed);
        if !before.is_multiple_of(one_in.max(1)) {
            return false;
        }
        let is_whole = match one_in {
            0 => before < self.per_second() / OF_NEW,
            one_in => one_in == 1,
        };
        let second = now_ns() / NS_PER_S;
        let bound = self.of_frequent.load(Ordering::Relaxed);
        (is_whole || self.frequent.has_room(second, more, bound))
            && self.all.has_room(second, more, self.per_second())
    }

    /// A section of a path leaves for what is inside of it alone, and room was given for it.
    pub(crate) fn count(&self, path: PathId) {
        if let Some(seen) = self.seen.get(path.0 as usize) {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// As [`count`](Self::count), where none was: it takes what is left of this second, or of more than there is.
    pub(crate) fn count_beyond(&self, path: PathId, now_ns: u64) {
        self.count(path);
        self.all.has_room(now_ns / NS_PER_S, 1, u32::MAX);
    }

    fn per_second(&self) -> u32 {
        self.per_second.load(Ordering::Relaxed)
    }

    /// Takes in what spans and steps take, where there is a budget. Of the thread that shares the number out.
    pub(crate) fn measure(&self, measured: impl FnOnce() -> Measured) {
        let Some(budget) = &self.budget else { return };
        let mut budget = lock(budget);
        budget.measure(measured());
        self.per_second.store(budget.per_second().min(self.at_most), Ordering::Relaxed);
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
        let per_second = u64::from(self.per_second());
        let level = level(&mut wanted, per_second * SHARED.0 / SHARED.1);
        let whole: u64 =
            wanted.iter().map(|&wanted| u64::from(wanted)).filter(|&wanted| wanted <= level).sum();
        let of_frequent = per_second.saturating_sub(whole + per_second / SPARE);
        self.of_frequent.store(u32::try_from(of_frequent).unwrap_or(u32::MAX), Ordering::Relaxed);
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
        let window = Window::default();
        let taken = |second| (0..10).filter(|_| window.has_room(second, 1, 3)).count();
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
                if is_called && rate.admits(PathId(path), 1, || now_ns) {
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
        let rate = Rate::new(Some(2_000), None);
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
    fn a_path_that_nobody_has_called_before_leaves_whole_if_it_needs_little() {
        let rate = Rate::new(Some(2_000), None);
        let left = second(&rate, 1, &[40, 20_000, 50_000]);
        assert_eq!(left[0].0, 40, "{left:?}");
        let all = |left: &[(u64, u64)]| left.iter().map(|(all, _)| all).sum::<u64>();
        assert!((1_900..=2_000).contains(&all(&left)), "{left:?}");
        let left = second(&rate, 2, &[40, 20_000, 50_000, 60]);
        assert_eq!((left[0].0, left[3].0), (40, 60), "{left:?}");
    }

    #[test]
    fn there_is_room_for_all_that_leave_together_or_for_none() {
        let rate = Rate::new(Some(64), None);
        let admits = |more| rate.admits(PathId(1), more, || NS_PER_S);
        // 56 of 64 are for those of which nothing is known, but for the first.
        assert_eq!([8, 50, 7, 6, 1].map(admits), [true, true, false, true, false]);
        rate.count_beyond(PathId(2), NS_PER_S);
        assert!(!rate.admits(PathId(3), 1, || NS_PER_S), "the first of its path, and no room is left");
        assert!(rate.admits(PathId(3), 1, || 2 * NS_PER_S));
        let seen = |path: usize| rate.seen[path].load(Ordering::Relaxed);
        rate.count(PathId(2));
        assert_eq!([seen(1), seen(2), seen(3)], [5, 2, 2]);
    }

    /// As after a machine has stalled: the number was shared out by less than a tenth of what is called then.
    #[test]
    fn rare_paths_find_room_where_others_are_suddenly_called_more() {
        let rate = Rate::new(Some(1_000), None);
        (1..4).for_each(|number| drop(second(&rate, number, &[8, 10_000])));
        let left: Vec<u64> = (0..10)
            .flat_map(|tick| {
                std::iter::repeat_n(PathId(1), 10_000).chain([PathId(0); 8]).map(move |path| (tick, path))
            })
            .filter(|&(tick, path)| rate.admits(path, 1, || 4 * NS_PER_S + tick))
            .fold(vec![0, 0], |mut left, (_, path)| {
                left[path.0 as usize] += 1;
                left
            });
        // All but what is kept for the rare one: the 8 that it was called, and a sixteenth.
        assert_eq!(left, [8 + 1_000 / SPARE, 1_000 - 8 - 1_000 / SPARE]);
    }

    #[test]
    fn what_is_called_now_and_then_is_not_forgotten_at_once() {
        let rate = Rate::new(Some(800), None);
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
            let rate = Rate::new(Some(per_second), None);
            for since in [Duration::ZERO, Duration::MAX] {
                rate.admits(PathId(0), 1, || 0);
                rate.admits(PathId(u32::MAX), u32::MAX, || u64::MAX);
                rate.count_beyond(PathId(u32::MAX), u64::MAX);
                rate.share(since);
            }
            assert_eq!(rate.admits(PathId(7), 1, || 5 * NS_PER_S), per_second > 0);
        }
    }
}
