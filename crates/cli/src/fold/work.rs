//! What is left to read of a directory, while several threads read it: each its own part, and then the latter half of
//! what another one has left. What they do with the files is not decided here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stepscope_model::Listing;

use super::Part;

/// The parts of a directory, by number.
pub(super) struct Work {
    parts: Mutex<Vec<Left>>,
    /// Less than this is not worth a part.
    least_bytes: u64,
}

/// What is left of a part.
struct Left {
    /// Place of the part's first file among all files.
    at: usize,
    taken: usize,
    files: Listing,
}

impl Work {
    pub(super) fn new(parts: Vec<Listing>, least_bytes: u64) -> Self {
        let mut at = 0;
        let parts = parts.into_iter().map(|files| {
            let left = Left { at, taken: 0, files };
            at += left.files.files();
            left
        });
        Self { parts: Mutex::new(parts.collect()), least_bytes }
    }

    /// The next file of a part.
    pub(super) fn next(&self, number: usize) -> Option<Listing> {
        let mut parts = self.lock();
        let left = parts.get_mut(number)?;
        left.taken += 1;
        left.files.take_first()
    }

    /// Makes a new part of the latter half of what is left of the largest, and gives its number.
    pub(super) fn take_half(&self) -> Option<usize> {
        let mut parts = self.lock();
        let largest = parts.iter_mut().max_by_key(|left| left.files.bytes())?;
        let files = largest.files.take_half(self.least_bytes)?;
        let at = largest.at + largest.taken + largest.files.files();
        parts.push(Left { at, taken: 0, files });
        Some(parts.len() - 1)
    }

    /// Place of the first file of a part among all files.
    pub(super) fn place(&self, number: usize) -> usize {
        self.lock().get(number).map_or(0, |left| left.at)
    }

    /// What nobody has read.
    pub(super) fn left(self) -> impl Iterator<Item = Part> {
        let parts = self.parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let left = parts.into_iter().filter(|left| left.files.files() > 0);
        left.map(|left| Part { at: left.at + left.taken, files: left.files, result: None })
    }

    /// Whoever panicked did so while it read, not while it held this.
    fn lock(&self) -> MutexGuard<'_, Vec<Left>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
