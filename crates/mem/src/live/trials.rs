//! Which blocks are chosen: points of a Poisson process on the bytes that a thread allocates, so that each block is chosen with
//! probability 1 - exp(-size / period) whatever came before it, and every block of a whole period. Of a block that grows only the
//! growth is new: it is chosen as if it had always had its last size.

use crate::block;
use crate::hot::Hot;
use crate::live::bucket::Chosen;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Where a thread looks that chooses nothing. Half of what there is, so that a growing block cannot carry it over the end.
pub(crate) const NEVER: u64 = u64::MAX / 2;

/// One in so many bytes is chosen; 0 for none.
static PERIOD_BYTES: AtomicU64 = AtomicU64::new(0);

/// Who reads one that is not 0, and hands a block to another thread, hands over that [frees are watched](block::watch).
pub(crate) fn period_bytes() -> u64 {
    PERIOD_BYTES.load(Acquire)
}

pub(crate) fn set_period(period_bytes: u64) {
    PERIOD_BYTES.store(period_bytes, Release);
    for block in block::blocks() {
        block.program.look_at_bytes.store(if period_bytes == 0 { NEVER } else { 0 }, Relaxed);
        block.program.alarm_bytes.store(0, Relaxed);
    }
}

/// Lets threads look that do not although they should.
pub(crate) fn arm_all() {
    if period_bytes() != 0 {
        for block in block::blocks() {
            if block.program.look_at_bytes.load(Relaxed) >= NEVER {
                block.program.look_at_bytes.store(0, Relaxed);
            }
            // The thread may have set it while sampling was switched on.
            block.program.alarm_bytes.store(0, Relaxed);
        }
    }
}

/// Of one thread, used by it alone.
#[derive(Debug)]
pub(crate) struct Trials {
    /// The next point of the process, in bytes that the thread has allocated.
    point_bytes: AtomicU64,
    /// The period for which that was drawn.
    period_bytes: AtomicU64,
    random: AtomicU64,
}

impl Trials {
    pub(crate) const fn new() -> Self {
        Self { point_bytes: AtomicU64::new(0), period_bytes: AtomicU64::new(0), random: AtomicU64::new(0) }
    }

    /// For a new owner: the next look draws a new point.
    pub(crate) fn open(&self, hot: &Hot) {
        self.period_bytes.store(0, Relaxed);
        hot.look_at_bytes.store(if period_bytes() == 0 { NEVER } else { 0 }, Relaxed);
    }

    /// Whether the block of `size` bytes that was just counted is chosen, and with what period. The thread looks again no later
    /// than a period from here: so no block of that size is overlooked.
    pub(crate) fn chooses(&self, hot: &Hot, size: u64) -> Option<u64> {
        let period = period_bytes();
        if period == 0 {
            hot.look_at_bytes.store(NEVER, Relaxed);
            hot.set_alarm();
            return None;
        }
        let allocated = hot.counts.allocated_bytes.load(Relaxed);
        let mut point = self.point_bytes.load(Relaxed);
        if self.period_bytes.load(Relaxed) != period {
            // The process has no memory: it may begin with this block.
            self.period_bytes.store(period, Relaxed);
            point = allocated.wrapping_sub(size).wrapping_add(self.gap(period));
        }
        let is_hit = point <= allocated;
        while point <= allocated {
            point = point.saturating_add(self.gap(period));
        }
        self.point_bytes.store(point, Relaxed);
        hot.look_at_bytes.store(point.min(allocated.saturating_add(period)), Relaxed);
        hot.set_alarm();
        (is_hit || size >= period).then_some(period)
    }

    /// So many bytes of a block that grew were there before: they are no new trial.
    #[inline]
    pub(crate) fn skip(&self, hot: &Hot, bytes: u64) {
        let look = hot.look_at_bytes.load(Relaxed);
        if look < NEVER {
            hot.look_at_bytes.store(look + bytes, Relaxed);
            self.point_bytes.store(self.point_bytes.load(Relaxed) + bytes, Relaxed);
        }
    }

    /// Bytes to the next point: exponential, at least 1.
    fn gap(&self, period: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole bytes"
        )]
        let bytes = (-uniform(self.next_random()).ln() * period as f64) as u64;
        bytes.max(1)
    }

    /// SplitMix64, begun with the address of this thread's own state.
    fn next_random(&self) -> u64 {
        let mut state = self.random.load(Relaxed);
        if state == 0 {
            state = std::ptr::from_ref(self) as u64 ^ SEED.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed);
        }
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.store(state, Relaxed);
        mix(state)
    }
}

static SEED: AtomicU64 = AtomicU64::new(0x5851_F42D_4C95_7F2D);

const fn mix(state: u64) -> u64 {
    let mut word = state;
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// In (0, 1].
fn uniform(random: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    let number = ((random >> 11) + 1) as f64;
    number / 9_007_199_254_740_992.0
}

/// For how many bytes a chosen block of this size stands: size / (1 - exp(-size / period)).
pub(crate) fn weight_bytes(size: u64, period: u64) -> u64 {
    if size >= period {
        return size;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    let weight = (size as f64 / probability(size, period)).round() as u64;
    weight.max(size)
}

/// That a block of this size is chosen.
fn probability(size: u64, period: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let share = size.max(1) as f64 / period as f64;
    if share >= 1.0 { 1.0 } else { -(-share).exp_m1() }
}

/// Whether a chosen block stays chosen with its new size: a smaller one as often as if it had had that size from the
/// beginning.
pub(crate) fn keeps(chosen: &Chosen, new_size: u64) -> bool {
    if new_size >= chosen.size {
        return true;
    }
    let share = probability(new_size, chosen.period) / probability(chosen.size, chosen.period);
    uniform(mix(SEED.fetch_add(0x9E37_79B9_7F4A_7C15, Relaxed))) <= share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many blocks of one size are chosen.
    fn chosen(size: u64, period: u64, blocks: u64) -> u64 {
        let (trials, hot) = (Trials::new(), Hot::new());
        PERIOD_BYTES.store(period, Relaxed);
        trials.open(&hot);
        (0..blocks)
            .filter(|_| {
                let allocated = hot.counts.allocated_bytes.load(Relaxed) + size;
                hot.counts.allocated_bytes.store(allocated, Relaxed);
                allocated >= hot.look_at_bytes.load(Relaxed) && trials.chooses(&hot, size).is_some()
            })
            .count() as u64
    }

    #[test]
    fn a_block_is_chosen_as_often_as_its_size_says_and_the_weights_add_up() {
        for size in [16, 4_096, 65_536, 500_000, 524_288, 1 << 21] {
            let blocks = 40 * 524_288_u64.div_ceil(size).max(100);
            let hits = chosen(size, 524_288, blocks);
            let expected = (blocks as f64) * probability(size, 524_288);
            let deviation = (expected * (1.0 - probability(size, 524_288))).sqrt();
            assert!((hits as f64 - expected).abs() <= 5.0 * deviation, "{size}: {hits} for {expected}");
            let (estimated, real) = (hits * weight_bytes(size, 524_288), blocks * size);
            let error = 5.0 * deviation / expected;
            assert!(
                (estimated as f64 / real as f64 - 1.0).abs() <= error + 1e-9,
                "{size}: {estimated} for {real}"
            );
        }
    }
}
