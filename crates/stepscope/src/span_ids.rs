//! Ids of spans: which a thread gives, and that no other gives the same. Ids of traces are `stepscope_core`'s.

/// Any odd number keeps ids apart; this one (of the golden ratio) spreads those that follow each other over all values.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Ids that one thread gives before it comes to those of the next one: more than it can in a day.
const PER_THREAD_LOG2: u32 = 40;

/// The ids of one thread of a process: `STRIDE` times different numbers, from where this process begins. Between processes they
/// meet by chance as rarely as random ones do.
#[derive(Debug)]
pub(crate) struct SpanIds {
    last: u64,
}

impl SpanIds {
    /// Those of the thread with this number, in a process that begins at `nonce`. Number 0 is no thread's: see
    /// [`of_run`](Self::of_run).
    pub(crate) fn new(nonce: u64, thread: u64) -> Self {
        Self { last: nonce.wrapping_add(STRIDE.wrapping_mul(thread << PER_THREAD_LOG2)) }
    }

    /// The id of the run's own span.
    pub(crate) fn of_run(nonce: u64) -> u64 {
        Self::new(nonce, 0).next()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_comes_twice_and_none_is_zero() {
        // The third id of thread 2 would be 0.
        let nonce = 0u64.wrapping_sub(STRIDE.wrapping_mul((2 << PER_THREAD_LOG2) + 3));
        let mut ids: Vec<u64> = (1..=8)
            .flat_map(|thread| {
                let mut ids = SpanIds::new(nonce, thread);
                (0..10_000).map(move |_| ids.next())
            })
            .collect();
        ids.push(SpanIds::of_run(nonce));
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
}
