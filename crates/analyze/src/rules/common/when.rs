//! When something was, in words: how long it took, and how far into the run it began.

use crate::report::units::duration;
use crate::summary::Summary;

/// `1 min 00 s, 2.40 s into the run`.
pub(crate) fn when(summary: &Summary, start_ns: u64, took_ns: u64) -> String {
    let from_ns = summary.state.first_ns.unwrap_or(start_ns);
    format!("{}, {} into the run", duration(took_ns), duration(start_ns.saturating_sub(from_ns)))
}
