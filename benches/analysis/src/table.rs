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
