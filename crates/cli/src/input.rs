//! Which inputs are meant.

use std::path::{Path, PathBuf};

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

/// What is written must not be a file that is read.
pub(crate) fn refuse_overwrite(inputs: &[PathBuf], written: &[Option<&Path>]) -> Result<(), CliError> {
    let real = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    for out in written.iter().flatten() {
        let Some(place) = real(out) else { continue };
        if inputs.iter().any(|input| real(input).is_some_and(|input| input == place)) {
            return Err(CliError::Usage(format!(
                "{} is an input, and would be overwritten; write to another place",
                out.display()
            )));
        }
    }
    Ok(())
}

/// Standard input can be read once.
pub(crate) fn check_streams(given: &[PathBuf]) -> Result<(), CliError> {
    if given.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(CliError::Usage("standard input (-) can be given once".into()));
    }
    Ok(())
}
