//! Figures that are kept for a report that never comes: a line of text for each sample, and one series that grows.

use std::fmt::Write;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// Lines of text, all kept.
pub fn lines(mut sizes: Sizes) -> Box<dyn Program> {
    let mut lines: Vec<String> = Vec::new();
    Box::new(move |number| report_lines(&mut lines, number, &sizes.step()))
}

#[tracing::instrument(name = "report", skip_all)]
fn report_lines(lines: &mut Vec<String>, number: u64, sizes: &[usize]) {
    for &size in sizes {
        let mut line = planted!(size, String::with_capacity(size));
        let _ = write!(line, "step {number}: loss {:.5}", 1.0 / (number as f64 + 1.0));
        lines.push(line);
    }
}

/// One vector that grows by `realloc`, always to the size that it needs.
pub fn series(mut sizes: Sizes) -> Box<dyn Program> {
    let mut series: Vec<f64> = Vec::new();
    Box::new(move |_| report_series(&mut series, &sizes.step()))
}

#[tracing::instrument(name = "report", skip_all)]
fn report_series(series: &mut Vec<f64>, sizes: &[usize]) {
    for &size in sizes {
        let more = size / size_of::<f64>();
        planted!(more * size_of::<f64>(), series.reserve_exact(more));
        series.extend((0..more).map(|value| value as f64));
    }
}
