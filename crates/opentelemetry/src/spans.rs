//! A trace message of OTLP as the SDK's span data. Absent: what stepscope does not write (bytes, maps, lists
//! of several types).

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use stepscope_otlp::{
    EventHead, IS_REMOTE, LinkHead, ResourceHead, ScopeHead, SpanHead, StatusCode, Value, Visitor, proto,
};

/// The resource and the spans of a message of stepscope's; `None` of one that is damaged.
pub(crate) fn read(message: &[u8]) -> Option<(Resource, Vec<SpanData>)> {
    let mut spans = Spans::default();
    proto::decode_traces(message, &mut spans).ok()?;
    Some((spans.resource?, spans.done))
}

#[derive(Default)]
struct Spans {
    resource: Option<Resource>,
    scope: InstrumentationScope,
    of_resource: Vec<KeyValue>,
    of_span: Vec<KeyValue>,
    of_event: Vec<KeyValue>,
    of_link: Vec<KeyValue>,
    events: Vec<Event>,
    links: Vec<Link>,
    done: Vec<SpanData>,
}

impl Visitor for Spans {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.of_resource.extend(attribute(key, value));
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        let attributes = std::mem::take(&mut self.of_resource);
        self.resource =
            Some(Resource::builder_empty().with_schema_url(attributes, head.schema_url.to_owned()).build());
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        let scope = InstrumentationScope::builder(head.name.to_owned()).with_version(head.version.to_owned());
        self.scope = scope.with_schema_url(head.schema_url.to_owned()).build();
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.of_span.extend(attribute(key, value));
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.of_event.extend(attribute(key, value));
    }

    fn event(&mut self, head: &EventHead<'_>) {
        let attributes = std::mem::take(&mut self.of_event);
        let (time, dropped) = (time(head.time_unix_ns), head.dropped_attributes_count);
        self.events.push(Event::new(head.name.to_owned(), time, attributes, dropped));
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.of_link.extend(attribute(key, value));
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        let attributes = std::mem::take(&mut self.of_link);
        let state = trace_state(head.trace_state);
        let is_remote = head.flags & IS_REMOTE != 0;
        let context = identity(head.trace_id, head.span_id, head.flags, is_remote, state);
        self.links.push(Link::new(context, attributes, head.dropped_attributes_count));
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        let (mut events, mut links) = (SpanEvents::default(), SpanLinks::default());
        (events.events, events.dropped_count) = (std::mem::take(&mut self.events), head.dropped_events_count);
        (links.links, links.dropped_count) = (std::mem::take(&mut self.links), head.dropped_links_count);
        self.done.push(SpanData {
            span_context: identity(head.trace_id, head.span_id, head.flags, false, TraceState::NONE),
            parent_span_id: span_id(head.parent_span_id),
            parent_span_is_remote: head.flags & IS_REMOTE != 0,
            span_kind: kind(head.kind),
            name: head.name.to_owned().into(),
            start_time: time(head.start_unix_ns),
            end_time: time(head.end_unix_ns),
            attributes: std::mem::take(&mut self.of_span),
            dropped_attributes_count: head.dropped_attributes_count,
            events,
            links,
            status: match head.status {
                StatusCode::OK => Status::Ok,
                StatusCode::ERROR => Status::error(head.status_message.to_owned()),
                _ => Status::Unset,
            },
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn span_abandoned(&mut self) {
        self.of_span.clear();
        self.events.clear();
        self.links.clear();
    }
}

/// The members of a trace state that the SDK's type can hold: it knows other bounds of a key than W3C does.
fn trace_state(text: &str) -> TraceState {
    TraceState::from_str(text).unwrap_or_else(|_| {
        let members = text.split(',').filter(|member| TraceState::from_str(member.trim()).is_ok());
        TraceState::from_str(&members.collect::<Vec<_>>().join(",")).unwrap_or_default()
    })
}

fn attribute(key: &str, value: Value<'_>) -> Option<KeyValue> {
    let value = match value {
        Value::Str(text) => text.to_owned().into(),
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Double(value) => value.into(),
        Value::Array(values) => opentelemetry::Value::Array(list(values)?),
        Value::Empty | Value::Bytes(_) | Value::Map(_) => return None,
    };
    Some(KeyValue::new(key.to_owned(), value))
}

/// A list of one type, which the first value says.
fn list(values: &[Value<'_>]) -> Option<Array> {
    fn all<T>(values: &[Value<'_>], one: impl Fn(&Value<'_>) -> Option<T>) -> Option<Vec<T>> {
        values.iter().map(one).collect()
    }
    match values.first()? {
        Value::Str(_) => all(values, |value| match value {
            Value::Str(text) => Some((*text).to_owned().into()),
            _ => None,
        })
        .map(Array::String),
        Value::Bool(_) => {
            all(values, |value| if let Value::Bool(value) = value { Some(*value) } else { None })
                .map(Array::Bool)
        }
        Value::Int(_) => all(values, |value| if let Value::Int(value) = value { Some(*value) } else { None })
            .map(Array::I64),
        Value::Double(_) => {
            all(values, |value| if let Value::Double(value) = value { Some(*value) } else { None })
                .map(Array::F64)
        }
        Value::Empty | Value::Bytes(_) | Value::Array(_) | Value::Map(_) => None,
    }
}

fn identity(trace: &[u8], span: &[u8], flags: u32, is_remote: bool, state: TraceState) -> SpanContext {
    let trace = TraceId::from_bytes(trace.try_into().unwrap_or_default());
    SpanContext::new(trace, span_id(span), TraceFlags::new(flags as u8), is_remote, state)
}

fn span_id(bytes: &[u8]) -> SpanId {
    SpanId::from_bytes(bytes.try_into().unwrap_or_default())
}

fn time(unix_ns: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(unix_ns)
}

fn kind(kind: stepscope_otlp::SpanKind) -> SpanKind {
    match kind {
        stepscope_otlp::SpanKind::SERVER => SpanKind::Server,
        stepscope_otlp::SpanKind::CLIENT => SpanKind::Client,
        stepscope_otlp::SpanKind::PRODUCER => SpanKind::Producer,
        stepscope_otlp::SpanKind::CONSUMER => SpanKind::Consumer,
        _ => SpanKind::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_types() {
        let value = |value: Value<'_>| attribute("key", value).map(|attribute| attribute.value);
        let is = |given: Value<'_>, expected: opentelemetry::Value| assert_eq!(value(given), Some(expected));
        is(Value::Int(i64::MIN), opentelemetry::Value::I64(i64::MIN));
        is(Value::Double(0.5), opentelemetry::Value::F64(0.5));
        is(Value::Bool(true), opentelemetry::Value::Bool(true));
        is(Value::Str("a"), "a".into());
        is(Value::Array(&[Value::Int(1), Value::Int(2)]), opentelemetry::Value::Array(vec![1, 2].into()));
        is(Value::Array(&[Value::Double(1.0)]), opentelemetry::Value::Array(vec![1.0].into()));
        is(Value::Array(&[Value::Bool(false)]), opentelemetry::Value::Array(vec![false].into()));
        is(Value::Array(&[Value::Str("b")]), opentelemetry::Value::Array(Array::String(vec!["b".into()])));
        for none in [Value::Empty, Value::Array(&[]), Value::Array(&[Value::Int(1), Value::Bool(true)])] {
            assert_eq!(value(none), None, "{none:?}");
        }
    }

    #[test]
    fn of_a_trace_state_what_the_sdk_cannot_hold_is_left_out() {
        let header = |text: &str| trace_state(text).header();
        assert_eq!(header("a@b=1,foo=2"), "a@b=1,foo=2");
        // W3C has up to 241 characters before the @ and 14 behind, or 256 in all.
        assert_eq!(header("foo=2, a@0123456789abcdefghi=1 ,bar=3"), "foo=2,bar=3");
        assert_eq!(header("a@0123456789abcdefghi=1"), "");
        assert_eq!(header(""), "");
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        assert!(read(&[0x0a, 0xff]).is_none());
        assert!(read(&[]).is_none());
    }
}
