//! What is whole behind damage in a message of protobuf: every span that the damage does not touch, once, and of the
//! resource and scope that it was of.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message;
use stepscope_otlp::{Value, proto};

use crate::common::Traces;
use crate::common::from_visitor::key_value;

const RESOURCES: usize = 3;
const SCOPES: usize = 2;
const SPANS: usize = 12;

/// Resources with scopes with spans, each of which says in its name whose it is.
fn message() -> trace::TracesData {
    let resource_spans = |resource: usize| {
        let scope_spans = |scope: usize| trace::ScopeSpans {
            scope: Some(InstrumentationScope { name: format!("scope {scope}"), ..Default::default() }),
            spans: (0..SPANS)
                .map(|number| trace::Span {
                    trace_id: vec![resource as u8 + 1; 16],
                    span_id: vec![1 + (scope * SPANS + number) as u8; 8],
                    name: format!("{resource} {scope} {number}"),
                    start_time_unix_nano: 1_700_000_000_000_000_000,
                    end_time_unix_nano: 1_700_000_000_000_000_900,
                    attributes: vec![key_value("step", Value::Int(7)), key_value("loss", Value::Double(0.5))],
                    ..Default::default()
                })
                .collect(),
            schema_url: String::new(),
        };
        trace::ResourceSpans {
            resource: Some(Resource {
                attributes: vec![key_value("service.name", Value::Str(&format!("service {resource}")))],
                ..Default::default()
            }),
            scope_spans: (0..SCOPES).map(scope_spans).collect(),
            schema_url: String::new(),
        }
    };
    trace::TracesData { resource_spans: (0..RESOURCES).map(resource_spans).collect() }
}

/// The names of the spans that are read in `bytes`, and behind the damage; each has to be of whom it says it is.
fn names(bytes: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut traces = Traces::default();
    let read = proto::decode_traces(bytes, &mut traces);
    let before = checked(&traces);
    let Err(error) = read else { return (before, BTreeSet::new()) };
    let Some(behind) = proto::behind(bytes, error.offset()) else { return (before, BTreeSet::new()) };
    assert!(behind.begin <= error.offset() && behind.lost_bytes <= (bytes.len() - behind.begin) as u64);
    let mut traces = Traces::default();
    proto::decode_traces(&behind.message, &mut traces).expect("it is whole");
    (before, checked(&traces))
}

fn checked(traces: &Traces) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for resource in &traces.data.resource_spans {
        let service = resource.resource.as_ref().and_then(|resource| resource.attributes.first()).cloned();
        for scope in &resource.scope_spans {
            let scope_name = scope.scope.as_ref().map(|scope| scope.name.clone());
            for span in &scope.spans {
                let whose: Vec<&str> = span.name.split(' ').collect();
                let [number, of, _] = whose[..] else { continue };
                let expected = key_value("service.name", Value::Str(&format!("service {number}")));
                if service.as_ref() == Some(&expected) && scope_name == Some(format!("scope {of}")) {
                    assert!(names.insert(span.name.clone()), "{} is there once", span.name);
                }
            }
        }
    }
    names
}

#[test]
fn nothing_is_behind_a_message_that_is_cut() {
    let bytes = message().encode_to_vec();
    for cut in 1..bytes.len() {
        let (before, behind) = names(&bytes[..cut]);
        assert_eq!(behind.len(), 0, "{cut}");
        assert!(before.len() < RESOURCES * SCOPES * SPANS);
    }
}

#[test]
fn spans_behind_zeros_are_read_once_and_keep_their_resource_and_scope() {
    let bytes = message().encode_to_vec();
    let all = RESOURCES * SCOPES * SPANS;
    let mut kept = 0;
    for at in 8..bytes.len() {
        let mut damaged = bytes.clone();
        let end = (at + 64).min(damaged.len());
        damaged[at..end].fill(0);
        let (before, behind) = names(&damaged);
        assert!(before.is_disjoint(&behind), "at {at}: {:?}", before.intersection(&behind).next());
        kept += before.len() + behind.len();
        // Where the head of a scope or a resource is gone, so is whose its spans are; the span before it may be gone as well.
        let lost = all - before.len() - behind.len();
        assert!(lost <= SCOPES * SPANS + 1, "{lost} of {all} spans at {at}");
    }
    let mean = kept as f64 / (all * (bytes.len() - 8)) as f64;
    assert!(mean > 0.93, "{mean}");
}

#[test]
fn bytes_that_seem_to_begin_spans_everywhere_end() {
    let mut bytes = message().encode_to_vec();
    // Each of these goes to the end of the scope, and none is a span.
    let seeming = [&[0x12, 0xff, 0xff, 0x03, 0x0a, 16][..], &[1; 16], &[0x12, 8], &[1; 8]].concat();
    bytes.extend(seeming.repeat(20_000));
    let _ = names(&bytes);
}
