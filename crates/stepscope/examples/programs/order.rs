//! Sections alone, properly nested: the case in which the time of a section itself is known exactly.

use std::hint::black_box;

use stepscope::{section, step};

fn spin(rounds: u64) {
    (0..rounds).for_each(|round| {
        black_box(round);
    });
}

pub(crate) fn run() {
    let _run = crate::start();
    for number in 0..50_u64 {
        let _step = step!(number);
        for part in 0..3 {
            let _outer = section!("outer", phase = Forward);
            spin(part * 1_000);
            for _ in 0..part {
                let _inner = section!("inner");
                spin(number * 10);
                let _leaf = section!("leaf");
            }
        }
    }
}
