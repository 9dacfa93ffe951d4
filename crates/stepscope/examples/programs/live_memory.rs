//! Memory that stays: growing until the program is killed, and allocated by threads that work for a section.

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Duration;

use stepscope::{in_section, section, step};

const MIB: usize = 1 << 20;

/// Blocks that are all chosen: none stands for another one.
fn keep(bytes: usize) -> Vec<u8> {
    black_box(vec![1; bytes])
}

thread_local! {
    /// Has a destructor, for which the standard library allocates on some systems.
    static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn run(what: &str) {
    let run = crate::start();
    match what {
        "until_killed" => {
            let mut kept = Vec::new();
            for number in 0_u64.. {
                let _step = step!(number);
                if kept.len() < 40 {
                    let _keep = section!("keep");
                    kept.push(keep(MIB));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        "submitted" => {
            let step = step!(0);
            let kept = {
                let _submit = section!("submit");
                let submitted = in_section(|| {
                    let own = keep(3 * MIB);
                    let _inner = section!("inner");
                    (own, keep(4 * MIB))
                });
                std::thread::scope(|scope| {
                    let alone = scope.spawn(|| keep(5 * MIB));
                    (scope.spawn(submitted).join().unwrap(), alone.join().unwrap())
                })
            };
            drop(step);
            drop(run);
            drop(kept);
            return;
        }
        "resident" => {
            let step = step!(0);
            let kept = {
                let _load = section!("load");
                // Touched, given back, and half of it kept, each for as long as many samples take.
                let (given, kept) = (keep(64 * MIB), keep(64 * MIB));
                std::thread::sleep(Duration::from_millis(300));
                drop(given);
                std::thread::sleep(Duration::from_millis(300));
                kept
            };
            drop(section!("short"));
            // What stays is there at the next sample, too.
            std::thread::sleep(Duration::from_millis(300));
            drop((step, kept));
        }
        "in_threads" => {
            for number in 0..50_u64 {
                let _step = step!(number);
                let work = || KEPT.with_borrow_mut(|kept| kept.push(1));
                std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
            }
        }
        other => panic!("no memory is called {other:?}"),
    }
    drop(run);
}
