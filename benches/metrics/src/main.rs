//! What the exporter costs: `metrics-bench pass` beside bare readings of the same files, `render` beside Prometheus exporters
//! of others, `count` the instructions of a pass beside those of a training thread, `allocators` what glibc takes for its
//! figures. How to run it is in README.md; `memory.py` there looks at the memory of the program `stepscope monitor`.

mod alloc;
mod allocators;
mod count;
mod pass;
mod render;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Whatever went wrong.
type Failure = Box<dyn Error + Send + Sync>;

/// The middle one of some times, and the tenth from below of a hundred.
fn of(times: &mut [Duration]) -> (Duration, Duration) {
    times.sort();
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    (at(times.len() / 2), at(times.len() / 10))
}

/// How long `work` takes.
fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn run(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        ["pass"] => pass::compare(),
        ["render"] => render::compare(),
        ["count"] => count::compare(),
        ["allocators"] => {
            allocators::compare();
            Ok(())
        }
        ["exporter", passes] => count::exporter(passes.parse()?),
        ["demo", steps] => count::demo(steps.parse()?),
        _ => {
            Err("usage: metrics-bench pass | render | count | allocators | exporter PASSES | demo STEPS"
                .into())
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("metrics-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
