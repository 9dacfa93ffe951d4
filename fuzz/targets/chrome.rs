//! Bytes as the events of a Chrome trace, with and without the document around the list.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let head: &[u8] = match first % 4 {
        0 => br#"[{"ph":"X","#,
        1 => br#"{"traceEvents":[{"ph":"X","ts":1,"dur":9,"name":"a","pid":1,"tid":1},"#,
        2 => br#"{"traceEvents":["#,
        _ => br#"{"baseTimeNanoseconds":5,"traceEvents":[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","ts":1,"dur":90,"pid":1,"tid":1},"#,
    };
    let _ = read(&[head, rest].concat(), small(), &mut Checked::default());
});
