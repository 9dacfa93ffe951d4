//! Why the program stops, each reason mapped to its exit code. Messages are fragments that follow
//! "stepscope: ", with what to do next where it helps.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit;

/// Why the program stops.
#[derive(Debug)]
pub(crate) enum CliError {
    /// The arguments fit the syntax but not each other, or name something that does not exist.
    Usage(String),
    /// Input that cannot be read.
    Input(String),
    /// A file that cannot be written.
    Output(PathBuf, io::Error),
    /// A program that could not be started.
    Program(OsString, io::Error),
    /// A place that cannot be written to, with what to do.
    Unwritable(String),
    /// The reader of standard output went away: no message, no failure.
    BrokenPipe,
    /// Our fault.
    Internal(String),
}

impl CliError {
    /// The exit code.
    #[must_use]
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => exit::USAGE,
            Self::Program(_, error) if error.kind() == io::ErrorKind::NotFound => exit::NO_PROGRAM,
            Self::Program(..) => exit::NOT_STARTED,
            Self::Input(_) | Self::Output(..) | Self::Unwritable(_) => exit::UNREADABLE,
            Self::BrokenPipe => exit::FINE,
            Self::Internal(_) => exit::INTERNAL,
        }
    }

    /// For a failed write to standard output.
    #[must_use]
    pub(crate) fn stdout(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Output("standard output".into(), error)
        }
    }

    /// For a failed write to a file.
    #[must_use]
    pub(crate) fn output(path: &Path, error: io::Error) -> Self {
        Self::Output(path.into(), error)
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) | Self::Input(reason) | Self::Unwritable(reason) => f.write_str(reason),
            Self::Output(path, error) => write!(f, "failed to write {}: {error}", path.display()),
            Self::Program(name, error) if error.kind() == io::ErrorKind::NotFound => {
                write!(f, "there is no program {}; check its name, the path and PATH", name.to_string_lossy())
            }
            Self::Program(name, error) => write!(f, "failed to start {}: {error}", name.to_string_lossy()),
            Self::BrokenPipe => f.write_str("standard output was closed"),
            Self::Internal(reason) => {
                write!(f, "{reason}; this is a fault of stepscope: please report it")
            }
        }
    }
}

impl std::error::Error for CliError {}
