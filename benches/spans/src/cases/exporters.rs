//! The other libraries that speak OTLP, by the exporter of OpenTelemetry's SDK.

use std::borrow::Cow;
use std::sync::OnceLock;

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::peers::{Layer, fastrace_3, trimmed};
use super::senders::Sender;
use super::{SPANS, SetUp, spans_3};

/// The exporter as the environment says; that over gRPC lives on a runtime with one thread.
fn exporter(is_grpc: bool) -> Option<SpanExporter> {
    static RUNTIME: OnceLock<Option<tokio::runtime::Runtime>> = OnceLock::new();
    if !is_grpc {
        return SpanExporter::builder().with_http().build().ok();
    }
    let make = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().ok();
    let _entered = RUNTIME.get_or_init(make).as_ref()?.enter();
    SpanExporter::builder().with_tonic().build().ok()
}

fn install(processor: BatchSpanProcessor, trim: impl FnOnce(Layer) -> Layer) -> SetUp {
    let provider = SdkTracerProvider::builder().with_span_processor(processor).build();
    let layer = trim(tracing_opentelemetry::layer().with_tracer(provider.tracer("bench")));
    // Or the exporter's own spans would be exported, and theirs.
    let subscriber = tracing_subscriber::registry().with(layer).with(LevelFilter::INFO);
    drop(tracing::subscriber::set_global_default(subscriber));
    SetUp::Flush(Box::new(move || drop(provider.force_flush())))
}

fn otel(is_grpc: bool) -> SetUp {
    let Some(exporter) = exporter(is_grpc) else { return SetUp::Nothing };
    install(BatchSpanProcessor::builder(exporter).build(), |layer| layer)
}

fn otel_trimmed(is_grpc: bool) -> SetUp {
    let Some(exporter) = exporter(is_grpc) else { return SetUp::Nothing };
    // Larger queue and batches, as its documents advise where spans are many.
    let config =
        BatchConfigBuilder::default().with_max_queue_size(64 * SPANS).with_max_export_batch_size(4 * SPANS);
    install(BatchSpanProcessor::builder(exporter).with_batch_config(config.build()).build(), trimmed)
}

fn fastrace(is_grpc: bool) -> SetUp {
    let Some(exporter) = exporter(is_grpc) else { return SetUp::Nothing };
    let scope = InstrumentationScope::builder("bench").build();
    let reporter = fastrace_opentelemetry::OpenTelemetryReporter::new(
        exporter,
        Cow::Owned(Resource::builder().build()),
        scope,
    );
    fastrace::set_reporter(reporter, fastrace::collector::Config::default());
    SetUp::Flush(Box::new(fastrace::flush))
}

pub(super) const PEERS: &[Sender] = &[
    Sender {
        name: "otel_3",
        about: "tracing-opentelemetry, defaults",
        is_ours: false,
        set_up: otel,
        chunk: spans_3,
    },
    Sender {
        name: "otel_trimmed_3",
        about: "without location, thread, target, level, busy and idle; a queue of 64,000, batches of 4,000",
        is_ours: false,
        set_up: otel_trimmed,
        chunk: spans_3,
    },
    Sender {
        name: "fastrace_3",
        about: "fastrace local spans",
        is_ours: false,
        set_up: fastrace,
        chunk: fastrace_3,
    },
];
