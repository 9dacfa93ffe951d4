//! Each side knows of the span in which the other one is.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracer, SdkTracerProvider, SpanData};

use tracing_subscriber::layer::Identity;

use crate::support::{Keep, run, run_with};

/// A tracer of the SDK, with what its spans go to.
fn tracer() -> (SdkTracer, SdkTracerProvider, InMemorySpanExporter) {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    (provider.tracer("test"), provider, exporter)
}

fn named<'s>(spans: &'s [SpanData], name: &str) -> Vec<&'s SpanData> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn is_linked(span: &SpanData, to: &SpanContext) -> bool {
    let is_it =
        |context: &SpanContext| (context.trace_id(), context.span_id()) == (to.trace_id(), to.span_id());
    span.links.iter().any(|link| is_it(&link.span_context))
}

#[test]
fn roots_are_linked_to_the_span_of_opentelemetry_around_them() {
    let keep = Keep::default();
    let (tracer, _provider, _) = tracer();
    let mut outer = None;
    run(keep.clone(), || {
        tracer.in_span("outer", |context| {
            outer = Some(context.span().span_context().clone());
            let _step = stepscope::step!(0);
            let _inside = stepscope::section!("inside");
        });
        let _attached = Context::current().attach();
        let _alone = stepscope::step!(1);
    });
    let (kept, outer) = (keep.kept().clone(), outer.unwrap());
    let [first, second] = named(&kept.spans, "step")[..] else { panic!("two steps") };
    assert!(is_linked(first, &outer) && !is_linked(second, &outer));
    // A step stays a trace of its own, linked to the run, too.
    assert_ne!(first.span_context.trace_id(), outer.trace_id());
    assert_eq!((first.links.len(), second.links.len()), (2, 1));
    assert!(named(&kept.spans, "inside").iter().all(|inside| inside.links.is_empty()));
}

#[test]
fn where_the_run_was_started_from_is_a_link_to_another_process() {
    let headers = [
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("tracestate", "rojo=00f067aa0ba902b7"),
    ];
    let caller = stepscope::TraceContext::from_headers(|name| {
        headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value)
    });
    let keep = Keep::default();
    run_with(keep.clone(), Identity::new(), |builder| builder.caller(caller), |_| ());
    let kept = keep.kept().clone();
    let links: Vec<_> = kept.spans.iter().flat_map(|span| &span.links.links).collect();
    assert_eq!(links.len(), 2, "of the run, and of the mark of its start");
    for link in links {
        let to = &link.span_context;
        assert_eq!(to.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(to.span_id().to_string(), "00f067aa0ba902b7");
        assert!(to.is_remote() && to.is_sampled());
        assert_eq!(to.trace_state().header(), "rojo=00f067aa0ba902b7");
    }
}

#[test]
fn spans_of_opentelemetry_are_children_of_the_section_around_them() {
    let keep = Keep::default();
    let (tracer, _provider, exporter) = tracer();
    let mut carrier = HashMap::new();
    let mut ids = None;
    run(keep.clone(), || {
        assert!(!stepscope_opentelemetry::context().span().span_context().is_valid());
        let _baggage = Context::current_with_value(7_u8).attach();
        let _step = stepscope::step!(0);
        let section = stepscope::section!("request");
        ids = stepscope::current_ids();
        TraceContextPropagator::new().inject_context(&stepscope_opentelemetry::context(), &mut carrier);
        {
            let _attached = stepscope_opentelemetry::attach();
            assert_eq!(Context::current().get::<u8>(), Some(&7), "the rest of the context stays");
            tracer.in_span("inner", |context| context.span().set_attribute(KeyValue::new("a", 1)));
            // A trace of our own that begins now is not linked to what we ourselves have attached.
            let batch = stepscope::Loader::new("train").produce(|| 1);
            drop(batch);
        }
        assert!(!Context::current().span().span_context().is_valid());
        drop(section);
    });
    let kept = keep.kept().clone();
    let [request] = named(&kept.spans, "request")[..] else { panic!("one request") };
    let spans = exporter.get_finished_spans().unwrap();
    let [inner] = named(&spans, "inner")[..] else { panic!("one span") };
    assert_eq!(inner.span_context.trace_id(), request.span_context.trace_id());
    assert_eq!(inner.parent_span_id, request.span_context.span_id());
    assert!(inner.parent_span_is_remote);
    let ids = ids.unwrap();
    assert_eq!(ids.span_id, request.span_context.span_id().to_bytes());
    // The SDK sends no flag but that of sampling.
    assert_eq!(carrier["traceparent"].strip_suffix("-01"), ids.to_string().strip_suffix("-03"));
    let roots = kept.spans.iter().filter(|span| span.name == "batch");
    assert_eq!(roots.map(|batch| batch.links.len()).collect::<Vec<_>>(), [1], "the run alone");
}

#[test]
fn both_layers_record_beside_each_other() {
    let keep = Keep::default();
    let (tracer, _provider, exporter) = tracer();
    run_with(
        keep.clone(),
        tracing_opentelemetry::layer().with_tracer(tracer),
        |builder| builder,
        |_| {
            tracing::info_span!("outer").in_scope(|| {
                tracing::info_span!("train", stepscope.step = 3_u64).in_scope(|| {
                    tracing::info_span!("forward").in_scope(|| {});
                });
            });
        },
    );
    let (ours, theirs) = (keep.kept().spans.clone(), exporter.get_finished_spans().unwrap());
    for name in ["outer", "train", "forward"] {
        let ([our], [their]) = (&named(&ours, name)[..], &named(&theirs, name)[..]) else {
            panic!("{name} twice")
        };
        assert_ne!(our.span_context.span_id(), their.span_context.span_id(), "each has its own ids");
    }
    let ([outer], [train]) = (&named(&theirs, "outer")[..], &named(&ours, "train")[..]) else { panic!() };
    assert!(is_linked(train, &outer.span_context));
    assert!(theirs.iter().all(|span| span.span_context.trace_id() == outer.span_context.trace_id()));
}
