//! Assembly: spans grouped by trace across messages and files, in any order, and delivered as soon as a
//! trace of our layer is whole, with those that continue it; foreign traces at the end of the input. Memory is bounded by
//! spilling.

mod clock;
mod closed;
mod deliver;
mod handover;
mod hash;
mod ids;
mod joined;
mod open;
mod parts;
mod services;
mod skew;
mod spill;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use stepscope_core::identity::{TraceId, mix};

pub(crate) use clock::ClockState;
use clock::Clocks;
use closed::Closed;
pub(crate) use deliver::hex;
use deliver::{Deliverer, count};
use hash::IdState;
use open::OpenTrace;
use services::Services;
pub(crate) use skew::SkewState;
use skew::Skews;
pub(crate) use spill::{Part, Piece, Spill};

use crate::issues::{FileId, Issues};
use crate::record::{Fields, Noted, Record};
use crate::{Completeness, IssueKind, ReadOptions, Resource, Sink};

/// What an open trace costs besides its records.
const TRACE_OVERHEAD: usize = 320;
/// Buffers of delivered traces that are kept for the next ones.
const MAX_POOL: usize = 64;
/// A buffer larger than this is given back.
const MAX_POOLED_BYTES: usize = 256 << 10;

/// Spans and traces counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Spans delivered.
    pub(crate) spans: u64,
    /// Traces delivered.
    pub(crate) traces: u64,
    /// Of those, incomplete ones.
    pub(crate) incomplete: u64,
    /// Spans that repeated others.
    pub(crate) duplicates: u64,
}

/// Where spans become traces.
#[derive(Debug)]
pub(crate) struct Assembler {
    memory_bytes: usize,
    spill_dir: Option<PathBuf>,
    traces: HashMap<TraceId, u32, IdState>,
    /// Traces with all of their spans that wait for those that continue them, or for those that they continue.
    held: HashMap<TraceId, u32, IdState>,
    /// Held traces that are whole, by those that they continue.
    parts: HashMap<TraceId, BTreeSet<TraceId>, IdState>,
    /// Whether traces stand apart from those that continue them: together they are too much.
    apart: bool,
    slots: Vec<OpenTrace>,
    free: Vec<u32>,
    /// The trace of the last span: spans of a trace mostly come together.
    last: Option<(TraceId, u32)>,
    open_bytes: usize,
    pub(crate) closed: Closed,
    pub(crate) clocks: Clocks,
    pub(crate) skews: Skews,
    pub(crate) services: Services,
    deliverer: Deliverer,
    spill: Option<Spill>,
    pub(crate) counts: Counts,
}

