//! Why nothing at all could be read: [`ReadError`]. Damage inside of files is not an error but a
//! [`ReadIssue`](crate::ReadIssue).

use std::fmt;
use std::path::{Path, PathBuf};

/// Nothing could be read from an input. The message says what to do.
#[derive(Debug)]
pub struct ReadError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    path: PathBuf,
    source: Option<std::io::Error>,
    /// What was wrong with the file, where nothing of it is known.
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Missing,
    Unreadable,
    NoFiles,
    NothingKnown,
    TooManyOpen,
}

impl ReadError {
    fn new(kind: Kind, path: &Path, source: Option<std::io::Error>) -> Self {
        Self(Box::new(Inner { kind, path: path.to_path_buf(), source, reason: String::new() }))
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        let kind =
            if source.kind() == std::io::ErrorKind::NotFound { Kind::Missing } else { Kind::Unreadable };
        Self::new(kind, path, Some(source))
    }

    pub(crate) fn no_files(path: &Path) -> Self {
        Self::new(Kind::NoFiles, path, None)
    }

    pub(crate) fn nothing_known(path: &Path, reason: String) -> Self {
        let mut error = Self::new(Kind::NothingKnown, path, None);
        error.0.reason = reason;
        error
    }

    pub(crate) fn too_many_open(source: Option<std::io::Error>) -> Self {
        Self::new(Kind::TooManyOpen, Path::new(""), source)
    }

    /// Whether the path does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.0.kind == Kind::Missing
    }

    /// The path in question; empty where there is none.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            Kind::Missing => f.write_str("no such file or directory; check the path")?,
            Kind::Unreadable => {
                f.write_str("cannot be read")?;
                if let Some(source) = &self.0.source {
                    write!(f, " ({source})")?;
                }
                f.write_str("; check its permissions")?;
            }
            Kind::NoFiles => f.write_str("no file in this directory; give the directory of a run")?,
            Kind::NothingKnown => f.write_str(&self.0.reason)?,
            Kind::TooManyOpen => {
                f.write_str("too many unfinished traces for a partial; read all files of the run at once")?;
                if let Some(source) = &self.0.source {
                    write!(f, " ({source})")?;
                }
            }
        }
        if self.0.path.as_os_str().is_empty() { Ok(()) } else { write!(f, ": {}", self.0.path.display()) }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
