//! The figures, a row a case.

use crate::input::Made;
use crate::measure::Measured;

/// Begins the table of one input.
pub(crate) fn head(about: &str, input: &Made) {
    let (spans, bytes) = (input.spans as f64, input.bytes as f64);
    println!(
        "\n{about}: {:.2} M spans, {:.0} MB, {:.0} bytes a span\n",
        spans / 1e6,
        bytes / 1e6,
        bytes / spans
    );
    println!("| | M spans/CPU-s | MB/CPU-s | CPU s | wall s | peak MB |");
    println!("|---|---|---|---|---|---|");
}

/// One case.
pub(crate) fn row(name: &str, measured: &Measured, input: &Made) {
    let cpu = measured.cpu.as_secs_f64();
    let (spans, bytes) = (input.spans as f64 / 1e6, input.bytes as f64 / 1e6);
    println!(
        "| {name} | {:.2} | {:.0} | {cpu:.2} | {:.2} | {:.0} |",
        spans / cpu,
        bytes / cpu,
        measured.wall.as_secs_f64(),
        measured.peak_bytes as f64 / 1e6,
    );
}

/// What a second thread gains, and what two analyses side by side do.
pub(crate) fn speedup(one: &Measured, two: &Measured, apart: &Measured) {
    let (one, two, apart) = (one.wall.as_secs_f64(), two.wall.as_secs_f64(), apart.wall.as_secs_f64());
    let (gain, limit) = (one / two, 2.0 * one / apart);
    println!(
        "\n2 threads: {gain:.2} times 1; two analyses side by side: {limit:.2} times one ({:.0} %)",
        100.0 * gain / limit
    );
}
