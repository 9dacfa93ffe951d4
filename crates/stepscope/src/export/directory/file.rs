//! The files of a directory: one that is written to, and one that is not any more.

use std::io::{self, IoSlice};
use std::path::PathBuf;

use crate::export::kept_steps::Frame;
use crate::os::guarded_file::GuardedFile;

/// One that is written to.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// See `turns` of the sink; 0 for other files.
    pub(super) turn: u32,
    pub(super) path: PathBuf,
    pub(super) file: GuardedFile,
    pub(super) bytes: u64,
    pub(super) spans: u64,
    /// See `marked_bytes` of the sink.
    pub(super) marked_bytes: u64,
    /// Holds the start of the run or one of the first steps.
    pub(super) protected: bool,
}

/// One that may be deleted.
#[derive(Debug)]
pub(super) struct ClosedFile {
    pub(super) turn: u32,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) spans: u64,
    pub(super) marked_bytes: u64,
}

impl OpenFile {
    /// Appends all of `bytes` or nothing.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append_all(&mut [IoSlice::new(bytes)], bytes.len() as u64)
    }

    /// The same for a message, which is not copied for it.
    pub(super) fn append_framed(&mut self, framed: &Frame<'_>) -> io::Result<()> {
        self.append_all(&mut framed.parts().map(IoSlice::new), framed.len())
    }

    fn append_all(&mut self, parts: &mut [IoSlice<'_>], len: u64) -> io::Result<()> {
        self.file.append(parts, self.bytes)?;
        self.bytes += len;
        Ok(())
    }
}
