//! How fast a run is analysed, and in how much memory, beside serde_json and prost. Makes the inputs, runs each case in
//! processes of its own, in rounds, and prints tables; how to run it and what came out is in docs/analysis-speed.md.
//!
//! `analysis-bench [--spans N] [--repeat N]` does everything; `analysis-bench case NAME PATH` is one of the processes.

mod aims;
mod cases;
mod input;
mod measure;
mod messages;
mod programs;
mod rounds;
mod table;

use std::process::ExitCode;

use input::Input;
use programs::Programs;
use rounds::Row;

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
    let mut settings = Settings { spans: 5_000_000, repeat: 5 };
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
    let mut missed = Vec::new();
    for input in Input::all(settings.spans) {
        let file = input.make(&programs)?;
        let mut rows = Row::all(&input, &file, &programs)?;
        for _ in 0..settings.repeat {
            rows.iter_mut().try_for_each(|row| row.run(&file))?;
        }
        table::write(&input.about(), &file, &rows);
        missed.extend(aims::missed(&input, &file, &rows));
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("aims are missed:\n- {}", missed.join("\n- "))) }
}
