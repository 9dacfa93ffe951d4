//! Prints how fast messages are decoded and encoded on this machine: MB and spans per second of CPU time.
//!
//! `cargo run --release -p stepscope-otlp --example decode_rate`
//!
//! The messages are generated: steps of 50 spans, a root and 49 sections with the attributes a profiler
//! records. Each figure is the best of three runs of a second each; files, framing and compression are not part of it.
#![expect(clippy::print_stdout, reason = "an example prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use stepscope_otlp::{ResourceHead, ScopeHead, SpanHead, SpanKind, Value, Visitor, json, proto};

const STEPS_PER_MESSAGE: u64 = 20;
const SPANS_PER_STEP: u64 = 50;
const MESSAGES: u64 = 50;
const RUNS: usize = 3;
/// The system brings a thread's CPU time up to date every few milliseconds only.
const RUN_NS: u64 = 1_000_000_000;

/// One message of several steps.
fn record(first_step: u64, v: &mut impl Visitor) {
    v.resource_attribute("service.name", Value::Str("train"));
    v.resource_attribute("service.instance.id", Value::Str("run-7f3a-rank0"));
    v.resource_attribute("host.name", Value::Str("node-12"));
    v.resource_attribute("process.pid", Value::Int(4711));
    v.resource(&ResourceHead {
        schema_url: "https://opentelemetry.io/schemas/1.37.0",
        ..ResourceHead::default()
    });
    v.scope(&ScopeHead { name: "stepscope", version: "0.1.0", ..ScopeHead::default() });
    for step in first_step..first_step + STEPS_PER_MESSAGE {
        let trace_id = (u128::from(step) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes();
        let root = step << 16 | 1;
        for i in 0..SPANS_PER_STEP {
            let start = 1_753_000_000_000_000_000 + step * 3_000_000 + i * 50_000;
            let name = if i == 0 {
                "train_step"
            } else {
                ["forward", "backward", "data_wait", "optimizer"][(i % 4) as usize]
            };
            v.span_attribute("stepscope.step", Value::Int(step as i64));
            v.span_attribute("stepscope.phase", Value::Str(name));
            v.span_attribute("stepscope.busy_ns", Value::Int(45_000 + i as i64 * 17));
            v.span_attribute("stepscope.mem.alloc_bytes", Value::Int(i as i64 * 8192));
            v.span_attribute("thread.id", Value::Int(1));
            v.span(&SpanHead {
                trace_id: &trace_id,
                span_id: &(root + i).to_be_bytes(),
                parent_span_id: if i == 0 { &[] } else { &[0, 0, 0, 0, 0, 1, 2, 3] },
                name,
                kind: SpanKind::INTERNAL,
                start_unix_ns: start,
                end_unix_ns: start + 48_000,
                ..SpanHead::default()
            });
        }
    }
    v.scope_end();
    v.resource_end();
}

/// Looks at everything it is given, so that nothing is optimised away.
#[derive(Default)]
struct Look {
    spans: u64,
    bytes: usize,
}

impl Visitor for Look {
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.bytes += key.len();
        black_box(value);
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        self.spans += 1;
        black_box(head);
    }
}

/// Nanoseconds this thread was on a CPU, where the system tells; else nanoseconds since `started`.
fn cpu_ns(started: Instant) -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = schedstat.and_then(|text| text.split(' ').next()?.parse().ok());
    on_cpu.unwrap_or_else(|| started.elapsed().as_nanos() as u64)
}

/// The best of several runs, each of many rounds over all messages.
fn measure(what: &str, bytes: usize, mut round: impl FnMut() -> u64) {
    let started = Instant::now();
    let (mut best_ns, mut spans) = (f64::MAX, 0);
    for _ in 0..RUNS {
        let before = cpu_ns(started);
        let (mut rounds, mut taken) = (0, 0);
        while taken < RUN_NS {
            spans = round();
            rounds += 1;
            taken = cpu_ns(started) - before;
        }
        best_ns = best_ns.min(taken as f64 / f64::from(rounds));
    }
    let (megabytes, millions) = (bytes as f64 * 1e3 / best_ns, spans as f64 * 1e3 / best_ns);
    println!(
        "{what:<34} {megabytes:>7.0} MB/s {millions:>7.2} M spans/s {:>5} B/span",
        bytes as u64 / spans.max(1)
    );
}

/// Schema URLs behind the items, as the OpenTelemetry Collector writes them.
fn schema_url_last(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let member = r#""schemaUrl":"https://opentelemetry.io/schemas/1.37.0""#;
    text.replacen(&format!("{member},"), "", 1)
        .replacen("]}]}]}", &format!("]}}],{member}}}]}}"), 1)
        .into_bytes()
}

fn main() {
    let starts: Vec<u64> = (0..MESSAGES).map(|message| message * STEPS_PER_MESSAGE).collect();
    let mut encoder = proto::Encoder::traces();
    let mut writer = json::Encoder::traces();
    let mut binary = Vec::new();
    let mut text = Vec::new();
    for &start in &starts {
        record(start, &mut encoder);
        binary.push(encoder.take());
        record(start, &mut writer);
        text.push(writer.take());
    }
    let behind: Vec<Vec<u8>> = text.iter().map(|message| schema_url_last(message)).collect();
    let total = |messages: &[Vec<u8>]| messages.iter().map(Vec::len).sum::<usize>();

    let mut decoder = proto::Decoder::new();
    measure("decode protobuf", total(&binary), || {
        let mut look = Look::default();
        for message in &binary {
            assert!(decoder.decode_traces(message, &mut look).is_ok(), "a generated message is whole");
        }
        look.spans
    });
    let mut decoder = json::Decoder::new();
    for (what, messages) in [("decode JSON", &text), ("decode JSON, schema URL last", &behind)] {
        measure(what, total(messages), || {
            let mut look = Look::default();
            for message in messages {
                assert!(decoder.decode_traces(message, &mut look).is_ok(), "a generated message is whole");
            }
            look.spans
        });
    }
    measure("validate protobuf", total(&binary), || {
        let traces = stepscope_otlp::Signal::Traces;
        assert!(
            binary.iter().all(|message| proto::validate(message, traces)),
            "a generated message is valid"
        );
        MESSAGES * STEPS_PER_MESSAGE * SPANS_PER_STEP
    });
    measure("encode protobuf", total(&binary), || {
        for &start in &starts {
            record(start, &mut encoder);
            black_box(encoder.finish());
            encoder.clear();
        }
        MESSAGES * STEPS_PER_MESSAGE * SPANS_PER_STEP
    });
    measure("encode JSON", total(&text), || {
        for &start in &starts {
            record(start, &mut writer);
            black_box(writer.finish());
            writer.clear();
        }
        MESSAGES * STEPS_PER_MESSAGE * SPANS_PER_STEP
    });
}
