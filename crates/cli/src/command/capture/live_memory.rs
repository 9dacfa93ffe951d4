//! What programs answer that were asked for their live memory, in words: where it is and what to do with it, or what they lack.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stepscope::__settings::MemoryAnswer;

use crate::args::Global;
use crate::error::CliError;
use crate::{exit, output};

const MIB: f64 = (1u64 << 20) as f64;

/// Says what became of it; an error where no process has written any.
pub(super) fn tell(directories: &[&PathBuf], answers: &[String], global: Global) -> Result<u8, CliError> {
    let mut text = String::new();
    let mut lacks = Vec::new();
    for (directory, answer) in directories.iter().zip(answers) {
        match written(directory, answer) {
            Ok(told) => {
                let _ = writeln!(text, "{told}");
            }
            Err(lack) => lacks.push(format!("{}: {lack}", directory.display())),
        }
    }
    let lacks = lacks.join("\n");
    if text.is_empty() {
        return Err(CliError::Input(lacks));
    }
    if !lacks.is_empty() {
        output::note(global, &lacks);
    }
    if !global.quiet {
        let run = match directories {
            [one] => Some(one.as_path()),
            several => several.first().and_then(|directory| directory.parent()),
        };
        if let Some(run) = run {
            let _ = writeln!(text, "next: stepscope analyze {}", run.display());
        }
        output::stdout(text.as_bytes())?;
    }
    Ok(exit::FINE)
}

/// Where it is, or why it is not.
fn written(directory: &Path, answer: &str) -> Result<String, String> {
    Err(match MemoryAnswer::parse(answer) {
        Some(MemoryAnswer::Written { live_bytes, file }) => {
            let (path, live) = (directory.join(file), live_bytes as f64 / MIB);
            return Ok(format!("{live:.1} MiB live by sample, written to {}", path.display()));
        }
        Some(MemoryAnswer::NoAllocator) => "the program does not count its memory: have `#[global_allocator] static ALLOC: \
                                            stepscope::Alloc = stepscope::Alloc::system();` in it"
            .into(),
        Some(MemoryAnswer::Off) => "the program takes no samples of its memory: start it with `memory` in STEPSCOPE_TRACK, and \
                                    STEPSCOPE_MEMORY_SAMPLE_BYTES other than 0"
            .into(),
        Some(MemoryAnswer::Failed(why)) => format!("the program could not write what is live: {why}"),
        None => "the program took the request, but did not say what came of it: its stepscope may be older than this one".into(),
    })
}
