//! How many threads of a loader are there at once, and for how long.

use crate::accumulate::saturate::{saturate, share};

/// The times of some threads, each from its first batch to its last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lifetimes {
    threads: u64,
    /// Summed.
    total_ns: u128,
    /// For which there was any.
    covered_ns: u128,
}

impl Lifetimes {
    /// Of the threads of one process.
    pub(crate) fn of(threads: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut threads: Vec<(u64, u64)> = threads.collect();
        threads.sort_unstable();
        let mut times = Self { threads: threads.len() as u64, ..Self::default() };
        let mut covered_until_ns = 0;
        for (first_ns, last_ns) in threads {
            let length = |from_ns: u64| u128::from(last_ns.saturating_sub(from_ns));
            times.total_ns = times.total_ns.saturating_add(length(first_ns));
            times.covered_ns = times.covered_ns.saturating_add(length(first_ns.max(covered_until_ns)));
            covered_until_ns = covered_until_ns.max(last_ns);
        }
        times
    }

    /// Adds those of another process.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.threads = self.threads.saturating_add(other.threads);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.covered_ns = self.covered_ns.saturating_add(other.covered_ns);
    }

    /// How many a process has at once, as long as it has any; absent without threads.
    pub(crate) fn at_once(&self) -> Option<u64> {
        let halves = self.total_ns.saturating_mul(2).saturating_add(self.covered_ns);
        let rounded = halves.checked_div(self.covered_ns.saturating_mul(2)).unwrap_or(1);
        (self.threads > 0).then(|| saturate(rounded).max(1))
    }

    /// What share of their times `ns` are; absent where they have none.
    pub(crate) fn share(&self, ns: u128) -> Option<f64> {
        (self.total_ns > 0).then(|| share(ns, self.total_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_as_long_as_there_are_any() {
        let at_once = |threads: &[(u64, u64)]| Lifetimes::of(threads.iter().copied()).at_once();
        // Kept; started anew each epoch, with pauses; one after the other, overlapping a little.
        assert_eq!(at_once(&[(0, 100), (1, 99), (2, 98)]), Some(3));
        assert_eq!(at_once(&[(0, 10), (1, 10), (50, 60), (50, 59), (90, 100), (90, 100)]), Some(2));
        assert_eq!(at_once(&[(0, 11), (10, 21), (20, 30)]), Some(1));
        // One inside of another; none; no time.
        assert_eq!(at_once(&[(0, 100), (10, 20)]), Some(1));
        assert_eq!(at_once(&[(5, 5)]), Some(1));
        assert_eq!(at_once(&[]), None);
        // Two processes, of three and of one.
        let mut both = Lifetimes::of([(0, 100), (0, 100), (0, 100)].into_iter());
        both.absorb(&Lifetimes::of([(0, 100)].into_iter()));
        assert_eq!((both.at_once(), both.share(200)), (Some(2), Some(0.5)));
    }
}
