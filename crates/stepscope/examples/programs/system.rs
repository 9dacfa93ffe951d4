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

/// Spans of which what the system counts for the thread that ends them is not theirs: entered on another thread, and ended
/// long after they were left.
pub(crate) fn of_others() {
    let _run = super::start();
    let sleep = || std::thread::sleep(Duration::from_millis(2));
    let elsewhere = tracing::info_span!("elsewhere");
    std::thread::scope(|scope| {
        let work = || elsewhere.in_scope(sleep);
        std::thread::Builder::new().name("worker".into()).spawn_scoped(scope, work).unwrap();
    });
    drop(elsewhere);
    for number in 0..3_u64 {
        let step = tracing::info_span!("kept", stepscope.step = number);
        let part = step.in_scope(|| {
            let part = tracing::info_span!("part");
            part.in_scope(|| ());
            part
        });
        (0..20).for_each(|_| sleep());
        drop((part, step));
    }
}
