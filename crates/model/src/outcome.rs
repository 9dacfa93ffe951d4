//! What a reader tells at its end: [`ReadOutcome`] with one [`FileInfo`] a file.

use serde::{Deserialize, Serialize};

use crate::{ReadError, ReadIssue};

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
    /// An error if not one of the files was of a known format.
    ///
    /// # Errors
    /// Names the first file.
    pub fn check(&self) -> Result<(), ReadError> {
        match self.files.first() {
            Some(first) if self.files.iter().all(|file| file.format.is_none()) => {
                Err(ReadError::nothing_known(first.path.as_ref()))
            }
            _ => Ok(()),
        }
    }
}
