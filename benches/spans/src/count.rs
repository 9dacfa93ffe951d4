//! Instructions of the main thread by callgrind: a run of 2N chunks minus one of N, over the spans in N, so that
//! set-up and end cancel out.

use std::path::Path;
use std::process::Command;

use crate::cases::{Case, SPANS};

/// Chunks of the shorter run.
const CHUNKS: usize = 20;

/// Runs this program again.
pub(crate) fn again(arguments: &[&str]) {
    let Ok(program) = std::env::current_exe() else { return };
    if let Err(error) = Command::new(program).args(arguments).status() {
        eprintln!("could not run: {error}");
    }
}

/// Instructions that the main thread needs for so many chunks.
fn measure(case: &Case, chunks: usize, out: &Path) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let file = out.join("callgrind.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["run", case.name, &chunks.to_string()])
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

/// Says what a span of `case` needs.
pub(crate) fn instructions(case: &Case) {
    let counted = tempfile::tempdir().ok().and_then(|out| {
        let short = measure(case, CHUNKS, out.path())?;
        let long = measure(case, 2 * CHUNKS, out.path())?;
        Some(long.saturating_sub(short) as f64 / (CHUNKS * SPANS) as f64)
    });
    match counted {
        Some(instructions) => println!("{:24} {instructions:8.0} instructions", case.name),
        None => eprintln!("{}: valgrind did not run it", case.name),
    }
}
