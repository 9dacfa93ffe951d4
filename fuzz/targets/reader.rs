//! Bytes as a file of whatever format they look like, up to the report.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stepscope_fuzz::analyse(bytes));
