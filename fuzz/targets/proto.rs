//! Bytes as OTLP protobuf messages of both signals: the decoders themselves, without files around them.
#![no_main]

use stepscope_fuzz::Look;
use stepscope_otlp::{Signal, detect, proto};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    let traces = proto::decode_traces(bytes, &mut Look::default());
    let metrics = proto::decode_metrics(bytes, &mut Look::default());
    // What is strictly valid decodes.
    assert!(!proto::validate(bytes, Signal::Traces) || traces.is_ok());
    assert!(!proto::validate(bytes, Signal::Metrics) || metrics.is_ok());
});
