//! Whose critical paths a report tells, in words.

use crate::summary::CriticalPath;

/// What was held up. Steps are alike, and stand for one; traces may be of anything, and are told all together. Their number
/// is written as each format does.
pub(crate) fn held_up(critical: &CriticalPath, windows: &str) -> String {
    if critical.mode.is_none() && critical.windows > 1 {
        format!("the ends of {windows} traces")
    } else {
        format!("the end of the {}", critical.window)
    }
}
