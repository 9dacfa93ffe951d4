//! Bytes in two files, the second read by a reader that goes on where the first one stopped.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let cut = usize::from(*first).min(rest.len());
    let (first, second) = rest.split_at(cut);
    stepscope_fuzz::continue_reading(first, second);
});
