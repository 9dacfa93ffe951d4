//! Work that takes a processor for about a given time on a free one: counted in rounds, so that it takes longer where the
//! processor is shared, as real work does.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Rounds in a millisecond, the best of some tries.
static ROUNDS_PER_MS: LazyLock<u64> = LazyLock::new(|| {
    const TRY: u64 = 400_000;
    let times = (0..20).map(|_| {
        let began = Instant::now();
        rounds(TRY);
        began.elapsed()
    });
    let least = times.min().unwrap_or(Duration::from_millis(1)).as_nanos().max(1);
    u64::try_from(u128::from(TRY) * 1_000_000 / least).unwrap_or(1).max(1)
});

/// Computes for as many microseconds as a free processor would take.
pub fn compute(us: u64) {
    rounds(*ROUNDS_PER_MS * us / 1_000);
}

/// Measures the processor before anything is timed.
pub fn calibrate() {
    LazyLock::force(&ROUNDS_PER_MS);
}

#[inline(never)]
fn rounds(count: u64) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        black_box(state);
    }
}
