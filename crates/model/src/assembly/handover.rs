//! What one reader leaves to another one, or has in common with it: open traces, and those that were delivered.

use std::io;
use std::sync::Arc;

use stepscope_core::identity::TraceId;

use super::closed::{Closed, ClosedRanges};
use super::deliver::count;
use super::{Assembler, Piece, Spill};
use crate::Sink;
use crate::issues::Issues;

impl Assembler {
    /// Whether what is open is in memory, and not more than `max_bytes`.
    pub(crate) fn holds_at_most(&self, max_bytes: usize) -> bool {
        self.spill.is_none() && self.open_bytes <= max_bytes
    }

    /// Whether spans of a trace that is among `closed` are open here.
    pub(crate) fn has_open_of(&self, closed: &ClosedRanges) -> bool {
        // Spilled traces are not looked at one by one.
        let mut other = Closed::default();
        let (_, is_whole) = other.absorb(closed);
        self.spill.is_some()
            || !is_whole
            || self.traces.keys().chain(self.held.keys()).any(|id| other.contains(id))
    }

    /// Forgets open traces that another reader has delivered: what is here of them came twice.
    pub(crate) fn drop_closed(&mut self, issues: &mut Issues) {
        let gone: Vec<(TraceId, u32)> = self
            .traces
            .iter()
            .chain(&self.held)
            .filter(|(id, _)| self.closed.contains(id))
            .map(|(&id, &slot)| (id, slot))
            .collect();
        for (id, slot) in gone {
            self.traces.remove(&id);
            self.held.remove(&id);
            if let Some(open) = self.slots.get(slot as usize) {
                let (file, spans) = (open.file, u64::from(open.spans));
                self.repeated((file, None), spans, issues);
            }
            self.release(slot);
        }
        self.drop_closed_parts();
    }

    /// Takes a piece of a trace that another reader left open.
    pub(crate) fn absorb(&mut self, piece: &Piece, issues: &mut Issues, sink: &mut dyn Sink) {
        self.add_records(piece, issues, sink);
        self.bound(issues);
    }

    /// Hands out everything that is open, sorted, without delivering it. An error where temporary files
    /// cannot be read, or without a cause where it is more than `max_bytes`.
    pub(crate) fn take_open(
        &mut self,
        max_bytes: usize,
        issues: &mut Issues,
    ) -> Result<Vec<Piece>, Option<io::Error>> {
        let mut pieces = Vec::new();
        let mut bytes = 0usize;
        let held = std::mem::take(&mut self.held);
        for slot in std::mem::take(&mut self.traces).into_values().chain(held.into_values()) {
            if let Some(open) = self.slots.get_mut(slot as usize) {
                bytes = bytes.saturating_add(open.bytes.len());
                let records = std::mem::take(&mut open.bytes);
                let resource = Arc::clone(&open.resource);
                pieces.push(Piece { id: open.id, file: open.file, resource, records });
            }
        }
        self.forget_open();
        for part in self.spill.take().into_iter().flat_map(Spill::into_parts) {
            part.read(|piece| {
                if self.closed.contains(&piece.id) {
                    // It was closed after it had been spilled, so it came twice.
                    self.repeated((piece.file, None), count(&piece.records), issues);
                    return;
                }
                bytes = bytes.saturating_add(piece.records.len());
                if bytes <= max_bytes {
                    pieces.push(piece);
                }
            })
            .map_err(Some)?;
        }
        if bytes > max_bytes {
            return Err(None);
        }
        pieces.sort_unstable_by(|a, b| (a.id, &a.records).cmp(&(b.id, &b.records)));
        Ok(pieces)
    }
}
