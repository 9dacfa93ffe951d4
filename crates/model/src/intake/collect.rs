//! From the calls of a decoder to spans and points: what a message says, without where it goes.

use std::sync::Arc;

use stepscope_core::identity::TraceId;
use stepscope_core::{SCHEMA_VERSION, SCOPE_NAME, SectionKind, attr};
use stepscope_otlp::{
    LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, SpanHead, StatusCode, Value, Visitor,
};

use super::State;
use super::draft::Draft;
use super::live_memory::LiveDraft;
use super::measured::{MeasuredDraft, Taken};
use super::metric::MetricDraft;
use super::resource::Resources;
use super::value;
use crate::assembly::{Assembler, hex};
use crate::issues::{FileId, Issues};
use crate::record::{Fields, MAX_TEXT, flag};
use crate::{Figure, IssueKind, MetricPoint, Resource, Sink};

/// The latest time that there is: clocks count in 63 bits, and what writes more has not written a time.
const MAX_TIME_NS: u64 = i64::MAX as u64;
/// A start of 0 is one that nobody set, unless times count from there: then spans end soon after.
const FIRST_DAY_NS: u64 = 86_400 * 1_000_000_000;

/// What is gathered until the item is there that it belongs to. Reused from message to message.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    pub(super) resources: Resources,
    draft: Draft,
    metric: MetricDraft,
    live: LiveDraft,
    measured: MeasuredDraft,
}

impl Drafts {
    /// Forgets what damage has left behind.
    pub(super) fn clear(&mut self) {
        self.draft.clear();
        self.resources.clear();
    }
}

/// Where spans and points go.
pub(super) trait Output {
    /// Takes note of the process whose items follow.
    fn process(&mut self, process: u32, resource: &Arc<Resource>);
    /// Notes damage.
    fn issue(&mut self, kind: IssueKind, reason: impl FnOnce() -> String);
    /// Counts a span, whether it can be taken or not.
    fn span_met(&mut self);
    /// Takes a span.
    fn span(&mut self, trace: &TraceId, resource: &Arc<Resource>, fields: &Fields<'_>);
    /// Takes a point of a metric.
    fn point(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: MetricPoint);
}

/// Straight into assembly and to the sink.
pub(super) struct Direct<'a> {
    assembler: &'a mut Assembler,
    issues: &'a mut Issues,
    spans_read: &'a mut u64,
    points_read: &'a mut u64,
    sink: &'a mut dyn Sink,
    file: FileId,
    offset: u64,
}

impl State {
    /// Takes the items of the message that begins at `offset`.
    pub(super) fn collect<'a>(
        &'a mut self,
        sink: &'a mut dyn Sink,
        file: FileId,
        offset: u64,
    ) -> Collect<'a, Direct<'a>> {
        let Self { assembler, issues, drafts, spans_read, points_read } = self;
        Collect::new(drafts, Direct { assembler, issues, spans_read, points_read, sink, file, offset })
    }
}

impl Output for Direct<'_> {
    fn process(&mut self, process: u32, resource: &Arc<Resource>) {
        self.assembler.services.note(process, resource);
    }

    fn issue(&mut self, kind: IssueKind, reason: impl FnOnce() -> String) {
        self.issues.add(self.file, kind, Some(self.offset), 1, reason);
    }

    #[inline]
    fn span_met(&mut self) {
        *self.spans_read += 1;
    }

    #[inline]
    fn span(&mut self, trace: &TraceId, resource: &Arc<Resource>, fields: &Fields<'_>) {
        let place = (self.file, Some(self.offset));
        self.assembler.add(trace, resource, place, self.issues, self.sink, fields);
    }

    fn point(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: MetricPoint) {
        *self.points_read += 1;
        self.sink.metric(resource, start_ns, time_ns, &point);
    }
}

