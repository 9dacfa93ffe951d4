//! Bytes inside of documents of every kind of JSON that holds many spans, with something whole behind them.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

const SPAN: &str = r#"{"traceId":"000102030405060708090a0b0c0d0e0f","spanId":"0001020304050607","name":"a","startTimeUnixNano":"5","endTimeUnixNano":"9"}"#;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let (head, tail) = match first % 4 {
        0 => (r#"{"resourceSpans":[{"resource":{},
            "scopeSpans":[{"spans":[{"traceId":""#.to_owned(), format!(",{SPAN}]}}]}}]}}")),
        1 => (r#"[{"resourceSpans":["#.to_owned(), format!(r#"{{"scopeSpans":[{{"spans":[{SPAN}]}}]}}]}}]"#)),
        2 => (r#"{"data":[{"traceID":"1f","spans":["#.to_owned(), r#"{"spanID":"2","operationName":"a","startTime":3,"duration":4,"processID":"p"}],"processes":{"p":{}}}]}"#.to_owned()),
        _ => (r#"{"traceEvents":["#.to_owned(), r#",{"ph":"X","ts":1,"dur":9,"name":"a","pid":1,"tid":1}],"displayTimeUnit":"ms"}"#.to_owned()),
    };
    let _ = read(&[head.as_bytes(), rest, tail.as_bytes()].concat(), small(), &mut Checked::default());
});
