//! Sums of accumulators in the integers of a summary: they saturate.

/// A time or count.
pub(crate) fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// A difference.
pub(crate) fn saturate_signed(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// `part / whole`; 0 where there is nothing.
pub(crate) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
