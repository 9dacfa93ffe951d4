//! Bytes as compressed streams: a gzip member, or a zstd frame, behind their magic numbers.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let head: &[u8] = match first % 3 {
        0 => b"\x1f\x8b\x08",
        1 => b"\x28\xb5\x2f\xfd",
        _ => b"\0\0\0\x40\x28\xb5\x2f\xfd",
    };
    let _ = read(&[head, rest].concat(), small(), &mut Checked::default());
});
