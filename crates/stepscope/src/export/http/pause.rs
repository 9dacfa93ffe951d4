//! How long the sink waits after a try that failed. What a receiver asks for itself is not here.

use std::time::Duration;

/// After the first failure.
const FIRST: Duration = Duration::from_millis(100);

/// The longest, but for the jitter.
const LONGEST: Duration = Duration::from_secs(5);

/// The pause after so many failures before this one: it doubles, and has up to a quarter more by `chance`, so that many
/// programs that lost their receiver together do not come back together.
pub(super) fn pause(failures: u32, chance: u64) -> Duration {
    let base = FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST);
    base + base.mul_f64((chance % 256) as f64 / 1_024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound() {
        let millis = |failures| pause(failures, 0).as_millis();
        let pauses: Vec<u128> = (0..8).map(millis).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert_eq!(millis(u32::MAX), 5_000);
    }

    #[test]
    fn chance_adds_up_to_a_quarter() {
        let pauses: Vec<Duration> = (0..256).map(|chance| pause(3, chance)).collect();
        assert!(pauses.is_sorted_by(|a, b| a < b));
        assert_eq!(pauses[128], Duration::from_millis(900));
        assert!(pauses[255] < Duration::from_secs(1));
        assert_eq!(pause(3, 256 + 128), pauses[128]);
    }
}
