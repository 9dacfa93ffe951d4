//! What can go wrong in a demo run. What the program does about it (exit codes, hints) lives in the program.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run failed. Displays as a fragment that fits "failed to train: ...".
#[derive(Debug)]
pub struct DemoError(Kind);

#[derive(Debug)]
enum Kind {
    Options(&'static str),
    Data(String),
    Checkpoint { what: String, path: PathBuf, source: Option<io::Error> },
    Loader(String),
}

impl DemoError {
    /// Whether the options were refused before anything ran.
    #[must_use]
    pub fn is_invalid_options(&self) -> bool {
        matches!(self.0, Kind::Options(_))
    }

    /// Whether a checkpoint could not be written or read; the path stands in the message.
    #[must_use]
    pub fn is_checkpoint(&self) -> bool {
        matches!(self.0, Kind::Checkpoint { .. })
    }

    pub(crate) fn options(what: &'static str) -> Self {
        Self(Kind::Options(what))
    }

    pub(crate) fn data(what: impl Into<String>) -> Self {
        Self(Kind::Data(what.into()))
    }

    pub(crate) fn checkpoint_io(what: &str, path: &Path, source: io::Error) -> Self {
        Self(Kind::Checkpoint { what: what.to_owned(), path: path.to_owned(), source: Some(source) })
    }

    pub(crate) fn checkpoint(what: impl Into<String>, path: &Path) -> Self {
        Self(Kind::Checkpoint { what: what.into(), path: path.to_owned(), source: None })
    }

    pub(crate) fn loader(what: impl Into<String>) -> Self {
        Self(Kind::Loader(what.into()))
    }
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Options(what) => write!(f, "option out of range: {what}"),
            Kind::Data(what) => write!(f, "the embedded digits are damaged: {what}"),
            Kind::Checkpoint { what, path, source: Some(source) } => {
                write!(f, "{what}: {source}: {}", path.display())
            }
            Kind::Checkpoint { what, path, source: None } => write!(f, "{what}: {}", path.display()),
            Kind::Loader(what) => write!(f, "the data loader stopped: {what}"),
        }
    }
}

impl std::error::Error for DemoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Checkpoint { source: Some(source), .. } => Some(source),
            _ => None,
        }
    }
}
