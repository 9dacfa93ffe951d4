//! Bytes as a file, converted to every format; what was written is read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepscope_fuzz::convert(bytes));