/// Takes one message's items.
pub(super) struct Collect<'a, O> {
    drafts: &'a mut Drafts,
    out: O,
    resource: Arc<Resource>,
    process: u32,
    /// Whether the scope is our layer's.
    ours: bool,
}

impl<'a, O: Output> Collect<'a, O> {
    /// For one message, whose items go to `out`.
    pub(super) fn new(drafts: &'a mut Drafts, out: O) -> Self {
        Self { drafts, out, resource: Arc::default(), process: 0, ours: false }
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
        self.out.issue(IssueKind::BadId, reason);
    }

    #[cold]
    fn bad_polls(&mut self, head: &SpanHead<'_>) {
        self.out.issue(IssueKind::Corrupt, || {
            format!(
                "{} of span {:?} are no intervals; they were left out",
                attr::POLLS,
                value::bounded(head.name, 100)
            )
        });
    }

    #[cold]
    fn bad_time(&mut self, head: &SpanHead<'_>) {
        let late = format!("after {MAX_TIME_NS} ns, which is the year 2262");
        let what = if head.start_unix_ns > MAX_TIME_NS {
            format!("starts {late}; it was left out")
        } else if head.end_unix_ns > MAX_TIME_NS {
            format!("ends {late}; its duration counts as 0")
        } else {
            "has no start; that counts as at its end, its duration as 0".into()
        };
        self.out.issue(IssueKind::BadTime, || format!("span {:?} {what}", value::bounded(head.name, 100)));
    }

    #[cold]
    fn bad_value(&mut self) {
        let name = self.drafts.measured.name();
        self.out.issue(IssueKind::BadValue, || {
            format!("a point of the metric {name:?} has no number in its unit, or no time; it was left out")
        });
    }

    #[cold]
    fn bad_step(&mut self, number: &str, head: &SpanHead<'_>) {
        self.out.issue(IssueKind::BadStep, || {
            format!(
                "step number {number} of span {:?} is none: they go from 0 to {}; the span counts without a number",
                value::bounded(head.name, 100),
                i64::MAX
            )
        });
    }
}

