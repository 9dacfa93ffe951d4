//! Order statistics of a list of values.

/// The lower median; 0 of nothing.
pub(crate) fn median(values: &[u64]) -> u64 {
    quantile(values, 1, 2)
}

/// The smallest value that `part` of `whole` of the distance from the first to the last, in order, is at; 0 of nothing.
pub(crate) fn quantile(values: &[u64], part: usize, whole: usize) -> u64 {
    let mut sorted = values.to_vec();
    let at = sorted.len().saturating_sub(1) * part / whole;
    if sorted.is_empty() { 0 } else { *sorted.select_nth_unstable(at).1 }
}

/// The median of absolute deviations from `level`.
pub(crate) fn deviation(values: &[u64], level: u64) -> u64 {
    median(&values.iter().map(|value| value.abs_diff(level)).collect::<Vec<u64>>())
}
