//! How a directory stays within its bound: which files go, and what of them is copied before.

use std::fs;
use std::io;

use stepscope_core::LossReason;

use super::file::{ClosedFile, OpenFile};
use super::{DirectorySink, KEPT_SHARE};

impl DirectorySink {
    /// What may be used while no steps are copied.
    pub(super) fn limit_bytes(&self) -> u64 {
        self.bound_bytes - self.bound_bytes / KEPT_SHARE
    }

    /// Deletes files until `bytes` more fit, the oldest first and those of the first steps last; whether they fit.
    pub(super) fn make_room(&mut self, bytes: u64) -> bool {
        while !self.has_room(bytes) {
            if let Some(oldest) = self.deletable.pop_front() {
                self.delete(&oldest);
            } else if let Some(youngest) = self.protected.pop() {
                self.protected_bytes -= youngest.bytes;
                self.delete(&youngest);
            } else {
                return false;
            }
        }
        true
    }

    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.used_bytes() + bytes <= self.limit_bytes()
    }

    pub(super) fn delete(&mut self, file: &ClosedFile) {
        // Copied before the rest goes: whatever happens in between, a reader counts a span once.
        let kept = if self.notable.touches(file.turn) { self.keep(file).unwrap_or(0) } else { 0 };
        if fs::remove_file(&file.path).is_ok() {
            let gone = file.spans.saturating_sub(kept);
            self.counts.exported = self.counts.exported.saturating_sub(gone);
            self.counts.drop_spans(LossReason::SizeBound, gone);
        }
        self.total_bytes = self.total_bytes.saturating_sub(file.bytes);
        self.marked_bytes = self.marked_bytes.saturating_sub(file.marked_bytes);
        self.notable.forget_file(file.turn);
    }

    /// Copies the steps to keep out of a file; the number of their spans. What they take in all is a part of the bound, and
    /// as much is free before: neither a copy of them all nor what comes on top of them takes more.
    fn keep(&mut self, file: &ClosedFile) -> io::Result<u64> {
        let contents = fs::read(&file.path)?;
        let (mut framed, mut spans) = self.notable.extract(self.format, &contents);
        let room = self.bound_bytes / KEPT_SHARE;
        let is_full = |kept: &Option<OpenFile>, more: usize| {
            kept.as_ref().map_or(0, |kept| kept.bytes) + more as u64 > room
        };
        while spans > 0 && is_full(&self.kept, framed.len()) {
            self.compact_kept()?;
            if is_full(&self.kept, framed.len()) {
                if !self.notable.shrink() {
                    return Ok(0);
                }
                (framed, spans) = self.notable.extract(self.format, &contents);
            }
        }
        if spans == 0 {
            return Ok(0);
        }
        if self.kept.as_ref().is_some_and(|kept| !kept.file.is_ours()) {
            self.compact_kept()?;
        }
        if self.kept.is_none() {
            self.kept = Some(self.open_spans()?);
        }
        if let Some(kept) = &mut self.kept {
            kept.append(&framed)?;
            kept.spans += spans;
            self.total_bytes += framed.len() as u64;
        }
        Ok(spans)
    }

    /// Lets the steps go that were kept once and are among the slowest no more.
    fn compact_kept(&mut self) -> io::Result<()> {
        let Some(kept) = self.kept.take() else { return Ok(()) };
        let (framed, spans) = self.notable.extract(self.format, &fs::read(&kept.path)?);
        let mut next = self.open_spans()?;
        next.append(&framed).inspect_err(|_| drop(fs::remove_file(&next.path)))?;
        next.spans = spans;
        let _ = fs::remove_file(&kept.path);
        let gone = kept.spans.saturating_sub(spans);
        self.counts.exported = self.counts.exported.saturating_sub(gone);
        self.counts.drop_spans(LossReason::SizeBound, gone);
        self.total_bytes = (self.total_bytes + next.bytes).saturating_sub(kept.bytes);
        self.kept = Some(next);
        Ok(())
    }
}
