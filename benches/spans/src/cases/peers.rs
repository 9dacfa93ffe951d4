//! The other libraries, each with a sink that takes everything and does nothing. What each of them keeps of a span
//! differs: puffin has no fields but one text, hotpath only sums.

use std::hint::black_box;
use std::path::Path;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter,
};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use super::{Case, SPANS, SetUp, spans_0, spans_3};

#[derive(Debug)]
struct Discard;

impl SpanExporter for Discard {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

pub(super) type Layer =
    tracing_opentelemetry::OpenTelemetryLayer<Registry, opentelemetry_sdk::trace::SdkTracer>;

fn otel_with(trim: impl FnOnce(Layer) -> Layer) -> SetUp {
    // A queue that holds what a step makes: with the default of 2,048 it holds two steps of ours.
    let config = BatchConfigBuilder::default().with_max_queue_size(8 * SPANS).build();
    let processor = BatchSpanProcessor::builder(Discard).with_batch_config(config).build();
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let layer = trim(tracing_opentelemetry::layer().with_tracer(provider.tracer("bench")));
    drop(tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)));
    SetUp::Flush(Box::new(move || drop(provider.force_flush())))
}

fn otel(_: Option<&Path>) -> SetUp {
    otel_with(|layer| layer)
}

fn otel_trimmed(_: Option<&Path>) -> SetUp {
    otel_with(trimmed)
}

/// Without what costs and can be left out.
pub(super) fn trimmed(layer: Layer) -> Layer {
    layer
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_target(false)
        .with_level(false)
}

struct DiscardRecords;

impl fastrace::collector::Reporter for DiscardRecords {
    fn report(&mut self, _: Vec<fastrace::collector::SpanRecord>) {}
}

fn fastrace(_: Option<&Path>) -> SetUp {
    fastrace::set_reporter(DiscardRecords, fastrace::collector::Config::default());
    SetUp::Flush(Box::new(fastrace::flush))
}

fn fastrace_0(_: u64) {
    let root = fastrace::Span::root("step", fastrace::collector::SpanContext::random());
    let _root = root.set_local_parent();
    for _ in 0..SPANS {
        let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
    }
}

pub(super) fn fastrace_3(_: u64) {
    let root = fastrace::Span::root("step", fastrace::collector::SpanContext::random());
    let _root = root.set_local_parent();
    for index in 0..SPANS {
        let _span = fastrace::local::LocalSpan::enter_with_local_parent("work").with_properties(|| {
            [("index", index.to_string()), ("ratio", 0.5.to_string()), ("name", black_box("text").to_owned())]
        });
    }
}

fn chrome(_: Option<&Path>) -> SetUp {
    let builder = tracing_chrome::ChromeLayerBuilder::new().writer(std::io::sink()).include_args(true);
    let (layer, guard) = builder.build();
    drop(tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)));
    SetUp::Flush(Box::new(move || guard.flush()))
}

fn puffin(_: Option<&Path>) -> SetUp {
    puffin::set_scopes_on(true);
    SetUp::Flush(Box::new(|| puffin::GlobalProfiler::lock().new_frame()))
}

fn puffin_0(_: u64) {
    puffin::profile_scope!("step");
    for _ in 0..SPANS {
        puffin::profile_scope!("work");
    }
}

fn puffin_1(_: u64) {
    puffin::profile_scope!("step");
    for _ in 0..SPANS {
        puffin::profile_scope!("work", black_box("text"));
    }
}

fn hotpath(_: Option<&Path>) -> SetUp {
    // Its report is written when the guard goes: not here.
    std::mem::forget(hotpath::HotpathGuardBuilder::new("bench").build());
    SetUp::Nothing
}

fn hotpath_0(_: u64) {
    hotpath::measure_block!("step", {
        for _ in 0..SPANS {
            hotpath::measure_block!("work", black_box(()));
        }
    });
}

pub(super) const PEERS: &[Case] = cases! {
    "otel_0", otel, spans_0, "tracing-opentelemetry, batches, no fields";
    "otel_3", otel, spans_3, "tracing-opentelemetry, batches, 3 fields";
    "otel_trimmed_0", otel_trimmed, spans_0, "as otel_0 without location, thread, target, level, busy and idle";
    "otel_trimmed_3", otel_trimmed, spans_3, "as otel_3 without location, thread, target, level, busy and idle";
    "fastrace_0", fastrace, fastrace_0, "fastrace local spans, no fields";
    "fastrace_3", fastrace, fastrace_3, "fastrace local spans, 3 fields";
    "chrome_0", chrome, spans_0, "tracing-chrome, no fields";
    "chrome_3", chrome, spans_3, "tracing-chrome, 3 fields";
    "puffin_0", puffin, puffin_0, "puffin scopes, no text";
    "puffin_1", puffin, puffin_1, "puffin scopes, one text (it has no fields)";
    "hotpath_0", hotpath, hotpath_0, "hotpath blocks, sums only (it has no fields)";
};
