//! Ids of spans: which a thread gives, and that no other gives the same. Ids of traces are `stepscope_core`'s.

use std::sync::{Mutex, PoisonError};

/// Any odd number keeps ids apart; this one (of the golden ratio) spreads those that follow each other over all values.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Ids of a share before it comes to those of the next one, in its whole life, in which it goes from thread to thread: more
/// than a process gives within a year that gives 30,000 a second in each. There are as many shares as 16.7 million threads at
/// the same time need.
const PER_SHARE_LOG2: u32 = 40;

/// The ids of one thread of a process: `STRIDE` times different numbers, from where this process begins. Between processes they
/// meet by chance as rarely as random ones do.
#[derive(Debug)]
pub(crate) struct SpanIds {
    last: u64,
}

impl SpanIds {
    /// A share of a process that begins at `nonce`. Number 0 is no thread's: it is for the run's own span.
    fn new(nonce: u64, share: u64) -> Self {
        Self { last: nonce.wrapping_add(STRIDE.wrapping_mul(share << PER_SHARE_LOG2)) }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        loop {
            self.last = self.last.wrapping_add(STRIDE);
            // 0 stands for none.
            if self.last != 0 {
                return self.last;
            }
        }
    }
}

/// All ids of a process: a share for each thread that is there. A thread that begins goes on where one that has ended left off.
#[derive(Debug)]
pub(crate) struct Shares {
    nonce: u64,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    /// Shares that were given out.
    given: u64,
    spare: Vec<SpanIds>,
}

impl Shares {
    pub(crate) fn new(nonce: u64) -> Self {
        Self { nonce, left: Mutex::default() }
    }

    /// The id of the run's own span.
    pub(crate) fn of_run(&self) -> u64 {
        SpanIds::new(self.nonce, 0).next()
    }

    /// For a thread that begins.
    pub(crate) fn take(&self) -> SpanIds {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.spare.pop().unwrap_or_else(|| {
            left.given += 1;
            SpanIds::new(self.nonce, left.given)
        })
    }

    /// From a thread that has ended.
    pub(crate) fn give_back(&self, ids: &SpanIds) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).spare.push(SpanIds { last: ids.last });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_comes_twice_and_none_is_zero() {
        // The third id of thread 2 would be 0.
        let nonce = 0u64.wrapping_sub(STRIDE.wrapping_mul((2 << PER_SHARE_LOG2) + 3));
        let mut ids: Vec<u64> = (1..=8)
            .flat_map(|thread| {
                let mut ids = SpanIds::new(nonce, thread);
                (0..10_000).map(move |_| ids.next())
            })
            .collect();
        ids.push(Shares::new(nonce).of_run());
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), ids.contains(&0)), (count, false));
    }

    #[test]
    fn ids_are_spread_over_high_and_low_bits() {
        let mut ids = SpanIds::new(77, 3);
        let (mut high, mut low) = ([0u32; 64], [0u32; 64]);
        for _ in 0..6_400 {
            let id = ids.next();
            high[(id >> 58) as usize] += 1;
            low[(id & 63) as usize] += 1;
        }
        assert!(high.iter().chain(&low).all(|&count| (95..=105).contains(&count)), "{high:?} {low:?}");
    }

    #[test]
    fn a_thread_goes_on_where_one_that_has_ended_left_off() {
        let shares = Shares::new(7);
        let mut seen = vec![shares.of_run()];
        // Three at a time, far more of them than shares.
        for _ in 0..1_000 {
            let mut threads = [(); 3].map(|()| shares.take());
            for ids in &mut threads {
                seen.extend((0..5).map(|_| ids.next()));
            }
            threads.into_iter().for_each(|ids| shares.give_back(&ids));
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), shares.left.lock().unwrap().given), (count, 3));
    }
}
