//! `stepscope completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;
use crate::{exit, output};

/// Writes the completions of a shell.
pub(crate) fn run(shell: Shell) -> Result<u8, CliError> {
    // Into memory first: the generator panics when its writer fails, as a closed pipe does.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stepscope", &mut script);
    output::stdout(&script)?;
    Ok(exit::FINE)
}
