//! One span of Jaeger as calls to a visitor: its times from microseconds, its parent and links from its
//! references, its head from tags that stand for fields of OTLP.

use serde_json::Value as Json;
use stepscope_core::attr;
use stepscope_otlp::{
    EventHead, LinkHead, ResourceHead, ScopeHead, SpanHead, SpanKind, StatusCode, Value, Visitor,
};

use super::id;
use super::tag;
use super::wire::{Process, Span, Tag};

const NS_PER_US: i128 = 1_000;

/// Nanoseconds of a number of microseconds, which some write with a fraction or in quotes.
fn nanoseconds(value: &Json) -> Option<i128> {
    let rounded = |us: f64| (us.is_finite() && us.abs() < 1e18).then(|| (us * 1e3).round() as i128);
    match value {
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(us), _) => Some(i128::from(us) * NS_PER_US),
            (None, Some(us)) => Some(i128::from(us) * NS_PER_US),
            _ => number.as_f64().and_then(rounded),
        },
        Json::String(text) => match text.trim().parse::<i64>() {
            Ok(us) => Some(i128::from(us) * NS_PER_US),
            Err(_) => text.trim().parse().ok().and_then(rounded),
        },
        _ => None,
    }
}

/// Start and end in nanoseconds since the Unix epoch.
pub(super) fn times(span: &Span) -> Result<(u64, u64), String> {
    let missing = match &span.start_time {
        Json::String(text) if text.contains('T') => {
            "the start of a span is a date; microseconds are read, as `/api/traces` has them"
        }
        _ => "a span has no start time",
    };
    let start = nanoseconds(&span.start_time).ok_or(missing)?;
    let duration = match &span.duration {
        Json::Null => 0,
        duration => nanoseconds(duration).ok_or("the duration of a span is no number")?,
    };
    let time = |ns: i128| u64::try_from(ns).map_err(|_| "a time of a span does not fit 64 bits");
    Ok((time(start)?, time(start + duration)?))
}

/// Name and version of the scope, which are tags here.
pub(super) fn scope(span: &Span) -> (String, String) {
    let find = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| tags(span).find(|tag| tag.key == *name).and_then(tag::text));
        found.unwrap_or_default().to_owned()
    };
    (find([tag::SCOPE_NAME, tag::LIBRARY_NAME]), find([tag::SCOPE_VERSION, tag::LIBRARY_VERSION]))
}

fn tags(span: &Span) -> impl Iterator<Item = &Tag> {
    span.tags.iter().flatten()
}

/// Begins the resource and the scope of the spans that follow.
pub(super) fn open(process: Option<&Process>, scope: &str, version: &str, visitor: &mut impl Visitor) {
    if let Some(process) = process {
        if let Some(name) = process.service_name.as_deref().filter(|name| !name.is_empty()) {
            visitor.resource_attribute(attr::SERVICE_NAME, Value::Str(name));
        }
        for tag in process.tags.iter().flatten() {
            tag::with(tag, &mut |value| visitor.resource_attribute(&tag.key, value));
        }
    }
    visitor.resource(&ResourceHead::default());
    visitor.scope(&ScopeHead { name: scope, version, ..ScopeHead::default() });
}

/// What tags say about fields of the head.
#[derive(Default)]
struct Said<'s> {
    kind: Option<SpanKind>,
    status: Option<StatusCode>,
    failed: bool,
    status_message: &'s str,
    trace_state: &'s str,
}

impl<'s> Said<'s> {
    /// Takes a tag that stands for a field; `false` for one that is an attribute.
    fn take(&mut self, tag: &'s Tag) -> bool {
        match tag.key.as_str() {
            tag::KIND if self.kind.is_none() => {
                self.kind = tag::kind(tag);
                self.kind.is_some()
            }
            tag::STATUS_CODE if self.status.is_none() => {
                self.status = tag::status(tag);
                self.status.is_some()
            }
            tag::STATUS_MESSAGE if self.status_message.is_empty() => {
                self.status_message = tag::text(tag).unwrap_or_default();
                !self.status_message.is_empty()
            }
            tag::TRACE_STATE if self.trace_state.is_empty() => {
                self.trace_state = tag::text(tag).unwrap_or_default();
                !self.trace_state.is_empty()
            }
            tag::ERROR if tag::is_true(tag) => {
                self.failed = true;
                true
            }
            tag::SCOPE_NAME | tag::SCOPE_VERSION | tag::LIBRARY_NAME | tag::LIBRARY_VERSION => {
                tag::text(tag).is_some()
            }
            _ => false,
        }
    }
}