impl Assembler {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        Self {
            memory_bytes: options.memory_bytes,
            spill_dir: options.spill_dir.clone(),
            traces: HashMap::default(),
            held: HashMap::default(),
            parts: HashMap::default(),
            apart: false,
            slots: Vec::new(),
            free: Vec::new(),
            last: None,
            open_bytes: 0,
            closed: Closed::default(),
            clocks: Clocks::default(),
            skews: Skews::default(),
            services: Services::default(),
            deliverer: Deliverer::default(),
            spill: None,
            counts: Counts::default(),
        }
    }

    /// How much memory, and which folder beyond it, is for what is not yet whole.
    pub(crate) fn room(&self) -> (usize, Option<PathBuf>) {
        (self.memory_bytes, self.spill_dir.clone())
    }

    /// The open trace `id`, opened if need be; `None` if all of it has come before.
    #[inline]
    fn slot(&mut self, id: &TraceId, resource: &Arc<Resource>, file: FileId, issues: &Issues) -> Option<u32> {
        if let Some((last, slot)) = self.last
            && last == *id
        {
            return Some(slot);
        }
        let slot = match self.traces.get(id) {
            Some(&slot) => {
                if let Some(open) = self.slots.get_mut(slot as usize)
                    && open.file != file
                {
                    open.file = issues.first_of(open.file, file);
                }
                slot
            }
            None if self.closed.contains(id) || self.held.contains_key(id) => return None,
            None => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots.push(OpenTrace::default());
                    u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
                });
                let open = self.slots.get_mut(slot as usize)?;
                open.reset(*id, resource, file);
                self.open_bytes += TRACE_OVERHEAD + open.bytes.capacity();
                self.traces.insert(*id, slot);
                slot
            }
        };
        self.last = Some((*id, slot));
        Some(slot)
    }

    /// Forgets which trace the last span belonged to, for example because another file begins.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }

    /// Adds a span, and delivers its trace if that is whole now. `offset` places damage.
    #[inline]
    pub(crate) fn add(
        &mut self,
        id: &TraceId,
        resource: &Arc<Resource>,
        place: (FileId, Option<u64>),
        issues: &mut Issues,
        sink: &mut dyn Sink,
        fields: &Fields<'_>,
    ) {
        self.put(id, resource, place, issues, sink, |out| {
            fields.write(out);
            Some(fields.noted())
        });
    }

    /// As [`Self::add`], a span that is a record already.
    pub(crate) fn add_record(
        &mut self,
        id: &TraceId,
        resource: &Arc<Resource>,
        place: (FileId, Option<u64>),
        issues: &mut Issues,
        sink: &mut dyn Sink,
        record: &[u8],
    ) {
        self.put(id, resource, place, issues, sink, |out| {
            out.extend_from_slice(record);
            Record::first(record).map(|(record, _)| record.noted())
        });
    }

    #[inline]
    fn put(
        &mut self,
        id: &TraceId,
        resource: &Arc<Resource>,
        place: (FileId, Option<u64>),
        issues: &mut Issues,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Vec<u8>) -> Option<Noted>,
    ) {
        let (file, offset) = place;
        let Some(slot) = self.slot(id, resource, file, issues) else {
            self.repeated(place, 1, issues);
            return;
        };
        let Some(open) = self.slots.get_mut(slot as usize) else { return };
        let (begin, capacity) = (open.bytes.len(), open.bytes.capacity());
        if let Some(span) = write(&mut open.bytes) {
            open.note(&span, begin, resource);
        }
        self.open_bytes += open.bytes.capacity() - capacity;
        if open.may_be_whole() {
            self.try_close(slot, offset, issues, sink);
        }
    }

    /// Adds records that were written before (by another reader, or to a temporary file).
    fn add_records(&mut self, piece: &Piece, issues: &mut Issues, sink: &mut dyn Sink) {
        let mut rest = piece.records.as_slice();
        while let Some((span, after)) = Record::first(rest) {
            let record = rest.get(..rest.len() - after.len()).unwrap_or_default();
            let Some(slot) = self.slot(&piece.id, &piece.resource, piece.file, issues) else {
                self.repeated((piece.file, None), count(rest), issues);
                return;
            };
            let Some(open) = self.slots.get_mut(slot as usize) else { return };
            let (begin, capacity) = (open.bytes.len(), open.bytes.capacity());
            open.bytes.extend_from_slice(record);
            open.note(&span.noted(), begin, &piece.resource);
            self.open_bytes += open.bytes.capacity() - capacity;
            if open.may_be_whole() {
                self.try_close(slot, None, issues, sink);
            }
            rest = after;
        }
        if !rest.is_empty() {
            issues.add(piece.file, IssueKind::Corrupt, None, 1, || {
                "spans of an unfinished trace are damaged; make the partial again".into()
            });
        }
    }

    /// Tells of spans of a delivered trace that repeated others, or had their ids.
    fn repeated_in(&mut self, id: &TraceId, (file, offset): (FileId, Option<u64>), issues: &mut Issues) {
        let (repeated, different) = (self.deliverer.repeated(), self.deliverer.different());
        self.repeated((file, offset), repeated - different, issues);
        self.counts.duplicates += different;
        issues.add(file, IssueKind::DuplicateSpan, offset, different, || {
            format!(
                "different spans of trace {} have the same id; of each such id the span that starts first \
                 counts, the others were left out",
                hex(id)
            )
        });
    }

    fn repeated(&mut self, (file, offset): (FileId, Option<u64>), count: u64, issues: &mut Issues) {
        self.counts.duplicates += count;
        issues.add(file, IssueKind::DuplicateSpan, offset, count, || {
            "spans that are there more than once (retries, or a file given twice) count once".into()
        });
    }

    /// Delivers the trace if all its spans are really there, and holds it if that is not all.
    fn try_close(&mut self, slot: u32, offset: Option<u64>, issues: &mut Issues, sink: &mut dyn Sink) {
        let Some(open) = self.slots.get_mut(slot as usize) else { return };
        let (_, ours) = self.deliverer.index(&open.bytes);
        if !open.is_whole(ours) {
            return;
        }
        if !open.is_alone() {
            return self.hold(slot, offset, issues, sink);
        }
        let id = open.id;
        self.hand_over(slot, Completeness::Complete, offset, issues, sink);
        self.traces.remove(&id);
        self.close(&id, issues);
    }

    /// Delivers the trace that the deliverer has looked through last.
    fn hand_over(
        &mut self,
        slot: u32,
        completeness: Completeness,
        offset: Option<u64>,
        issues: &mut Issues,
        sink: &mut dyn Sink,
    ) {
        self.deliver(slot, completeness, offset, issues, sink);
        self.release(slot);
    }

    fn deliver(
        &mut self,
        slot: u32,
        completeness: Completeness,
        offset: Option<u64>,
        issues: &mut Issues,
        sink: &mut dyn Sink,
    ) {
        let Some(open) = self.slots.get(slot as usize) else { return };
        let (id, file) = (open.id, open.file);
        let trace = self.deliverer.build(open, completeness, &self.services, issues);
        self.counts.traces += 1;
        self.counts.spans += trace.spans.len() as u64;
        self.counts.incomplete += u64::from(completeness == Completeness::Incomplete);
        self.clocks.note(trace, file, issues);
        sink.exchange(trace);
        self.skews.add(file, self.deliverer.early());
        self.repeated_in(&id, (file, offset), issues);
    }

    /// Delivers the spans of each of several processes that have made the same ids, as a trace of its own.
    fn deliver_apart(
        &mut self,
        slot: u32,
        parts: &[(Arc<Resource>, Vec<u8>)],
        issues: &mut Issues,
        sink: &mut dyn Sink,
    ) {
        let Some(open) = self.slots.get(slot as usize) else { return };
        let (id, file) = (open.id, open.file);
        issues.add(file, IssueKind::DuplicateSpan, None, 1, || {
            format!(
                "{} processes have made the same ids of traces and spans, as from random numbers with one seed; each counts by \
                 itself; do not seed what makes ids",
                parts.len()
            )
        });
        for ((resource, records), number) in parts.iter().zip(0u64..) {
            let mut of_part = id;
            // The first keeps its id.
            let differ = if number == 0 { 0 } else { mix(number) };
            of_part.iter_mut().zip(differ.to_le_bytes()).for_each(|(byte, other)| *byte ^= other);
            let Some(open) = self.slots.get_mut(slot as usize) else { return };
            open.reset(of_part, resource, file);
            for record in crate::record::records(records) {
                open.note(&record.noted(), 0, resource);
            }
            open.bytes.extend_from_slice(records);
            let (distinct, ours) = self.deliverer.index(&open.bytes);
            let is_complete = open.is_complete_at_end(distinct, ours);
            self.deliver(slot, Completeness::of(is_complete), None, issues, sink);
        }
        self.release(slot);
    }

    /// What comes of this trace from now on has come before.
    fn close(&mut self, id: &TraceId, issues: &mut Issues) {
        if !self.closed.insert(id) {
            issues.add(FileId::NONE, IssueKind::LimitReached, None, 1, || {
                "too many gaps between trace numbers to recognise traces that come again later".into()
            });
        }
    }

    /// Gives the place of a trace back.
    fn release(&mut self, slot: u32) {
        if let Some(open) = self.slots.get_mut(slot as usize) {
            self.open_bytes = self.open_bytes.saturating_sub(TRACE_OVERHEAD + open.bytes.capacity());
            if self.free.len() >= MAX_POOL || open.bytes.capacity() > MAX_POOLED_BYTES {
                open.bytes = Vec::new();
            }
        }
        self.free.push(slot);
        self.last = None;
    }

    /// Moves everything open to temporary files if it is too much for memory.
    pub(crate) fn bound(&mut self, issues: &mut Issues) {
        if self.open_bytes > self.memory_bytes && !(self.traces.is_empty() && self.held.is_empty()) {
            self.spill_all(issues);
        }
    }

    fn spill_all(&mut self, issues: &mut Issues) {
        if let Err(error) = self.write_all() {
            // Better to need more memory than to lose spans. Those that were written already are
            // recognised as repeated ones.
            self.memory_bytes = self.memory_bytes.saturating_mul(2);
            issues.add(FileId::NONE, IssueKind::LimitReached, None, 1, || {
                format!("open traces are kept in memory, because temporary files failed ({error})")
            });
            return;
        }
        self.forget_open();
    }

    fn forget_open(&mut self) {
        self.traces.clear();
        self.held.clear();
        self.parts.clear();
        self.slots.clear();
        self.free.clear();
        self.last = None;
        self.open_bytes = 0;
    }

    fn write_all(&mut self) -> io::Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::new(self.spill_dir.as_ref(), 0, false)?),
        };
        for &slot in self.traces.values().chain(self.held.values()) {
            if let Some(open) = self.slots.get(slot as usize) {
                spill.write(open)?;
            }
        }
        spill.flush()
    }

    /// Delivers everything that is open, incomplete traces too.
    pub(crate) fn finish(&mut self, issues: &mut Issues, sink: &mut dyn Sink) {
        if self.spill.is_some() {
            // Where writing fails the traces stay in memory and meet their other parts there.
            self.spill_all(issues);
            for part in self.spill.take().into_iter().flat_map(Spill::into_parts) {
                self.finish_part(part, issues, sink);
            }
        }
        self.finish_open(issues, sink);
        self.clocks.report(issues);
        self.skews.report(issues);
    }

    fn finish_part(&mut self, part: Part, issues: &mut Issues, sink: &mut dyn Sink) {
        if self.is_too_much(part.bytes, part.is_joined()) && part.can_split() {
            match part.split(self.spill_dir.as_ref()) {
                Ok(split) => split.into_parts().for_each(|part| self.finish_part(part, issues, sink)),
                Err(error) => lost(&error, issues),
            }
            return;
        }
        // One trace, or ids made to collide: as much of them as fits.
        let too_large = self.is_too_much(part.bytes, part.is_joined());
        self.apart = part.apart;
        let mut room = if too_large { self.memory_bytes } else { usize::MAX };
        let read = part.read(|piece| self.reload(piece, &mut room, issues, sink));
        if let Err(error) = read {
            lost(&error, issues);
        }
        self.finish_open(issues, sink);
        self.apart = false;
    }

    /// Takes a piece of a trace back into memory, as far as there is room.
    fn reload(&mut self, mut piece: Piece, room: &mut usize, issues: &mut Issues, sink: &mut dyn Sink) {
        let mut left_out = 0;
        if piece.records.len() > *room {
            let mut rest = piece.records.as_slice();
            while let Some((_, after)) = Record::first(rest)
                && piece.records.len() - after.len() <= *room
            {
                rest = after;
            }
            left_out = count(rest);
            piece.records.truncate(piece.records.len() - rest.len());
        }
        *room -= piece.records.len();
        self.add_records(&piece, issues, sink);
        if left_out > 0
            && let Some(open) = self.traces.get(&piece.id).and_then(|&slot| self.slots.get_mut(slot as usize))
        {
            open.cut += left_out;
        }
        issues.add(piece.file, IssueKind::LimitReached, None, left_out, || {
            format!("trace {} is larger than the memory given; spans of it were left out", hex(&piece.id))
        });
    }

    /// Delivers what is open in memory, by id.
    fn finish_open(&mut self, issues: &mut Issues, sink: &mut dyn Sink) {
        let mut order: Vec<(TraceId, u32)> = self.traces.drain().chain(self.held.drain()).collect();
        order.sort_unstable();
        self.hold_parts(&order);
        let (parts, first): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|(id, _)| self.held.contains_key(id));
        for (id, slot) in first {
            let has_parts = self.parts.contains_key(&id);
            let Some(open) = self.slots.get_mut(slot as usize) else { continue };
            if has_parts || !open.is_alone() {
                self.deliver_group(slot, None, issues, sink);
                continue;
            }
            let (distinct, ours) = self.deliverer.index(&open.bytes);
            let has_collisions = ours == 0 && self.deliverer.different() > 0;
            if let Some(parts) = has_collisions.then(|| self.services.split(&open.bytes)).flatten() {
                self.deliver_apart(slot, &parts, issues, sink);
                continue;
            }
            let is_complete = open.is_complete_at_end(distinct, ours);
            // A run that never ended has only markers of its beginning; that is for the analysis to say.
            let is_unended_run = open.is_ours() && open.only_run;
            if !is_complete && !is_unended_run {
                tell_incomplete(&id, open.file, issues);
            }
            self.hand_over(slot, Completeness::of(is_complete), None, issues, sink);
        }
        // Of those left each continues another one of them.
        for (id, slot) in parts {
            if self.held.remove(&id).is_some() {
                self.deliver_group(slot, None, issues, sink);
            }
        }
        self.parts.clear();
    }
}

fn lost(error: &io::Error, issues: &mut Issues) {
    issues.add(FileId::NONE, IssueKind::LimitReached, None, 1, || {
        format!("open traces in a temporary file were lost ({error}); give more memory or more disk")
    });
}

fn tell_incomplete(id: &TraceId, file: FileId, issues: &mut Issues) {
    issues.add(file, IssueKind::IncompleteTrace, None, 1, || {
        format!(
            "trace {} lacks spans or its root: they had not ended when the program stopped, went with files that a bounded \
             directory gave up, or are in a file that was not given",
            hex(id)
        )
    });
}
