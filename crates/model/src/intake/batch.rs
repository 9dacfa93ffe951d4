//! A message that was decoded before its turn: its spans as records, its points and damage in the order in which
//! they stand in it. Who decodes it when is the business of `ahead`.

use std::sync::Arc;

use stepscope_core::identity::TraceId;
use stepscope_otlp::{DecodeError, DecodeStats, detect};

use super::collect::{Collect, Drafts, Output};
use super::{Decoders, decode};
use crate::record::Fields;
use crate::{IssueKind, MetricPoint, Resource};

/// One item of a message.
#[derive(Debug)]
pub(super) enum Item {
    /// The resource of what follows, as the decoding thread shares it.
    Resource(Arc<Resource>),
    /// Whose process it is.
    Process(u32, Arc<Resource>),
    /// A span: its trace, and the length of its record.
    Span(TraceId, usize),
    /// Damage.
    Issue(IssueKind, String),
    /// A point, with its start and time; apart, because spans are many.
    Point(Box<(u64, u64, MetricPoint)>),
}

/// A message, and what it says once it was decoded. Reused.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Where the message begins.
    pub(super) offset: u64,
    /// A copy of it.
    pub(super) message: Vec<u8>,
    pub(super) items: Vec<Item>,
    /// The records of all spans, one after the other.
    pub(super) records: Vec<u8>,
    /// Spans met, also those that could not be taken.
    pub(super) spans_met: u64,
    /// How decoding ended.
    pub(super) outcome: Result<DecodeStats, DecodeError>,
    /// Whether it was decoded: what is only found out by trying is left to the thread whose turn it is.
    pub(super) is_decoded: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            offset: 0,
            message: Vec::new(),
            items: Vec::new(),
            records: Vec::new(),
            spans_met: 0,
            outcome: Ok(DecodeStats::default()),
            is_decoded: false,
        }
    }
}

/// What a thread needs for decoding.
#[derive(Debug, Default)]
pub(super) struct Unit {
    decoders: Decoders,
    drafts: Drafts,
}

impl Unit {
    /// Decodes the message of `batch`.
    pub(super) fn decode(&mut self, batch: &mut Batch) {
        batch.items.clear();
        batch.records.clear();
        batch.spans_met = 0;
        let detected = detect(&batch.message);
        batch.is_decoded = detected.is_some();
        let Some(detected) = detected else { return };
        let Batch { message, items, records, spans_met, .. } = batch;
        let mut collect = Collect::new(&mut self.drafts, Later { items, records, spans_met, last: None });
        batch.outcome = decode(&mut self.decoders, message, detected.encoding, detected.signal, &mut collect);
        if batch.outcome.is_err() {
            self.drafts.clear();
        }
    }
}

/// Into a batch.
struct Later<'a> {
    items: &'a mut Vec<Item>,
    records: &'a mut Vec<u8>,
    spans_met: &'a mut u64,
    last: Option<Arc<Resource>>,
}

impl Later<'_> {
    fn resource(&mut self, resource: &Arc<Resource>) {
        if !self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, resource)) {
            self.items.push(Item::Resource(Arc::clone(resource)));
            self.last = Some(Arc::clone(resource));
        }
    }
}

impl Output for Later<'_> {
    fn process(&mut self, process: u32, resource: &Arc<Resource>) {
        self.items.push(Item::Process(process, Arc::clone(resource)));
    }

    fn issue(&mut self, kind: IssueKind, reason: impl FnOnce() -> String) {
        self.items.push(Item::Issue(kind, reason()));
    }

    #[inline]
    fn span_met(&mut self) {
        *self.spans_met += 1;
    }

    #[inline]
    fn span(&mut self, trace: &TraceId, resource: &Arc<Resource>, fields: &Fields<'_>) {
        self.resource(resource);
        let start = self.records.len();
        fields.write(self.records);
        self.items.push(Item::Span(*trace, self.records.len() - start));
    }

    fn point(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: MetricPoint) {
        self.resource(resource);
        self.items.push(Item::Point(Box::new((start_ns, time_ns, point))));
    }
}
