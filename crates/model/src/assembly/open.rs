//! One trace that is still open: its spans as compact records, and what is known about its end.

use std::collections::HashSet;
use std::sync::Arc;

use stepscope_core::SectionKind;
use stepscope_core::identity::TraceId;

use crate::issues::FileId;
use crate::record::{Noted, Record, flag, records};
use crate::{Figure, Resource};

/// Spans and state of an open trace.
#[derive(Debug, Default)]
pub(crate) struct OpenTrace {
    pub(crate) id: TraceId,
    /// Its spans, one record after the other.
    pub(crate) bytes: Vec<u8>,
    /// Number of records.
    pub(crate) spans: u32,
    /// Of those, the ones of stepscope's layer; different ids only, once `ids` is there.
    ours: u32,
    /// Spans that the root announced; the largest number where there are several.
    announced: Option<u32>,
    /// Whether a root of our layer announced them: only then the end can be known.
    announced_by_us: bool,
    /// Traces that continue it, as its root announced.
    pub(crate) parts: Option<u32>,
    /// The section of another trace that it continues, or the step beside which it stands, if it is counted there.
    pub(crate) continued: Option<(TraceId, u64)>,
    /// Whether it stands beside a step, and is all there without it.
    pub(crate) is_beside: bool,
    /// The traces that were joined with it, sorted, and how many were announced and are missing.
    pub(crate) joined: Vec<TraceId>,
    pub(crate) missing_parts: u32,
    /// Whether there is a span without a parent, or one that announces a count.
    pub(crate) has_root: bool,
    /// Whether every span so far is of kind run or epoch.
    pub(crate) only_run: bool,
    pub(crate) resource: Arc<Resource>,
    /// Whether `resource` is the root's.
    resource_of_root: bool,
    pub(crate) file: FileId,
    /// Ids of our layer's spans; made when duplicates were met.
    ids: Option<HashSet<u64>>,
    /// Spans left out because the trace alone passed the bound on memory.
    pub(crate) cut: u64,
}

impl Default for FileId {
    fn default() -> Self {
        Self::NONE
    }
}

impl OpenTrace {
    /// Makes this a fresh trace, keeping its buffer.
    pub(crate) fn reset(&mut self, id: TraceId, resource: &Arc<Resource>, file: FileId) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        *self = Self { id, bytes, only_run: true, resource: Arc::clone(resource), file, ..Self::default() };
    }

    /// Takes note of the span whose record was just appended, at `begin`.
    #[inline]
    pub(crate) fn note(&mut self, span: &Noted, begin: usize, resource: &Arc<Resource>) {
        let &Noted { id, kind, flags, .. } = span;
        let ours = flags & flag::OURS != 0;
        let announced =
            span.trace_spans.and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
        let is_root = span.parent == 0 || announced.is_some();
        self.spans += 1;
        self.only_run &= matches!(kind, SectionKind::Run | SectionKind::Epoch);
        if ours && self.ids.as_mut().is_none_or(|ids| ids.insert(id)) {
            self.ours += 1;
        }
        if is_root {
            self.has_root = true;
            self.announced = self.announced.max(announced);
            self.announced_by_us |= ours && announced.is_some();
            if ours && announced.is_some() {
                self.note_parts(begin);
            }
        }
        self.offer_resource(resource, is_root);
    }

    /// Whether it has parts, and is one. The largest that is said, so that the order does not matter.
    fn note_parts(&mut self, begin: usize) {
        let record = self.bytes.get(begin..).and_then(Record::first).map(|(record, _)| record);
        let said = record.and_then(|record| Some((record, record.figure(Figure::TraceParts)?)));
        if let Some((record, parts)) = said {
            self.parts = self.parts.max(u32::try_from(parts).ok());
            // No part of the step during which it was there.
            let is_beside = record.parent() == 0
                && record.kind() == SectionKind::Section
                && record.figure(Figure::StepDeep).is_some_and(|said| said != 0);
            if is_beside || record.continues() {
                self.continued = self.continued.max(record.continued());
                self.is_beside |= is_beside && !record.continues();
            }
        }
    }

    /// The root's resource wins, then the smaller one, so that the order of spans does not matter.
    #[inline]
    fn offer_resource(&mut self, resource: &Arc<Resource>, of_root: bool) {
        let better = match (of_root, self.resource_of_root) {
            (true, false) => true,
            (false, true) => false,
            _ => !Arc::ptr_eq(resource, &self.resource) && **resource < *self.resource,
        };
        if better {
            self.resource = Arc::clone(resource);
        }
        self.resource_of_root |= of_root;
    }

    /// Whether stepscope's layer wrote any of it.
    pub(crate) fn is_ours(&self) -> bool {
        self.ours > 0
    }

    /// Whether as many spans of our layer have come as it announced; repeated ids may be among them until
    /// [`Self::is_whole`] has found out.
    #[inline]
    pub(crate) fn may_be_whole(&self) -> bool {
        self.announced_by_us && self.announced.is_some_and(|announced| self.ours >= announced)
    }

    /// Whether it stands for itself: it is no part of another trace, and has none.
    pub(crate) fn is_alone(&self) -> bool {
        self.continued.is_none() && self.parts.unwrap_or(0) == 0
    }

    /// Told the number of different spans of our layer: whether the trace is whole. If it is not, ids are
    /// counted from now on, so that repeated spans cannot make it look whole again and again.
    pub(crate) fn is_whole(&mut self, distinct_ours: u32) -> bool {
        self.ours = distinct_ours;
        let whole = self.may_be_whole();
        if !whole && self.ids.is_none() {
            let ours = records(&self.bytes).filter(|record| record.flags() & flag::OURS != 0);
            self.ids = Some(ours.map(|record| record.id()).collect());
        }
        whole
    }

    /// Whether nothing is missing, judged at the end of the input from its different spans.
    pub(crate) fn is_complete_at_end(&self, distinct: u32, distinct_ours: u32) -> bool {
        if self.cut > 0 {
            return false;
        }
        match self.announced {
            Some(announced) if self.announced_by_us => distinct_ours >= announced,
            Some(announced) => distinct >= announced,
            None => self.has_root && !self.is_ours(),
        }
    }
}
