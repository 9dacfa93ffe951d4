//! What is said of memory: the verdict and the figures that it rests on. How it is found is told elsewhere.

use super::falls::Fall;

/// What memory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// Grows, and goes on.
    Leak,
    /// Grows ever more slowly.
    Decelerating,
    /// Grew from the begin to a size that it keeps.
    CacheFilling,
    /// Grew for a while, and no more.
    Stopped,
    /// The heap keeps its size, what the process holds of the system grows.
    Fragmentation,
    /// Keeps its size, as far as can be seen.
    None,
    /// Several of these describe it as well.
    #[default]
    Undecided,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Leak,
        Self::Decelerating,
        Self::CacheFilling,
        Self::Stopped,
        Self::Fragmentation,
        Self::None,
        Self::Undecided,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Decelerating => "decelerating",
            Self::CacheFilling => "cache_filling",
            Self::Stopped => "stopped",
            Self::Fragmentation => "fragmentation",
            Self::None => "none",
            Self::Undecided => "undecided",
        }
    }

    /// The smaller, the more there is to tell.
    pub(super) const fn rank(self) -> u8 {
        self as u8
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A verdict and what it rests on; rates in bytes a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Judgment {
    /// What memory does.
    pub verdict: Verdict,
    /// Whether it rests on resident memory alone.
    pub is_suspected: bool,
    /// The rate of growth since `since_step`.
    pub bytes_per_step: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// Probability of such a slope by chance.
    pub chance: f64,
    /// Step from which on it grows, at that rate.
    pub since_step: Option<u64>,
    /// Where growth comes to that ends, bytes.
    pub plateau_bytes: Option<f64>,
    /// The smallest rate that would have been seen.
    pub least_seen: f64,
    /// About how many more steps decide.
    pub more_steps: Option<u64>,
    /// Points that it rests on.
    pub points: usize,
    /// First and last step of these.
    pub steps: (u64, u64),
    /// By how much the last level is above the first.
    pub risen_bytes: f64,
    /// Where it jumps back after it had grown, and what it was before.
    pub fell: Option<Fall>,
}

impl Judgment {
    /// Whether it leaks.
    #[must_use]
    pub fn is_leak(&self) -> bool {
        self.verdict == Verdict::Leak
    }
}

/// Steps in which so many points come, where `points` came in `steps`.
pub(super) fn steps_of(more: usize, points: usize, steps: (u64, u64)) -> u64 {
    let each = steps.1.saturating_sub(steps.0) as f64 / points.saturating_sub(1).max(1) as f64;
    (more as f64 * each.max(1.0)).ceil() as u64
}
