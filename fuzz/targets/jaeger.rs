//! Bytes inside of a Jaeger document.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let document = [br#"{"data":[{"traceID":"1f","spans":["#, bytes].concat();
    let _ = read(&document, small(), &mut Checked::default());
});
