//! Bytes behind a whole record with its length, so that they are records, torn or damaged.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

/// One span without attributes, as a protobuf message behind its length.
const RECORD: &[u8] = b"\0\0\0\x20\x0a\x1e\x12\x1c\x12\x1a\x0a\x10\x01\x02\x03\x04\x05\x06\x07\x08\x01\x02\x03\x04\x05\x06\x07\x08\
\x12\x06\x01\x02\x03\x04\x05\x06";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read(&[RECORD, bytes].concat(), small(), &mut Checked::default());
});
