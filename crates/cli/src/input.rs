//! Which inputs are meant.

use std::path::{Path, PathBuf};

use crate::args::OutputArgs;
use crate::error::CliError;

/// Stands for standard input.
pub(crate) const STDIN: &str = "-";

/// Where the layer writes, and what is read where nothing is named.
pub(crate) const DEFAULT: &str = "profiles";

/// The inputs given, or the default.
pub(crate) fn resolve(given: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    check_streams(given)?;
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if Path::new(DEFAULT).is_dir() {
        return Ok(vec![DEFAULT.into()]);
    }
    Err(CliError::Usage(format!(
        "no input, and no directory {DEFAULT}/ here; give files or directories of traces, or make some with \
         `stepscope demo`"
    )))
}

/// Standard input can be read once.
pub(crate) fn check_streams(given: &[PathBuf]) -> Result<(), CliError> {
    if given.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(CliError::Usage("standard input (-) can be given once".into()));
    }
    Ok(())
}

/// What is written must be none of what is read.
pub(crate) fn keep(inputs: &[PathBuf], args: &OutputArgs) -> Result<(), CliError> {
    let real = |path: &Path| path.canonicalize().ok();
    for out in args.output.iter().chain(&args.partial) {
        if real(out)
            .is_some_and(|out| out.is_file() && inputs.iter().any(|input| real(input).as_ref() == Some(&out)))
        {
            return Err(CliError::Usage(format!("{} is an input; write to another place", out.display())));
        }
    }
    Ok(())
}
