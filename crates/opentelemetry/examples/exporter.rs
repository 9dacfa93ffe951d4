//! A training loop whose spans go to an exporter of the SDK (here one of a few lines that says what it gets), and that
//! calls code which uses the API of OpenTelemetry.
#![expect(clippy::print_stdout, reason = "that is what the example shows")]

use std::thread::sleep;
use std::time::Duration;

use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Says the names and durations of spans.
#[derive(Debug)]
struct Says;

impl SpanExporter for Says {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            let duration = span.end_time.duration_since(span.start_time).unwrap_or_default();
            println!("{:>32} {:<12} {duration:?}", span.span_context.trace_id().to_string(), span.name);
        }
        Ok(())
    }
}

/// Somebody's client, which knows nothing of stepscope.
fn ask_a_service() {
    let context = opentelemetry::Context::current();
    println!("a request goes out in the trace {}", context.span().span_context().trace_id());
}

fn main() {
    let _run = stepscope::builder()
        .exporter(stepscope_opentelemetry::exporter(Says))
        .link_roots(stepscope_opentelemetry::current)
        .install();
    for number in 0..3 {
        let _step = stepscope::step!(number, samples = 32);
        {
            let _forward = stepscope::section!("forward", phase = Forward);
            sleep(Duration::from_millis(5));
        }
        let _attached = stepscope_opentelemetry::attach();
        ask_a_service();
    }
}
