//! From messages to spans and points: decodes one message after the other, tells what each carries, and
//! hands spans to assembly and points to the sink. Where messages come from is the formats' business.

mod draft;
mod forward;
mod jaeger;
mod keys;
mod metric;
mod resource;
mod value;

use std::sync::Arc;

use stepscope_core::{SCHEMA_VERSION, SCOPE_NAME, SectionKind};
use stepscope_otlp::{
    DecodeError, DecodeStats, Detected, Encoding, LeftOut, LinkHead, MetricHead, MetricKind, PointHead,
    ResourceHead, ScopeHead, Signal, SpanHead, StatusCode, Value, Visitor, detect, json, proto,
};

use crate::assembly::{Assembler, hex};
use crate::input::zstd;
use crate::issues::{FileId, Issues};
use crate::record::{Fields, MAX_TEXT, flag};
use crate::{IssueKind, ReadOptions, Resource, Sink};
use draft::Draft;
use forward::Forward;
use metric::MetricDraft;
use resource::Resources;
pub(crate) use value::integral;

/// Everything that messages change.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) assembler: Assembler,
    pub(crate) issues: Issues,
    resources: Resources,
    draft: Draft,
    metric: MetricDraft,
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
}

/// Why a message could not be read to its end. What was whole in it has been taken.
#[derive(Debug)]
pub(crate) struct BadMessage {
    pub(crate) kind: IssueKind,
    pub(crate) reason: String,
}

