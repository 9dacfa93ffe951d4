//! The other libraries, each with a sink that takes everything and does nothing.

use std::hint::black_box;
use std::path::Path;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing_subscriber::layer::SubscriberExt as _;

use super::{Case, SPANS, SetUp, spans_0, spans_3};

#[derive(Debug)]
struct Discard;

impl SpanExporter for Discard {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

fn otel(_: Option<&Path>) -> SetUp {
    let provider = SdkTracerProvider::builder().with_batch_exporter(Discard).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("bench"));
    drop(tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)));
    SetUp::Provider(provider)
}

struct DiscardRecords;

impl fastrace::collector::Reporter for DiscardRecords {
    fn report(&mut self, _: Vec<fastrace::collector::SpanRecord>) {}
}

fn fastrace(_: Option<&Path>) -> SetUp {
    fastrace::set_reporter(DiscardRecords, fastrace::collector::Config::default());
    SetUp::Nothing
}

fn fastrace_0(_: u64) {
    let root = fastrace::Span::root("step", fastrace::collector::SpanContext::random());
    let _root = root.set_local_parent();
    for _ in 0..SPANS {
        let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
    }
}

fn fastrace_3(_: u64) {
    let root = fastrace::Span::root("step", fastrace::collector::SpanContext::random());
    let _root = root.set_local_parent();
    for index in 0..SPANS {
        let _span = fastrace::local::LocalSpan::enter_with_local_parent("work").with_properties(|| {
            [("index", index.to_string()), ("ratio", 0.5.to_string()), ("name", black_box("text").to_owned())]
        });
    }
}

const PEERS: [Case; 4] = [
    Case { name: "otel_0", about: "tracing-opentelemetry, batches, no fields", set_up: otel, chunk: spans_0 },
    Case { name: "otel_3", about: "tracing-opentelemetry, batches, 3 fields", set_up: otel, chunk: spans_3 },
    Case {
        name: "fastrace_0",
        about: "fastrace local spans, no fields",
        set_up: fastrace,
        chunk: fastrace_0,
    },
    Case { name: "fastrace_3", about: "fastrace local spans, 3 fields", set_up: fastrace, chunk: fastrace_3 },
];

/// Ours and the peers.
pub(super) const fn with(ours: &[Case]) -> [Case; 13] {
    let mut all = [const { Case { name: "", about: "", set_up: super::bare, chunk: spans_0 } }; 13];
    let mut index = 0;
    while index < 13 {
        let case = if index < ours.len() { &ours[index] } else { &PEERS[index - ours.len()] };
        all[index] = Case { name: case.name, about: case.about, set_up: case.set_up, chunk: case.chunk };
        index += 1;
    }
    all
}
