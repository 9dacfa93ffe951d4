//! Instructions of the main thread by callgrind, inside of chunks alone: a run of 2N chunks minus one of N, over the spans
//! in N, so that what only the first ones do cancels out.

use std::path::Path;
use std::process::Command;

use crate::aims;
use crate::cases::{Case, SPANS};

/// Chunks of the shorter run.
const CHUNKS: usize = 20;

/// Runs this program again; whether that went well.
pub(crate) fn again(arguments: &[&str]) -> bool {
    let status = std::env::current_exe().and_then(|program| Command::new(program).args(arguments).status());
    match status {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("could not run: {error}");
            false
        }
    }
}

/// Instructions that the main thread needs for so many chunks.
fn measure(case: &Case, chunks: usize, out: &Path) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let file = out.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes", "--toggle-collect=spans_bench::counted"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["run", case.name, &chunks.to_string(), "settled"])
        .output()
        .ok()?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let text = std::fs::read_to_string(out.join("callgrind.out-01")).ok()?;
    let totals = text.lines().find_map(|line| line.strip_prefix("totals: "))?;
    totals.split_whitespace().next()?.parse().ok()
}

/// Says what a span of `case` needs; whether that could be counted.
pub(crate) fn instructions(case: &Case) -> bool {
    let counted = tempfile::tempdir().ok().and_then(|out| {
        let short = measure(case, CHUNKS, out.path())?;
        let long = measure(case, 2 * CHUNKS, out.path())?;
        Some(long.saturating_sub(short) as f64 / (CHUNKS * SPANS) as f64)
    });
    match counted {
        Some(instructions) => {
            let aim = aims::told(instructions, aims::instructions(case.name));
            println!("{:24} {instructions:8.0} instructions{aim}", case.name);
        }
        None => eprintln!("{}: valgrind did not run it", case.name),
    }
    counted.is_some()
}
