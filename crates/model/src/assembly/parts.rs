//! Traces that go on in others, since a trace holds a bounded number of spans: held until all of them are there, then
//! joined into one. What makes a trace whole by itself is the business of `open`.

use std::collections::BTreeSet;

use stepscope_core::identity::TraceId;

use super::deliver::hex;
use super::{Assembler, tell_incomplete};
use crate::issues::Issues;
use crate::record::append_part;
use crate::{Completeness, IssueKind, Sink};

/// More spans than this are not joined.
const MAX_SPANS: u64 = 1_000_000;
/// Nor more bytes of records than this many times the memory for open traces: 256 MiB, if nobody says otherwise.
const MEMORIES: usize = 4;

/// A trace with those that continue it.
struct Group {
    /// Where they are, the first one first.
    slots: Vec<u32>,
    /// Those that were announced and are not there.
    missing: u32,
}

impl Assembler {
    /// How many bytes of records a trace may have with those that continue it.
    pub(super) fn joined_bytes(&self) -> usize {
        self.memory_bytes.saturating_mul(MEMORIES)
    }

    /// Holds a trace that has all of its spans, until its parts are there, or what it is a part of.
    pub(super) fn hold(&mut self, slot: u32, offset: Option<u64>, issues: &mut Issues, sink: &mut dyn Sink) {
        let Some(id) = self.slots.get(slot as usize).map(|open| open.id) else { return };
        self.traces.remove(&id);
        self.held.insert(id, slot);
        self.last = None;
        let mut next = Some(id);
        while let Some(id) = next {
            next = self.settle(&id, offset, issues, sink);
        }
    }

    /// If all parts of a held trace are there: delivers it, or counts it where it is a part. Gives the trace of which it is one.
    fn settle(
        &mut self,
        id: &TraceId,
        offset: Option<u64>,
        issues: &mut Issues,
        sink: &mut dyn Sink,
    ) -> Option<TraceId> {
        let slot = *self.held.get(id)?;
        let open = self.slots.get(slot as usize)?;
        let parts = self.parts.get(id).map_or(0, BTreeSet::len);
        if parts < open.parts.unwrap_or(0) as usize && !self.apart {
            return None;
        }
        match open.continued.filter(|_| !self.apart) {
            Some((around, _)) if around != *id && !self.closed.contains(&around) => {
                // (Of traces that continue each other each is there once.)
                self.parts.entry(around).or_default().insert(*id).then_some(around)
            }
            _ => {
                self.held.remove(id);
                self.deliver_group(slot, offset, issues, sink);
                None
            }
        }
    }

    /// At the end: holds those of the open traces that are parts of others of them.
    pub(super) fn hold_parts(&mut self, open: &[(TraceId, u32)]) {
        self.parts.clear();
        for &(id, slot) in open {
            let continued = self.slots.get(slot as usize).and_then(|open| open.continued);
            if let Some((around, _)) = continued
                && around != id
                && !self.apart
                && open.binary_search_by_key(&around, |&(id, _)| id).is_ok()
            {
                self.parts.entry(around).or_default().insert(id);
                self.held.insert(id, slot);
            }
        }
    }

    /// Takes out what was found of the parts of a trace, and of theirs.
    fn take_group(&mut self, slot: u32) -> Group {
        let mut group = Group { slots: vec![slot], missing: 0 };
        let mut looked_at = 0;
        while let Some(open) = group.slots.get(looked_at).and_then(|&slot| self.slots.get(slot as usize)) {
            looked_at += 1;
            let before = group.slots.len();
            let parts = self.parts.remove(&open.id).unwrap_or_default();
            group.slots.extend(parts.iter().filter_map(|part| self.held.remove(part)));
            let found = u32::try_from(group.slots.len() - before).unwrap_or(u32::MAX);
            group.missing = group.missing.saturating_add(open.parts.unwrap_or(0).saturating_sub(found));
        }
        group
    }

