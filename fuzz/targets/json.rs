//! Bytes as OTLP JSON messages of both signals: the decoders themselves, without files around them.
#![no_main]

use stepscope_fuzz::Look;
use stepscope_otlp::{detect, json};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    let _ = json::decode_traces(bytes, &mut Look::default());
    let _ = json::decode_metrics(bytes, &mut Look::default());
});
