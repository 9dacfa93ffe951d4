//! Bytes behind a whole JSON line, so that everything in them is read as lines and what is torn.
#![no_main]

use stepscope_fuzz::{Checked, read, small};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let file = [b"{\"resourceSpans\":[]}\n", bytes].concat();
    let _ = read(&file, small(), &mut Checked::default());
});
