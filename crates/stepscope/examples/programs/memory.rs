//! Known allocations inside sections, by `section!` or, with the argument `span`, by `tracing` spans; with `moved`, in one
//! that moves between threads. What the figures have to be stands in the test.

use std::hint::black_box;

use stepscope::{section, step};
use tracing::info_span;

/// `bytes` on the heap, in one allocation.
fn heap(bytes: u64) -> Vec<u8> {
    black_box(Vec::with_capacity(usize::try_from(bytes).unwrap()))
}

/// Calls `f` in a section of each kind's own way.
macro_rules! within {
    ($spans:expr, $name:literal, $f:expr) => {
        if $spans {
            info_span!($name).in_scope($f)
        } else {
            let _section = section!($name);
            ($f)()
        }
    };
}

fn one_step(spans: bool, number: u64) {
    let _step = step!(number);
    within!(spans, "outer", || {
        let own = heap(1_000 + number);
        let kept = within!(spans, "inner", || {
            drop(heap(5_000 + number));
            heap(700)
        });
        drop(kept);
        within!(spans, "grow", || {
            let mut bytes = heap(100);
            bytes.reserve_exact(400);
            std::mem::forget(black_box(bytes));
        });
        within!(spans, "nothing", || ());
        within!(spans, "noisy", || {
            // What we keep of an event is ours.
            tracing::error!("failed on purpose");
            let _deep = section!("deep", text = "a field that has to be kept somewhere");
            stepscope::value!("loss", 0.5_f32);
        });
        drop(own);
    });
    within!(spans, "fresh_thread", || ());
    std::thread::Builder::new()
        .name("fresh".into())
        .spawn(move || {
            let _root = section!("on_fresh_thread");
            let first = heap(40_000);
            {
                let _part = section!("part_of_fresh");
                drop(heap(64));
            }
            drop(first);
        })
        .unwrap()
        .join()
        .unwrap();
}

/// A span that goes on on another thread, where memory is still there that it allocated before.
fn moved(number: u64) {
    let _step = step!(number);
    let span = info_span!("moved");
    let first = span.in_scope(|| heap(1_000_001));
    let elsewhere = || {
        // What the registry has for a thread's first span is not the section's.
        info_span!("first").in_scope(|| ());
        span.in_scope(|| heap(2_000_003))
    };
    let second = std::thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
    span.in_scope(|| drop((first, second)));
}

pub(crate) fn run(kind: &str) {
    let _run = crate::start();
    (0..5).for_each(|number| if kind == "moved" { moved(number) } else { one_step(kind == "span", number) });
}