/// Hands over the span; `trace_id` is that of the trace it stands in.
pub(super) fn emit(span: &Span, trace_id: &str, times: (u64, u64), visitor: &mut impl Visitor) {
    let mut said = Said::default();
    for tag in tags(span) {
        if !said.take(tag) {
            tag::with(tag, &mut |value| visitor.span_attribute(&tag.key, value));
        }
    }
    if let Some(warnings) = span.warnings.as_ref().filter(|warnings| !warnings.is_empty()) {
        let warnings: Vec<Value<'_>> = warnings.iter().map(|text| Value::Str(text)).collect();
        visitor.span_attribute(tag::WARNINGS, Value::Array(&warnings));
    }
    events(span, visitor);
    let trace_id = span.trace_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(trace_id);
    let parent = links(span, trace_id, visitor);
    let span_id = span.span_id.as_deref().map_or([0; 8], id::span);
    let status = said.status.unwrap_or(if said.failed { StatusCode::ERROR } else { StatusCode::UNSET });
    visitor.span(&SpanHead {
        trace_id: &id::trace(trace_id),
        span_id: &span_id,
        parent_span_id: parent.as_ref().map_or(&[], |parent| parent),
        // The sampled bit is the same in both; Jaeger's others say nothing outside of it.
        flags: u32::from(span.flags.as_u64().is_some_and(|flags| flags & 1 == 1)),
        trace_state: said.trace_state,
        name: span.operation_name.as_deref().unwrap_or_default(),
        kind: said.kind.unwrap_or_default(),
        start_unix_ns: times.0,
        end_unix_ns: times.1,
        status,
        status_message: said.status_message,
        ..SpanHead::default()
    });
}

fn events(span: &Span, visitor: &mut impl Visitor) {
    for log in span.logs.iter().flatten() {
        let mut name = None;
        for field in log.fields.iter().flatten() {
            match tag::text(field) {
                Some(text) if field.key == tag::EVENT && name.is_none() => name = Some(text),
                _ => tag::with(field, &mut |value| visitor.event_attribute(&field.key, value)),
            }
        }
        let time = nanoseconds(&log.timestamp).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        let name = name.unwrap_or_default();
        visitor.event(&EventHead { time_unix_ns: time, name, dropped_attributes_count: 0 });
    }
}

/// Hands over all references but the first to a parent in the same trace, and gives that.
fn links(span: &Span, trace_id: &str, visitor: &mut impl Visitor) -> Option<[u8; 8]> {
    let own = id::trace(trace_id);
    let mut parent = span.parent_span_id.as_deref().map(id::span).filter(|id| *id != [0; 8]);
    for reference in span.references.iter().flatten() {
        // The UI's own files leave out the trace where it is the same.
        let trace = reference.trace_id.as_deref().filter(|id| !id.is_empty()).map_or(own, id::trace);
        let target = reference.span_id.as_deref().map_or([0; 8], id::span);
        let follows =
            reference.ref_type.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case(tag::FOLLOWS_FROM));
        let is_parent = !follows && trace == own && target != [0; 8] && reference.tags.is_none();
        if is_parent && parent.is_none_or(|parent| parent == target) {
            parent = Some(target);
            continue;
        }
        if let Some(tags) = &reference.tags {
            for tag in tags {
                tag::with(tag, &mut |value| visitor.link_attribute(&tag.key, value));
            }
        } else {
            let kind = if follows { tag::FOLLOWS_FROM } else { tag::CHILD_OF };
            visitor.link_attribute(tag::REF_TYPE, Value::Str(kind));
        }
        visitor.link(&LinkHead { trace_id: &trace, span_id: &target, ..LinkHead::default() });
    }
    parent
}
