//! The figures of one input: a row a case, and ratios of what met the same machine.

use crate::input::Made;
use crate::measure::Measured;
use crate::rounds::{Kind, Row};

/// Writes them.
pub(crate) fn write(about: &str, input: &Made, rows: &[Row]) {
    let (spans, bytes) = (input.spans as f64, input.bytes as f64);
    println!(
        "\n{about}: {:.2} M spans, {:.0} MB, {:.0} bytes a span\n",
        spans / 1e6,
        bytes / 1e6,
        bytes / spans
    );
    println!("| | M spans/CPU-s | MB/CPU-s | CPU s | wall s | peak MB |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        if let Some(best) = row.best() {
            println!("{}", line(row.about, best, input));
        }
    }
    println!();
    let find = |kind| rows.iter().find(|row| row.kind == kind);
    let (Some(one), Some(two), Some(apart)) = (find(Kind::One), find(Kind::Two), find(Kind::Apart)) else {
        return;
    };
    for row in rows {
        if let (Kind::Peer(name), Some([low, median, high])) = (row.kind, row.times(one, |run| run.cpu)) {
            println!(
                "- {name} alone takes {median:.2} times the CPU time of the analysis ({low:.2}-{high:.2})"
            );
        }
    }
    let gained = one.times(two, |run| run.wall);
    let limit = one.times(apart, |run| run.wall).map(|limits| limits.map(|times| 2.0 * times));
    if let (Some([low, median, high]), Some([least, middle, most])) = (gained, limit) {
        println!(
            "- 2 threads are {median:.2} times as fast as 1 ({low:.2}-{high:.2}); two analyses side by side do \
             {middle:.2} times the work of one ({least:.2}-{most:.2})"
        );
    }
}

fn line(about: &str, measured: &Measured, input: &Made) -> String {
    let cpu = measured.cpu.as_secs_f64();
    let (spans, bytes) = (input.spans as f64 / 1e6, input.bytes as f64 / 1e6);
    format!(
        "| {about} | {:.2} | {:.0} | {cpu:.2} | {:.2} | {:.0} |",
        spans / cpu,
        bytes / cpu,
        measured.wall.as_secs_f64(),
        measured.peak_bytes as f64 / 1e6,
    )
}
