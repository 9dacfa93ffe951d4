//! How fast a run is analysed, and in how much memory, beside serde_json and prost. Makes the inputs, runs each case
//! in processes of its own and prints a table; how to run it and what came out is in docs/analysis-speed.md.
//!
//! `analysis-bench [--spans N] [--repeat N]` does everything; `analysis-bench case NAME PATH` is one of the processes.

mod cases;
mod input;
mod measure;
mod messages;
mod programs;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use cases::CASES;
use input::Input;
use measure::{Measured, Work};
use programs::Programs;

/// What the command line says.
struct Settings {
    spans: u64,
    repeat: usize,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["case", name, path] => cases::run(name, path.as_ref()).map(|spans| println!("{spans}")),
        words => settings(words).and_then(|settings| bench(&settings)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("analysis-bench: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn settings(words: &[&str]) -> Result<Settings, String> {
    let mut settings = Settings { spans: 5_000_000, repeat: 3 };
    for pair in words.chunks(2) {
        let [flag, value] = pair else { return Err(format!("{} needs a value", pair.join(" "))) };
        let number: u64 = value.parse().map_err(|_| format!("{flag} takes a number, not {value}"))?;
        match *flag {
            "--spans" => settings.spans = number.max(5_000),
            "--repeat" => settings.repeat = number.clamp(1, 100) as usize,
            _ => return Err(format!("{flag} is not known")),
        }
    }
    Ok(settings)
}

fn bench(settings: &Settings) -> Result<(), String> {
    let programs = Programs::build()?;
    for input in Input::all(settings.spans) {
        let file = input.make(&programs)?;
        table::head(&input.about(), &file);
        let best = |work: &dyn Fn() -> Result<Measured, String>| best(settings.repeat, work);
        for case in CASES.iter().filter(|case| input.is_compared && case.is_for(input.format)) {
            let work = Work::case(case.name, &file.path)?;
            let measured = best(&|| work.measure())?;
            // Who sees fewer spans has done less work.
            if measured.output.trim() != file.spans.to_string() {
                return Err(format!("{} saw {} of {} spans", case.name, measured.output, file.spans));
            }
            table::row(case.about, &measured, &file);
        }
        let one = Work::analysis(&programs, &file.path, 1);
        let alone = best(&|| one.measure())?;
        table::row("stepscope analyze, 1 thread", &alone, &file);
        let two = best_wall(settings.repeat, &|| Work::analysis(&programs, &file.path, 2).measure())?;
        table::row("stepscope analyze, 2 threads", &two, &file);
        if input.is_compared {
            // Two analyses that have nothing in common but the machine: no program gains more from a second thread.
            let apart = best_wall(settings.repeat, &|| one.measure_twice())?;
            let alone = best_wall(settings.repeat, &|| one.measure())?;
            table::speedup(&alone, &two, &apart);
        }
    }
    Ok(())
}

/// The run that took the least CPU time: what else the machine does can only add to it.
fn best(repeat: usize, work: &dyn Fn() -> Result<Measured, String>) -> Result<Measured, String> {
    least(repeat, work, |measured| measured.cpu)
}

/// The run that was over soonest.
fn best_wall(repeat: usize, work: &dyn Fn() -> Result<Measured, String>) -> Result<Measured, String> {
    least(repeat, work, |measured| measured.wall)
}

fn least(
    repeat: usize,
    work: &dyn Fn() -> Result<Measured, String>,
    time: fn(&Measured) -> Duration,
) -> Result<Measured, String> {
    let mut best: Option<Measured> = None;
    for _ in 0..repeat {
        let measured = work()?;
        if best.as_ref().is_none_or(|best| time(&measured) < time(best)) {
            best = Some(measured);
        }
    }
    best.ok_or_else(|| "nothing was measured".into())
}
