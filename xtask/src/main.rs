//! Project tasks that cargo alone does not do: `cargo xtask <task>`. Each task is a module; this file only
//! chooses one.

mod ahead;
mod budgets;
mod dashboards;
mod docs;
mod frameworks;
mod fuzz;
mod grafana;
mod lint;
mod otel;
mod page;
mod process;
mod test;

use std::process::ExitCode;

/// What a task comes to; the text says what failed and what to do about it.
type Outcome<T = ()> = Result<T, String>;

const USAGE: &str = "\
cargo xtask TASK

  test              what every change must pass; STAGE… runs single stages, --full all of them (before a release),
                    --changed BASE also the long ones that the change touches, --one-long one of the long ones
  lint [CHECK…]     format, rules for source files, clippy, documentation
  sizes             lines of source and of tests by crate, the largest files, words of documentation
  budgets           third-party crates a package, forbidden crates, directions between our crates
  fuzz [--seconds N]  every fuzz target, together for so long
  docs [--check]    write the generated documents, or say which are out of date
  dashboards [--check]  the same of the files for Grafana and Prometheus";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.split_first() {
        Some((&"test", stages)) => test::run(stages),
        Some((&"lint", checks)) => lint::run(checks),
        Some((&"sizes", [])) => lint::print_sizes(),
        Some((&"budgets", [])) => budgets::run(),
        Some((&"fuzz", [])) => test::fuzz(fuzz::SECONDS),
        Some((&"fuzz", ["--seconds", seconds])) => match seconds.parse() {
            Ok(seconds) => test::fuzz(seconds),
            Err(_) => Err(format!("`{seconds}` is no number of seconds")),
        },
        Some((&"docs", [])) => docs::write(),
        Some((&"docs", ["--check"])) => docs::check(),
        Some((&"dashboards", [])) => dashboards::write(),
        Some((&"dashboards", ["--check"])) => dashboards::check(),
        _ => Err(format!("unknown task\n\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("\nerror: {problem}");
            ExitCode::FAILURE
        }
    }
}
