//! What a reader tells at its end: [`ReadOutcome`] with one [`FileInfo`] a file.

use serde::{Deserialize, Serialize};

use crate::input::COMPRESSIONS;
use crate::reading::unknown_format;
use crate::{IssueKind, ReadError, ReadIssue};

/// One file that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileInfo {
    /// As given or found.
    pub path: String,
    /// Name of its format, with the compression around it; `None` where it was none that is known.
    pub format: Option<String>,
    /// Bytes as stored.
    pub bytes: u64,
    /// Spans in it, repeated ones too.
    pub spans: u64,
    /// Fingerprint of its uncompressed content.
    pub fingerprint: u128,
}

/// Whether a file of this format, as [`FileInfo`] names it, was compressed as a whole, so that offsets in it are those of
/// the unpacked content.
#[must_use]
pub fn is_compressed(format: &str) -> bool {
    format.rsplit_once(", ").is_some_and(|(_, around)| COMPRESSIONS.contains(&around))
}

/// What was read, and what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOutcome {
    /// The files, sorted by path.
    pub files: Vec<FileInfo>,
    /// What was wrong, sorted by file and kind; one entry for each file and kind.
    pub issues: Vec<ReadIssue>,
    /// Spans delivered in traces.
    pub spans: u64,
    /// Traces delivered.
    pub traces: u64,
    /// Of those, incomplete ones.
    pub incomplete_traces: u64,
    /// Spans that repeated others and were left out.
    pub duplicate_spans: u64,
    /// Points of stepscope's own metrics delivered.
    pub metric_points: u64,
}

impl ReadOutcome {
    /// An error if nothing in any of the files could be read.
    ///
    /// # Errors
    /// Names the first file that is not empty, or the first one where all are, and what is wrong with it.
    pub fn check(&self) -> Result<(), ReadError> {
        check(&self.files, &self.issues)
    }
}

/// An error if there are files, but none of a known format.
pub(crate) fn check(files: &[FileInfo], issues: &[ReadIssue]) -> Result<(), ReadError> {
    if files.is_empty() || files.iter().any(|file| file.format.is_some()) {
        return Ok(());
    }
    // What a file is cut off by, or damaged, says more than that it is of no known format.
    let of = |file: &FileInfo| {
        issues
            .iter()
            .filter(|issue| issue.file == file.path)
            .min_by_key(|issue| (issue.kind == IssueKind::UnknownFormat, issue.kind))
    };
    let is_empty = |file: &&FileInfo| of(file).is_some_and(|issue| issue.kind == IssueKind::Empty);
    let Some(file) = files.iter().find(|file| !is_empty(file)).or(files.first()) else { return Ok(()) };
    let reason = of(file).map_or_else(|| unknown_format(b""), |issue| issue.reason.clone());
    Err(ReadError::nothing_known(file.path.as_ref(), reason))
}
