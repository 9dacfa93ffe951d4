//! A step whose sections do what the operating system counts: one sleeps, one computes, one touches new memory, one
//! writes a file and reads it.

use std::hint::black_box;
use std::time::Duration;

/// Bytes that go to the file and back.
const BYTES: usize = 100_000;

pub(crate) fn run() {
    let _run = super::start();
    for number in 0..3 {
        let _step = stepscope::step!(number);
        {
            let _section = stepscope::section!("sleeping");
            std::thread::sleep(Duration::from_millis(5));
        }
        {
            let _section = stepscope::section!("computing");
            black_box((0..200_000u64).fold(0, |sum, number| black_box(sum ^ number)));
        }
        {
            let _section = stepscope::section!("touching");
            black_box(vec![1u8; 16 << 20]);
        }
        let _section = stepscope::section!("writing");
        std::fs::write("system.bin", vec![7; BYTES]).unwrap();
        assert_eq!(std::fs::read("system.bin").unwrap().len(), BYTES);
    }
}