    /// Delivers a trace together with its parts, or all of them by themselves where they are too much.
    pub(super) fn deliver_group(
        &mut self,
        slot: u32,
        offset: Option<u64>,
        issues: &mut Issues,
        sink: &mut dyn Sink,
    ) {
        let Group { slots, missing } = self.take_group(slot);
        let (mut spans, mut bytes, mut are_complete) = (0u64, 0usize, true);
        for &slot in &slots {
            let Some(open) = self.slots.get_mut(slot as usize) else { continue };
            let (distinct, ours) = self.deliverer.index(&open.bytes);
            are_complete &= open.is_complete_at_end(distinct, ours);
            spans += u64::from(distinct);
            bytes = bytes.saturating_add(open.bytes.len());
        }
        let Some(first) = self.slots.get_mut(slot as usize) else { return };
        let (id, file) = (first.id, first.file);
        let is_lost = first.continued.is_some() && !first.is_beside && !self.apart;
        let is_too_much = slots.len() > 1 && (spans > MAX_SPANS || bytes > self.joined_bytes());
        if is_too_much || self.apart && missing > 0 {
            issues.add(file, IssueKind::LimitReached, None, 1, || {
                format!(
                    "trace {} goes on for more than {MAX_SPANS} spans or {} MiB: its traces are not joined, and the phases of \
                     its step not known",
                    hex(&id),
                    self.joined_bytes() >> 20
                )
            });
        } else if missing > 0 || is_lost {
            issues.add(file, IssueKind::IncompleteTrace, None, 1, || {
                let id = hex(&id);
                match is_lost {
                    true => format!("trace {id} continues another one, which is in a file that was not given, or was lost"),
                    false => format!(
                        "of the traces that continue trace {id} some are missing: they are in a file or partial that was not \
                         given, or their last span was lost"
                    ),
                }
            });
        } else if !are_complete {
            tell_incomplete(&id, file, issues);
        }
        if is_too_much {
            for slot in slots {
                let Some(open) = self.slots.get_mut(slot as usize) else { continue };
                let (distinct, ours) = self.deliverer.index(&open.bytes);
                let is_complete = open.parts.unwrap_or(0) == 0 && open.is_complete_at_end(distinct, ours);
                let id = open.id;
                self.close(&id, issues);
                self.hand_over(slot, Completeness::of(is_complete), offset, issues, sink);
            }
            return;
        }
        self.join(&slots, missing, bytes, issues);
        if slots.len() > 1 {
            let bytes = self.slots.get(slot as usize).map_or(&[][..], |first| &first.bytes);
            self.deliverer.index(bytes);
        }
        let is_complete = are_complete && missing == 0 && !is_lost;
        self.close(&id, issues);
        self.hand_over(slot, Completeness::of(is_complete), offset, issues, sink);
    }

    /// Makes one trace of several. The first one stays.
    fn join(&mut self, slots: &[u32], missing: u32, bytes: usize, issues: &mut Issues) {
        let Some((&first, parts)) = slots.split_first() else { return };
        let Some(mut whole) = self.slots.get_mut(first as usize).map(std::mem::take) else { return };
        let capacity = whole.bytes.capacity();
        whole.missing_parts = missing;
        whole.bytes.reserve_exact(bytes.saturating_sub(whole.bytes.len()));
        for &slot in parts {
            let Some(part) = self.slots.get(slot as usize) else { continue };
            append_part(&mut whole.bytes, &part.bytes, part.continued.map_or(0, |(_, span)| span));
            whole.joined.push(part.id);
            whole.file = issues.first_of(whole.file, part.file);
            let id = part.id;
            self.close(&id, issues);
            self.release(slot);
        }
        whole.joined.sort_unstable();
        self.open_bytes += whole.bytes.capacity() - capacity;
        if let Some(place) = self.slots.get_mut(first as usize) {
            *place = whole;
        }
    }

    /// Forgets parts that another reader has delivered.
    pub(super) fn drop_closed_parts(&mut self) {
        let closed = &self.closed;
        self.parts.retain(|id, parts| {
            parts.retain(|part| !closed.contains(part));
            !closed.contains(id)
        });
    }

    /// Whether so many bytes of a temporary file are too much to be taken back at once; of a trace and those that continue it
    /// there may be more.
    pub(super) fn is_too_much(&self, bytes: u64, is_joined: bool) -> bool {
        let room = if is_joined { self.joined_bytes() } else { self.memory_bytes };
        bytes > room as u64
    }
}