impl<O: Output> Visitor for Collect<'_, O> {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.drafts.resources.attribute(key, value);
    }

    fn resource(&mut self, _: &ResourceHead<'_>) {
        (self.resource, self.process) = self.drafts.resources.finish();
        self.out.process(self.process, &self.resource);
        if let Some(version) = self.resource.schema_version.filter(|&version| version > SCHEMA_VERSION) {
            self.out.issue(IssueKind::NewerSchema, || {
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
        self.drafts.draft.attribute(key, value);
    }

    #[inline(always)]
    fn numbered_attribute(&mut self, key: &str, number: u64, value: Value<'_>) {
        self.drafts.draft.numbered_attribute(key, number, value);
    }

    #[inline(always)]
    fn same_attributes(&mut self, number: u64) -> bool {
        self.drafts.draft.same_attributes(number)
    }

    fn keep_attributes(&mut self, number: u64) {
        self.drafts.draft.keep_attributes(number);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.drafts.draft.link(head);
    }

    #[inline]
    fn span(&mut self, head: &SpanHead<'_>) {
        self.out.span_met();
        let (Ok(trace_id), Ok(span_id)) =
            (<&[u8; 16]>::try_from(head.trace_id), <[u8; 8]>::try_from(head.span_id))
        else {
            self.bad_id(head);
            return self.drafts.draft.clear();
        };
        let id = u64::from_be_bytes(span_id);
        if id == 0 || *trace_id == [0; 16] {
            self.bad_id(head);
            return self.drafts.draft.clear();
        }
        let parent = match <[u8; 8]>::try_from(head.parent_span_id) {
            Ok(parent) => u64::from_be_bytes(parent),
            Err(_) if head.parent_span_id.is_empty() => 0,
            Err(_) => {
                self.out.issue(IssueKind::BadId, || {
                    "a span's parent id is not 8 bytes; it stands as a root".into()
                });
                0
            }
        };
        let (mut start_ns, mut end_ns) = (head.start_unix_ns, head.end_unix_ns);
        if (start_ns | end_ns) > MAX_TIME_NS {
            self.bad_time(head);
            if start_ns > MAX_TIME_NS {
                return self.drafts.draft.clear();
            }
            end_ns = start_ns;
        } else if start_ns == 0 && end_ns > FIRST_DAY_NS {
            self.bad_time(head);
            start_ns = end_ns;
        }
        // Not written, as of what was still open; what is between it and its start nobody knows.
        let is_unended = head.end_unix_ns == 0 && start_ns > FIRST_DAY_NS;
        if is_unended {
            end_ns = start_ns;
        }
        if end_ns < start_ns {
            self.out.issue(IssueKind::NegativeDuration, || {
                format!(
                    "span {:?} ends before it starts; its duration counts as 0",
                    value::bounded(head.name, 100)
                )
            });
            end_ns = start_ns;
        }
        // Jaeger knows no spans without a length, which the starts of runs and epochs are: it makes them 1 ns long.
        if self.drafts.draft.is_repaired() && end_ns.saturating_sub(start_ns) == 1 {
            end_ns = start_ns;
        }
        if !self.drafts.draft.settle_polls(end_ns.saturating_sub(start_ns)) {
            self.bad_polls(head);
        }
        let has_step = self.drafts.draft.has_step();
        if has_step && let Some(number) = self.drafts.draft.take_bad_step() {
            self.bad_step(&number, head);
        }
        let draft = &self.drafts.draft;
        let read = draft.fields();
        let mut flags = read.flags;
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
            name: if read.name.is_empty() { value::bounded(head.name, MAX_TEXT) } else { read.name },
            flags,
            process: self.process,
            ..read
        };
        if !self.ours && draft.kind().is_none() && has_step {
            fields.kind = SectionKind::Step;
            fields.flags |= flag::INFERRED_STEP;
        }
        if is_unended {
            let is_step = fields.kind == SectionKind::Step;
            if is_step {
                fields.kind = SectionKind::Section;
                fields.flags &= !flag::INFERRED_STEP;
                fields.present &= !(1 << Figure::Step as u32);
            }
            let (kind, what) =
                if is_step { (IssueKind::UnfinishedStep, "step") } else { (IssueKind::BadTime, "span") };
            let name = fields.name;
            self.out.issue(kind, || {
                let counts = if is_step { "it counts as none" } else { "its duration counts as 0" };
                format!("{what} {:?} has no end; {counts}", value::bounded(name, 100))
            });
        }
        self.out.span(trace_id, &self.resource, &fields);
        self.drafts.draft.clear();
    }

    fn span_abandoned(&mut self) {
        self.drafts.draft.clear();
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.drafts.metric.begin(head);
        if !self.drafts.metric.is_ours() && !self.drafts.live.begin(head) {
            self.drafts.measured.begin(head);
        }
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.drafts.metric.attribute(key, value);
        self.drafts.live.attribute(key, value);
        self.drafts.measured.attribute(key, value);
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let (start_ns, time_ns) = (head.start_unix_ns, head.time_unix_ns);
        if let Some(point) = self.drafts.metric.point(head) {
            return self.out.point(&self.resource, start_ns, time_ns, point);
        }
        if let Some(point) = self.drafts.live.point(head) {
            return self.out.point(&self.resource, start_ns, time_ns, MetricPoint::Live(point));
        }
        match self.drafts.measured.point(head) {
            Taken::Point(point) => {
                self.out.point(&self.resource, start_ns, time_ns, MetricPoint::Measured(point));
            }
            Taken::Damaged => self.bad_value(),
            Taken::Nothing => {}
        }
    }

    fn metric_end(&mut self) {
        self.drafts.metric.end();
        self.drafts.live.end();
        self.drafts.measured.end();
    }
}
