//! What a reader leaves behind for another one: traces that are still open, halves of records, which traces
//! were delivered, issues and counts. It is what a partial result carries beside its figures.

use serde::{Deserialize, Serialize};

use crate::assembly::{ClockState, SkewState};
use crate::fragments::Fragment;
use crate::{FileInfo, ReadError, ReadIssue, Resource};

/// An open trace, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnfinishedTrace {
    pub(crate) id: [u8; 16],
    /// Index into [`Unfinished::names`].
    pub(crate) file: u32,
    /// Index into [`Unfinished::resources`].
    pub(crate) resource: u32,
    /// Spans as compact records.
    pub(crate) records: Vec<u8>,
}

/// The state of a reader that stopped without finishing; see [`Reader::suspend`](crate::Reader::suspend).
/// The same input gives the same value, so it can be compared and stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unfinished {
    pub(crate) traces: Vec<UnfinishedTrace>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) names: Vec<String>,
    /// The processes of open traces, each with an index into [`Unfinished::resources`].
    pub(crate) processes: Vec<(u32, u32)>,
    pub(crate) closed: Vec<(u64, Vec<(u32, u32)>)>,
    /// Starts of steps by process.
    pub(crate) clocks: Vec<ClockState>,
    /// Spans that begin before their parents.
    pub(crate) skews: Vec<SkewState>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) issues: Vec<ReadIssue>,
    pub(crate) files: Vec<FileInfo>,
    pub(crate) spans: u64,
    pub(crate) traces_delivered: u64,
    pub(crate) duplicates: u64,
    pub(crate) points: u64,
}

impl Unfinished {
    /// Fingerprint of everything that was read; the order and the names of files do not matter.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        self.files.iter().fold(0, |sum, file| sum.wrapping_add(file.fingerprint))
    }

    /// Whether both were read from the same bytes, so that one of them must be left out.
    #[must_use]
    pub fn is_same_input(&self, other: &Self) -> bool {
        let sorted = |unfinished: &Self| {
            let mut all: Vec<u128> = unfinished.files.iter().map(|file| file.fingerprint).collect();
            all.sort_unstable();
            all
        };
        !self.files.is_empty() && sorted(self) == sorted(other)
    }

    /// The files that were read.
    #[must_use]
    pub fn files(&self) -> &[FileInfo] {
        &self.files
    }

    /// Whether there are pieces of records whose other pieces may be in another input.
    #[must_use]
    pub fn has_pieces(&self) -> bool {
        !self.fragments.is_empty()
    }

    /// An error if nothing in any of the files could be read, and none of them holds a piece of a record.
    ///
    /// # Errors
    /// As [`ReadOutcome::check`](crate::ReadOutcome::check).
    pub fn check(&self) -> Result<(), ReadError> {
        if self.has_pieces() { Ok(()) } else { crate::outcome::check(&self.files, &self.issues) }
    }

    /// Number of traces that were still open.
    #[must_use]
    pub fn open_traces(&self) -> usize {
        self.traces.len()
    }
}
