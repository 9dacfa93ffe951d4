//! From messages to spans and points: decodes one message after the other, tells what each carries, and
//! hands spans to assembly and points to the sink. Where messages come from is the formats' business.

mod ahead;
mod batch;
mod chrome;
mod collect;
mod draft;
mod forward;
mod jaeger;
mod keys;
mod live_memory;
mod measured;
mod metric;
mod polls;
mod profile;
mod quads;
mod resource;
mod samples;
mod value;

use std::sync::Arc;

use stepscope_otlp::{
    DecodeError, DecodeStats, Detected, Encoding, LeftOut, MetricHead, MetricKind, Signal, SpanHead, Visitor,
    detect, json, proto,
};

use crate::assembly::Assembler;
use crate::input::zstd;
use crate::issues::{FileId, Issues};
use crate::{Errand, IssueKind, ReadOptions, Resource, Sink};
use ahead::Ahead;
pub(crate) use ahead::{NextMessage, WINDOW_BYTES};
use batch::{Batch, Item};
use collect::Drafts;
use forward::Forward;
pub(crate) use value::{bounded, integral};

/// Everything that messages change.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) assembler: Assembler,
    pub(crate) issues: Issues,
    drafts: Drafts,
    /// Spans read, repeated ones too.
    pub(crate) spans_read: u64,
    /// Metric points of ours read.
    pub(crate) points_read: u64,
}

/// Decoders with their scratch space.
#[derive(Debug, Default)]
struct Decoders {
    proto: proto::Decoder,
    json: json::Decoder,
    frame: zstd::MessageDecoder,
    unpacked: Vec<u8>,
}

/// Reads messages into a [`State`].
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) state: State,
    decoders: Decoders,
    max_message_bytes: usize,
    folds_names: bool,
    /// Messages that another thread decodes before it is their turn.
    pub(crate) ahead: Option<Ahead>,
    /// What that thread does besides.
    errand: Option<Arc<dyn Errand>>,
}

/// Why a message could not be read to its end. What was whole in it has been taken.
#[derive(Debug)]
pub(crate) struct BadMessage {
    pub(crate) kind: IssueKind,
    pub(crate) reason: String,
    /// Bytes of it in front of the damage.
    pub(crate) read_bytes: usize,
    /// Of these, the ones up to the end of the last whole span.
    pub(crate) whole_bytes: usize,
}

impl BadMessage {
    fn new(kind: IssueKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), read_bytes: 0, whole_bytes: 0 }
    }
}

/// Ignores everything: for judging bytes without taking them.
struct Nobody;

impl Visitor for Nobody {}

/// Counts items that look right for the signal they were decoded as.
#[derive(Default)]
struct Evidence {
    sound: u64,
    odd: u64,
}

impl Evidence {
    fn note(&mut self, sound: bool) {
        self.sound += u64::from(sound);
        self.odd += u64::from(!sound);
    }
}

impl Visitor for Evidence {
    fn span(&mut self, head: &SpanHead<'_>) {
        self.note(head.trace_id.len() == 16 && head.span_id.len() == 8);
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.note(!head.name.is_empty() && head.kind != MetricKind::Unknown);
    }
}

