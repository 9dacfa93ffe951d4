//! Instructions a step by callgrind, of the training thread, once the first steps are over: all of them, and those inside
//! of the calls that `tracing`'s and stepscope's macros make. The work itself differs by a thousandth between runs (tables
//! are hashed with random keys), what is inside of those calls does not.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use crate::alternation::{LIVE_BYTES, Mode, UNCOUNTED};

/// Where instrumented code calls into a recorder; none of them calls another.
const CALLS: [&str; 9] = [
    "stepscope::section::enter",
    "stepscope::section::enter_plain",
    "stepscope::section::end",
    "stepscope::section::record_value",
    "tracing::span::Span::new",
    "tracing_core::dispatcher::Dispatch::enter",
    "tracing_core::dispatcher::Dispatch::exit",
    "tracing_core::dispatcher::Dispatch::try_close",
    "tracing_core::dispatcher::Dispatch::event",
];

/// Those without which what is counted is not what profiling takes.
const NEEDED: [&str; 2] = ["stepscope::section::end", "tracing::span::Span::new"];

/// What the allocator calls where it chooses a block and where it frees one.
const LIVE: [&str; 4] = [
    "stepscope_mem::block::alarmed",
    "stepscope_mem::block::freed",
    "stepscope_mem::live::forget",
    "stepscope_mem::live::moved",
];

/// Instructions of a step.
struct Counted {
    all: f64,
    /// Those of profiling.
    own: f64,
    /// Calls of which there is nothing: nobody makes them, or they have become part of their callers.
    unseen: Vec<&'static str>,
}

fn measure(
    framework: &str,
    mode: Mode,
    steps: usize,
    calls: &[&'static str],
    live_bytes: u64,
) -> Result<Counted, Box<dyn Error + Send + Sync>> {
    let out = tempfile::tempdir()?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg("--toggle-collect=overhead_bench::alternation::counted")
        .arg(format!("--callgrind-out-file={}", out.path().join("counts").display()))
        .arg(std::env::current_exe()?)
        .env("STEPSCOPE_MEMORY_SAMPLE_BYTES", live_bytes.to_string())
        .args(["work", framework, mode.name(), &(UNCOUNTED + steps).to_string()])
        .output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into());
    }
    let table = inclusive(&out.path().join("counts-01"))?;
    // Where a function has lines of several files, each is a row, and the largest has them all.
    let of = |name: &str| {
        let rows = table.lines().filter_map(row).filter(|(_, function)| *function == name);
        rows.map(|(instructions, _)| instructions).max().unwrap_or(0) as f64 / steps as f64
    };
    let unseen = calls.iter().copied().filter(|name| of(name) == 0.0).collect();
    Ok(Counted { all: of("PROGRAM TOTALS"), own: calls.iter().copied().map(of).sum(), unseen })
}

/// What each function needs with everything that it calls, as callgrind's own program tells it.
fn inclusive(counts: &Path) -> Result<String, Box<dyn Error + Send + Sync>> {
    let tool = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--threshold=100", "--auto=no", "--tree=none"])
        .arg(counts)
        .output()?;
    Ok(String::from_utf8(tool.stdout)?)
}

/// Instructions and function of a row: `1,234 (0.1%)  file:function [object]`.
fn row(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.trim_start().split_once(' ')?;
    let function = rest.split_once(')').map_or(rest, |(_, function)| function).trim();
    let function = function.split(" [").next()?;
    let function = function.split_once(':').map_or(function, |(_, function)| function);
    // (With the number of calls behind it in some versions.)
    let function = function.split(" (").next()?;
    Some((number.replace(',', "").parse().ok()?, function.trim_start_matches(':')))
}

/// Says what a step needs in every mode.
pub(crate) fn compare(framework: &str, steps: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    for mode in ["none", "root", "basic", "detailed", "comprehensive"].into_iter().filter_map(Mode::parse) {
        let Counted { all, own, unseen } = measure(framework, mode, steps, &CALLS, LIVE_BYTES)?;
        println!(
            "{framework:7} {:14} {:.2} million instructions a step, profiling {own:.0} of them ({:.4} %)",
            mode.name(),
            all / 1e6,
            100.0 * own / (all - own)
        );
        // Every step has sections of both kinds, which end where they were recorded.
        let lacking: Vec<&str> = unseen.iter().copied().filter(|name| NEEDED.contains(name)).collect();
        if !lacking.is_empty() && mode.name() != "none" {
            return Err(format!("nothing is counted of {}", lacking.join(", ")).into());
        }
        if !unseen.is_empty() {
            println!("        not called, or part of a caller: {}", unseen.join(", "));
        }
    }
    Ok(())
}

/// Says what a step needs at `detailed` with live memory and without, in turn.
pub(crate) fn compare_live(framework: &str, steps: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mode = Mode::Live;
    for _ in 0..3 {
        let without = measure(framework, mode, steps, &LIVE, 0)?;
        let with = measure(framework, mode, steps, &LIVE, LIVE_BYTES)?;
        println!(
            "{framework:7} live memory: {:.3} and {:.3} million instructions a step ({:+.3} %), in the table {:.0} of them ({:.4} %)",
            without.all / 1e6,
            with.all / 1e6,
            100.0 * (with.all / without.all - 1.0),
            with.own - without.own,
            100.0 * (with.own - without.own) / without.all
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let total = "913,659 (100.0%)  PROGRAM TOTALS";
        assert_eq!(row(total), Some((913_659, "PROGRAM TOTALS")));
        let function = "    1,234 ( 0.10%)  ???:stepscope::section::end [/a/overhead-bench]";
        assert_eq!(row(function), Some((1_234, "stepscope::section::end")));
        assert_eq!(row("-- Auto-annotated source"), None);
    }
}
