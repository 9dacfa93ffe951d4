//! Whether a series of memory leaks: since when, how fast, until when. Pure arithmetic over `std` alone, so that a running
//! program can ask it as well; knows nothing of runs, sections and reports.
//!
//! A series is cut into attempts, each into at most 64 levels (what memory falls back to); shapes are compared on those by
//! a criterion that counts dependent levels as fewer.

mod attempt;
mod clean;
mod deadline;
mod falls;
mod judgment;
mod levels;
mod shapes;
mod slope;
pub(crate) mod student;
mod verdict;

pub use deadline::{Left, steps_left};
pub use falls::Fall;
pub use judgment::{Judgment, Verdict};

/// One gauge over the steps: step number and bytes, in the order they were recorded. Not finite or negative is missing.
pub type Gauge = [(u64, f64)];

/// What memory is known of a process over its steps; empty where a gauge is unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory<'a> {
    /// Bytes allocated and not freed.
    pub live: &'a Gauge,
    /// Of these, bytes that are older than some steps.
    pub mature: &'a Gauge,
    /// Resident bytes.
    pub rss: &'a Gauge,
    /// Bytes that the allocator holds of the system.
    pub reserved: &'a Gauge,
}

/// Bytes that no memory has: a counter that went below zero.
pub const LARGEST_BYTES: u64 = 100_000_000_000_000_000;

/// Growth below which counted bytes do not leak: what a program notes of itself.
const LIVE_FLOOR_BYTES: f64 = 65_536.0;

/// The same of resident and reserved bytes: heaps in pieces creep by as much in a healthy run of some hundred steps.
const RSS_FLOOR_BYTES: f64 = 2_097_152.0;

/// Part of a growth of resident bytes that counted ones rise by where it is the same.
const RISES_AS_WELL: f64 = 0.5;

/// The verdict on a process: of counted bytes where there are any, else of resident ones (then suspected).
#[must_use]
pub fn judge(memory: &Memory<'_>) -> Judgment {
    let held = [memory.rss, memory.reserved];
    let outside = || {
        let judged = held.iter().map(|gauge| attempt::of(gauge, RSS_FLOOR_BYTES));
        judged.min_by_key(|judgment| judgment.verdict.rank()).unwrap_or_default()
    };
    if memory.live.is_empty() && memory.mature.is_empty() {
        return Judgment { is_suspected: true, ..outside() };
    }
    let live = attempt::of(memory.live, LIVE_FLOOR_BYTES);
    let mature = attempt::of(memory.mature, LIVE_FLOOR_BYTES);
    let counted = match (live.verdict, mature.verdict) {
        _ if memory.mature.is_empty() => live,
        _ if memory.live.is_empty() => mature,
        // What lives short explains the growth of the whole.
        (Verdict::Leak, Verdict::None) if mature.least_seen < 0.3 * live.bytes_per_step => {
            // What lives short cannot grow for long.
            let more = (live.steps.1.saturating_sub(live.steps.0) / 2).max(1);
            Judgment { verdict: Verdict::Undecided, more_steps: Some(more), ..live }
        }
        (Verdict::Leak, _) => live,
        // Old bytes are not hidden by what comes and goes.
        (Verdict::Undecided | Verdict::CacheFilling | Verdict::Stopped, Verdict::Leak) => mature,
        (Verdict::None, Verdict::Leak) if live.least_seen > 0.5 * mature.bytes_per_step => mature,
        _ => live,
    };
    let held = match counted.verdict {
        Verdict::None | Verdict::Undecided => outside(),
        _ => return counted,
    };
    let grown =
        held.bytes_per_step * held.steps.1.saturating_sub(held.since_step.unwrap_or(held.steps.1)) as f64;
    match (held.verdict, counted.verdict) {
        // Room that doubles is counted at once, and resident as it fills.
        (Verdict::Leak, _) if counted.risen_bytes >= RISES_AS_WELL * grown => held,
        (Verdict::Leak, Verdict::None) => {
            Judgment { verdict: Verdict::Fragmentation, is_suspected: true, ..held }
        }
        _ => counted,
    }
}

#[cfg(test)]
mod tests;