impl Intake {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        Self {
            state: State {
                assembler: Assembler::new(options),
                issues: Issues::default(),
                drafts: Drafts::default(),
                spans_read: 0,
                points_read: 0,
            },
            decoders: Decoders::default(),
            max_message_bytes: options.max_message_bytes,
            folds_names: options.folds_names,
            ahead: (options.threads > 1).then(Ahead::default),
            errand: None,
        }
    }

    /// With more than one, messages are decoded ahead.
    pub(crate) fn set_threads(&mut self, threads: usize) {
        if (threads > 1) != self.ahead.is_some() {
            self.ahead = (threads > 1).then(|| Ahead::with(self.errand.clone()));
        }
    }

    /// What the thread that decodes ahead does besides.
    pub(crate) fn set_errand(&mut self, errand: Option<Arc<dyn Errand>>) {
        self.errand = errand;
        if self.ahead.is_some() {
            self.ahead = Some(Ahead::with(self.errand.clone()));
        }
    }

    /// The shared resource equal to this one.
    pub(crate) fn share(&mut self, resource: Resource) -> Arc<Resource> {
        self.state.drafts.resources.share(resource)
    }

    /// Takes one message, compressed by itself or not. `offset` is where it begins.
    ///
    /// # Errors
    /// Where it is damaged or not OTLP; what was whole in it has been taken.
    pub(crate) fn message(
        &mut self,
        bytes: &[u8],
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), BadMessage> {
        if let Some(batch) = self.ahead.as_mut().and_then(|ahead| ahead.take(offset, bytes.len())) {
            let result = self.take_batch(&batch, file, offset, sink);
            self.state.assembler.bound(&mut self.state.issues);
            if let Some(ahead) = &mut self.ahead {
                ahead.reuse(batch);
            }
            return result;
        }
        let mut unpacked = std::mem::take(&mut self.decoders.unpacked);
        let result = if zstd::is_frame(bytes) {
            match self.decoders.frame.decode(bytes, self.max_message_bytes, &mut unpacked) {
                Ok(()) => self.plain_message(&unpacked, file, offset, sink),
                Err(error) => Err(BadMessage::new(error.kind, error.reason)),
            }
        } else {
            self.plain_message(bytes, file, offset, sink)
        };
        if unpacked.capacity() > 4 << 20 {
            unpacked = Vec::new();
        }
        self.decoders.unpacked = unpacked;
        self.state.assembler.bound(&mut self.state.issues);
        result
    }

    /// Takes what is whole behind the damage of a message in protobuf. Where in it that begins which could not be read, and how
    /// many bytes of it are.
    pub(crate) fn behind(
        &mut self,
        bytes: &[u8],
        bad: &BadMessage,
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> Option<(usize, u64)> {
        let of_traces = Some(Detected { encoding: Encoding::Proto, signal: Some(Signal::Traces) });
        if bytes.first() != Some(&0x0a) || self.identify(bytes) != of_traces {
            return None;
        }
        let behind = proto::behind(bytes, bad.read_bytes)?;
        let read = self.plain_message(&behind.message, file, offset, sink);
        // It was found to be whole.
        read.is_ok().then_some((behind.begin, behind.lost_bytes))
    }

    fn plain_message(
        &mut self,
        bytes: &[u8],
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), BadMessage> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(detected) = self.identify(bytes) else {
            return Err(BadMessage::new(IssueKind::Corrupt, "a record is not OTLP"));
        };
        let raw = detected.signal.and_then(|signal| sink.raw(signal));
        let result = if let Some(visitor) = raw {
            let mut forward = Forward::new(visitor, &mut self.state);
            decode(&mut self.decoders, bytes, detected.encoding, detected.signal, &mut forward)
        } else {
            let mut collect = self.state.collect(sink, file, offset);
            decode(&mut self.decoders, bytes, detected.encoding, detected.signal, &mut collect)
        };
        if result.is_err() {
            self.state.drafts.clear();
        }
        self.conclude(result.as_ref(), bytes, file, offset)
    }

    /// Takes what another thread has decoded, as if it were decoded now.
    fn take_batch(
        &mut self,
        batch: &Batch,
        file: FileId,
        offset: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), BadMessage> {
        let State { assembler, issues, drafts, spans_read, points_read } = &mut self.state;
        *spans_read += batch.spans_met;
        let mut resource = Arc::default();
        let mut records = batch.records.as_slice();
        for item in &batch.items {
            match item {
                Item::Resource(theirs) => resource = drafts.resources.own(theirs),
                Item::Process(process, theirs) => assembler.services.note(*process, theirs),
                Item::Span(trace, len) => {
                    let (record, rest) = records.split_at_checked(*len).unwrap_or_default();
                    records = rest;
                    assembler.add_record(trace, &resource, (file, Some(offset)), issues, sink, record);
                }
                Item::Issue(kind, reason) => issues.add(file, *kind, Some(offset), 1, || reason.clone()),
                Item::Point(point) => {
                    let (start_ns, time_ns, point) = &**point;
                    *points_read += 1;
                    sink.metric(&resource, *start_ns, *time_ns, point);
                }
            }
        }
        self.conclude(batch.outcome.as_ref(), &batch.message, file, offset)
    }

    /// The end of a message.
    fn conclude(
        &mut self,
        result: Result<&DecodeStats, &DecodeError>,
        bytes: &[u8],
        file: FileId,
        offset: u64,
    ) -> Result<(), BadMessage> {
        match result {
            Ok(stats) => {
                self.left_out(*stats, file, offset);
                Ok(())
            }
            Err(error) => {
                self.left_out(error.stats(), file, offset);
                let kind = if error.is_truncated() { IssueKind::Truncated } else { IssueKind::Corrupt };
                let at = error.offset();
                // Text is read up to the first zero: see `json_text`.
                let around = bytes.get(at.saturating_sub(1)..).unwrap_or_default();
                let is_hole = bytes.first() == Some(&b'{') && around.iter().take(2).any(|&byte| byte == 0);
                let reason = match is_hole {
                    true => format!("zeros stand at byte {at} of the record"),
                    false => format!("{error} of the record"),
                };
                let read_bytes = if error.is_truncated() { error.whole_bytes() } else { at };
                let whole_bytes = error.whole_bytes();
                Err(BadMessage { read_bytes, whole_bytes, ..BadMessage::new(kind, reason) })
            }
        }
    }

    /// Tells what of a message could not be taken as it is, though it could be read.
    fn left_out(&mut self, stats: DecodeStats, file: FileId, offset: u64) {
        let issues = &mut self.state.issues;
        issues.add(file, IssueKind::InvalidUtf8, Some(offset), stats.invalid_utf8, || {
            "text that is not UTF-8 is shown with replacement characters".into()
        });
        for (kind, left_out) in [(IssueKind::BadId, stats.bad_ids), (IssueKind::Corrupt, stats.bad_values)] {
            let cost = (left_out.spans, left_out.bytes);
            issues.add_lost(file, kind, Some(offset), cost, || {
                format!(
                    "{} at byte {} of a message; only the spans with such damage were left out",
                    left_out.reason, left_out.offset
                )
            });
        }
    }

    /// What a message, or the beginning of one, carries. Looks further than `detect` where the first item
    /// is slightly damaged, as by text that is not UTF-8.
    pub(crate) fn identify(&mut self, bytes: &[u8]) -> Option<Detected> {
        if let Some(detected) = detect(bytes) {
            return Some(detected);
        }
        if bytes.first() != Some(&0x0a) {
            return None;
        }
        [Signal::Traces, Signal::Metrics].into_iter().find_map(|signal| {
            let mut evidence = Evidence::default();
            // Where it breaks off does not matter here.
            let _ = decode(&mut self.decoders, bytes, Encoding::Proto, Some(signal), &mut evidence);
            (evidence.sound > evidence.odd)
                .then_some(Detected { encoding: Encoding::Proto, signal: Some(signal) })
        })
    }

    /// Whether `bytes` is one whole, strictly valid message with something in it, compressed by itself or
    /// not; and how many bytes of it had to be looked at to know.
    pub(crate) fn judge(&mut self, bytes: &[u8]) -> (bool, usize) {
        let mut unpacked = std::mem::take(&mut self.decoders.unpacked);
        let verdict = if zstd::is_frame(bytes) {
            match self.decoders.frame.decode(bytes, self.max_message_bytes, &mut unpacked) {
                Ok(()) => (self.judge_plain(&unpacked).0, bytes.len() + unpacked.len()),
                Err(_) => (false, bytes.len()),
            }
        } else {
            self.judge_plain(bytes)
        };
        self.decoders.unpacked = unpacked;
        verdict
    }

    fn judge_plain(&mut self, bytes: &[u8]) -> (bool, usize) {
        let Some(detected) = detect(bytes) else { return (false, 64.min(bytes.len())) };
        let Some(signal) = detected.signal else { return (false, bytes.len()) };
        match decode(&mut self.decoders, bytes, detected.encoding, detected.signal, &mut Nobody) {
            Err(error) => (false, error.offset()),
            Ok(stats) if stats.abandoned_spans() > 0 => {
                let first =
                    |left_out: LeftOut| if left_out.spans > 0 { left_out.offset } else { bytes.len() };
                (false, first(stats.bad_ids).min(first(stats.bad_values)))
            }
            Ok(_) => {
                let strict = detected.encoding == Encoding::Json || proto::validate(bytes, signal);
                (strict, bytes.len())
            }
        }
    }
}