impl BadMessage {
    fn new(kind: IssueKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
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
                resources: Resources::default(),
                draft: Draft::default(),
                metric: MetricDraft::default(),
                spans_read: 0,
                points_read: 0,
            },
            decoders: Decoders::default(),
            max_message_bytes: options.max_message_bytes,
        }
    }

    /// The shared resource equal to this one.
    pub(crate) fn share(&mut self, resource: Resource) -> Arc<Resource> {
        self.state.resources.share(resource)
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
            let mut collect = Collect {
                resource: Arc::default(),
                process: 0,
                ours: false,
                state: &mut self.state,
                sink,
                file,
                offset,
            };
            decode(&mut self.decoders, bytes, detected.encoding, detected.signal, &mut collect)
        };
        match result {
            Ok(stats) => {
                self.left_out(stats, file, offset);
                Ok(())
            }
            Err(error) => {
                self.state.draft.clear();
                self.state.resources.clear();
                self.left_out(error.stats(), file, offset);
                let kind = if error.is_truncated() { IssueKind::Truncated } else { IssueKind::Corrupt };
                Err(BadMessage::new(kind, error.to_string()))
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
            issues.add(file, kind, Some(offset), left_out.spans, || {
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

fn decode(
    decoders: &mut Decoders,
    bytes: &[u8],
    encoding: Encoding,
    signal: Option<Signal>,
    visitor: &mut impl Visitor,
) -> Result<DecodeStats, DecodeError> {
    match (encoding, signal) {
        (Encoding::Proto, Some(Signal::Traces)) => decoders.proto.decode_traces(bytes, visitor),
        (Encoding::Proto, Some(Signal::Metrics)) => decoders.proto.decode_metrics(bytes, visitor),
        (Encoding::Json, Some(Signal::Traces)) => decoders.json.decode_traces(bytes, visitor),
        (Encoding::Json, Some(Signal::Metrics)) => decoders.json.decode_metrics(bytes, visitor),
        // Logs are not read, and a message without items has nothing to read.
        (_, Some(Signal::Logs) | None) => Ok(DecodeStats::default()),
    }
}

/// Takes one message's items.
struct Collect<'a> {
    state: &'a mut State,
    sink: &'a mut dyn Sink,
    file: FileId,
    offset: u64,
    resource: Arc<Resource>,
    process: u32,
    /// Whether the scope is our layer's.
    ours: bool,
}

impl Collect<'_> {
    fn issue(&mut self, kind: IssueKind, reason: impl FnOnce() -> String) {
        self.state.issues.add(self.file, kind, Some(self.offset), 1, reason);
    }

    #[cold]
    fn bad_id(&mut self, head: &SpanHead<'_>) {
        let reason = || {
            format!(
                "a span with trace id {:?} and span id {:?} was left out: they must be 16 and 8 bytes, not all 0",
                hex(head.trace_id.get(..32).unwrap_or(head.trace_id)),
                hex(head.span_id.get(..32).unwrap_or(head.span_id)),
            )
        };
        self.issue(IssueKind::BadId, reason);
    }
}

impl Visitor for Collect<'_> {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.state.resources.attribute(key, value);
    }

    fn resource(&mut self, _: &ResourceHead<'_>) {
        (self.resource, self.process) = self.state.resources.finish();
        if let Some(version) = self.resource.schema_version.filter(|&version| version > SCHEMA_VERSION) {
            self.issue(IssueKind::NewerSchema, || {
                format!(
                    "schema version {version} is newer than this program's {SCHEMA_VERSION}; update stepscope"
                )
            });
        }
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.ours = head.name == SCOPE_NAME;
    }

    fn scope_end(&mut self) {
        self.ours = false;
    }

    #[inline]
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.state.draft.attribute(key, value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.state.draft.link(head);
    }

    #[inline]
    fn span(&mut self, head: &SpanHead<'_>) {
        self.state.spans_read += 1;
        let (Ok(trace_id), Ok(span_id)) =
            (<&[u8; 16]>::try_from(head.trace_id), <[u8; 8]>::try_from(head.span_id))
        else {
            self.bad_id(head);
            return self.state.draft.clear();
        };
        let id = u64::from_be_bytes(span_id);
        if id == 0 || *trace_id == [0; 16] {
            self.bad_id(head);
            return self.state.draft.clear();
        }
        let parent = match <[u8; 8]>::try_from(head.parent_span_id) {
            Ok(parent) => u64::from_be_bytes(parent),
            Err(_) if head.parent_span_id.is_empty() => 0,
            Err(_) => {
                self.issue(IssueKind::BadId, || {
                    "a span's parent id is not 8 bytes; it stands as a root".into()
                });
                0
            }
        };
        let (start_ns, mut end_ns) = (head.start_unix_ns, head.end_unix_ns);
        if end_ns < start_ns {
            self.issue(IssueKind::NegativeDuration, || {
                format!(
                    "span {:?} ends before it starts; its duration counts as 0",
                    value::bounded(head.name, 100)
                )
            });
            end_ns = start_ns;
        }
        let State { draft, assembler, issues, .. } = &mut *self.state;
        // Jaeger knows no spans without a length, which the starts of runs and epochs are: it makes them 1 ns long.
        if draft.is_repaired() && end_ns.saturating_sub(start_ns) == 1 {
            end_ns = start_ns;
        }
        let mut flags = 0;
        if head.status == StatusCode::ERROR {
            flags |= flag::ERROR;
        }
        if self.ours {
            flags |= flag::OURS;
        }
        let mut fields = Fields {
            id,
            parent,
            start_ns,
            end_ns,
            span_kind: head.kind.0,
            name: value::bounded(head.name, MAX_TEXT),
            flags,
            process: self.process,
            ..draft.fields()
        };
        if !self.ours && draft.kind().is_none() && draft.has_step() {
            fields.kind = SectionKind::Step;
            fields.flags |= flag::INFERRED_STEP;
        }
        let place = (self.file, Some(self.offset));
        assembler.add(trace_id, &self.resource, place, issues, self.sink, &fields);
        self.state.draft.clear();
    }

    fn span_abandoned(&mut self) {
        self.state.draft.clear();
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.state.metric.begin(head);
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.state.metric.attribute(key, value);
    }

    fn point(&mut self, head: &PointHead<'_>) {
        if let Some(point) = self.state.metric.point(head) {
            self.state.points_read += 1;
            self.sink.metric(&self.resource, head.start_unix_ns, head.time_unix_ns, &point);
        }
    }

    fn metric_end(&mut self) {
        self.state.metric.end();
    }
}
