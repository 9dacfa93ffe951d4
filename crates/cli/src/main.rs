//! The program `stepscope`: reads recorded runs, says what they show, and carries a demo of its own. This file
//! chooses the command and turns its outcome into an exit code; everything that is analysed lives in
//! `stepscope-analyze`, everything that is read in `stepscope-model`.

mod args;
mod child;
mod command;
mod config;
mod doctor;
mod environment;
mod error;
mod exit;
mod fold;
mod headers;
mod heap;
mod input;
mod misfit;
mod output;
mod partial_file;
mod progress;
mod signals;
mod stop;
mod symbols;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::error::CliError;

/// Counts what the demo's sections allocate; costs the other commands nothing that can be measured.
#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

fn main() -> ExitCode {
    // Wrong usage ends in here, with the parser's message and `exit::USAGE`.
    let cli = Cli::parse();
    // The demo's training would fault in each of its matrices anew.
    if !matches!(cli.command, Command::Demo(_)) {
        heap::keep_less();
    }
    // The panic hook has told what happened; the code tells scripts.
    let code = catch_unwind(AssertUnwindSafe(|| run(&cli))).unwrap_or(exit::INTERNAL);
    ExitCode::from(code)
}

fn run(cli: &Cli) -> u8 {
    let outcome = match &cli.command {
        Command::Demo(args) => command::demo::run(args, cli.global),
        Command::Record(args) => command::record::run(args, cli.global),
        Command::Capture(args) => command::capture::run(args, cli.global),
        Command::Doctor(args) => command::doctor::run(args, cli.global),
        Command::Monitor(args) => command::monitor::run(args, cli.global),
        Command::Analyze(args) => command::analyze::run(args, cli.global),
        Command::Merge(args) => command::merge::run(args, cli.global),
        Command::Convert(args) => command::convert::run(args, cli.global),
        Command::Explain(args) => command::explain::run(args, cli.global),
        Command::Config(args) => command::config::run(args),
        Command::LeakCheck => command::leak_check::run(),
        Command::Completions { shell } => command::completions::run(*shell),
    };
    match outcome {
        Ok(code) => code,
        Err(CliError::BrokenPipe) => exit::FINE,
        Err(error) => {
            // Nobody left to tell if this fails too.
            let _ = writeln!(std::io::stderr(), "stepscope: {error}");
            error.code()
        }
    }
}