/// The bytes up to the first zero, with it, which is none of JSON: a hole that begins in a text and ends in another would be taken
/// for one long text, and what it swallowed would be missed by nobody.
fn json_text(bytes: &[u8]) -> &[u8] {
    let (chunks, rest) = bytes.as_chunks::<256>();
    // Without an early exit the compiler compares many bytes at once.
    let has_zero = |chunk: &[u8; 256]| chunk.iter().fold(u8::MAX, |least, &byte| least.min(byte)) == 0;
    let whole = chunks.iter().position(has_zero).map(|at| at * 256);
    if whole.is_none() && !rest.contains(&0) {
        return bytes;
    }
    let from = whole.unwrap_or(chunks.len() * 256);
    let zero = bytes.iter().skip(from).position(|&byte| byte == 0).map_or(bytes.len(), |at| from + at);
    bytes.get(..=zero).unwrap_or(bytes)
}

/// Whether a member for spans is named somewhere.
fn says_spans(bytes: &[u8]) -> bool {
    [&b"\"resourceSpans\""[..], b"\"resource_spans\""]
        .iter()
        .any(|name| bytes.windows(name.len()).any(|window| window == *name))
}

fn decode(
    decoders: &mut Decoders,
    bytes: &[u8],
    encoding: Encoding,
    signal: Option<Signal>,
    visitor: &mut impl Visitor,
) -> Result<DecodeStats, DecodeError> {
    let is_other = matches!(signal, Some(Signal::Metrics | Signal::Logs));
    if encoding == Encoding::Json && is_other && says_spans(bytes) {
        // A document of several signals is called after the first.
        let stats = decoders.json.decode_traces(json_text(bytes), visitor)?;
        if signal == Some(Signal::Metrics) {
            decoders.json.decode_metrics(json_text(bytes), visitor)?;
        }
        return Ok(stats);
    }
    match (encoding, signal) {
        (Encoding::Proto, Some(Signal::Traces)) => decoders.proto.decode_traces(bytes, visitor),
        (Encoding::Proto, Some(Signal::Metrics)) => decoders.proto.decode_metrics(bytes, visitor),
        (Encoding::Json, Some(Signal::Traces)) => decoders.json.decode_traces(json_text(bytes), visitor),
        (Encoding::Json, Some(Signal::Metrics)) => decoders.json.decode_metrics(json_text(bytes), visitor),
        // Logs are not read, and a message without items has nothing to read.
        (_, Some(Signal::Logs) | None) => Ok(DecodeStats::default()),
    }
}
