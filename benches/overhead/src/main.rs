//! What profiling costs a training run: the networks of the examples with burn and candle, trained with and without
//! stepscope. How it is run, and what is compared, is in README.md.
//!
//! `overhead-bench time FRAMEWORK MODE STEPS` alternates between steps with and without; `overhead-bench work …` only
//! works, for profilers; `overhead-bench count FRAMEWORK` has callgrind count that work's instructions in every mode.
//! `overhead-bench trouble FRAMEWORK TROUBLE ROUNDS` sends to a receiver that is well and in trouble by turns, which is
//! `overhead-bench receiver PORT`.

mod alternation;
#[cfg(feature = "candle")]
mod candle;
mod clocks;
mod count;
mod receiver;
mod rounds;
mod statistics;
mod steps;
mod training;
mod trouble;

use std::process::ExitCode;

use alternation::{Alternation, Mode};
use receiver::Trouble;
use steps::Steps;
use trouble::Course;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Trains for so many steps; each step of the loop goes through what measures them.
type Train = fn(&mut Steps, usize) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

const FRAMEWORKS: &[(&str, Train)] = &[
    ("burn", training::burn),
    #[cfg(feature = "candle")]
    ("candle", candle::train),
];

const USAGE: &str =
    "usage: overhead-bench time|work burn|candle none|figures|root|basic|detailed|comprehensive|live [STEPS]
       overhead-bench count|count-live burn|candle [STEPS]
       overhead-bench trouble burn|candle none|absent|slow|refusing|half-open|head-only [ROUNDS]";

/// Has glibc keep the memory that is freed. By its defaults it gives the end of the heap back and asks for it again, some
/// hundred page faults a step or none, as chance places what lives longer: a tenth of a step that comes and goes with
/// stepscope and without.
#[cfg(target_env = "gnu")]
fn keep_freed_memory() {
    const MOST: libc::c_int = 1 << 30;
    for (parameter, bytes) in
        [(libc::M_TRIM_THRESHOLD, MOST), (libc::M_MMAP_THRESHOLD, MOST), (libc::M_TOP_PAD, 1 << 26)]
    {
        // SAFETY: no other thread is there yet that could allocate.
        unsafe { libc::mallopt(parameter, bytes) };
    }
}

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    if std::env::var_os("GLIBC_DEFAULTS").is_none() {
        keep_freed_memory();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What the examples would be told on their command line.
fn options(steps: usize) -> examples_common::Options {
    let out = std::path::PathBuf::from("profiles");
    examples_common::Options { steps, seed: 1, plant: None, out, recorded: true }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if let [verb, port] = arguments
        && verb == "receiver"
    {
        return receiver::run(port.parse()?);
    }
    // Both frameworks hand work to a pool: here it is this thread, so that a step is what this thread does.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let [verb, framework, rest @ ..] = arguments else { return Err(USAGE.into()) };
    let train = FRAMEWORKS.iter().find(|(name, _)| name == framework).ok_or(USAGE)?.1;
    let steps = || rest.first().map(|steps| steps.parse()).transpose();
    match verb.as_str() {
        "count" => return count::compare(framework, steps()?.unwrap_or(10)),
        "count-live" => return count::compare_live(framework, steps()?.unwrap_or(10)),
        _ => {}
    }
    let [mode, rest @ ..] = rest else { return Err(USAGE.into()) };
    let number = rest.first().map(|number| number.parse()).transpose()?;
    if verb == "trouble" {
        let trouble = Trouble::parse(mode).ok_or(USAGE)?;
        return compare_trouble(framework, train, trouble, number.unwrap_or(20));
    }
    let mode = Mode::parse(mode).ok_or(USAGE)?;
    match verb.as_str() {
        "time" => {
            let mut steps = Steps::Alternation(Alternation::between(mode)?);
            train(&mut steps, number.unwrap_or(4_000))?;
            if let Steps::Alternation(alternation) = steps {
                println!("{framework:7} {:14} {}", mode.name(), alternation.finish());
            }
        }
        "work" => {
            let mut steps = Steps::Alternation(Alternation::always(mode)?);
            train(&mut steps, number.unwrap_or(100))?;
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

fn compare_trouble(
    framework: &str,
    train: Train,
    trouble: Trouble,
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // SAFETY: no other thread is there yet that could read it.
    unsafe { std::env::set_var("OTEL_EXPORTER_OTLP_TIMEOUT", "2000") };
    let mut steps = Steps::Course(Course::start(trouble, rounds)?);
    // The rounds end it.
    train(&mut steps, usize::MAX)?;
    if let Steps::Course(course) = steps {
        println!("{framework:7} {:14} {}", trouble.name(), course.finish()?);
    }
    Ok(())
}
