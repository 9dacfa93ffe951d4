//! Steps that are recorded more closely than the others: by a plan, or as soon as somebody asks for them.
#![expect(unsafe_code, reason = "signals have no safe interface")]

use std::time::Duration;

use stepscope::{Handle, Level, section, step};

use crate::say;

fn one_step(number: u64) {
    let _step = step!(number);
    let _outer = section!("outer");
    let _leaf = section!("leaf");
}

fn signal() {
    // SAFETY: sending a signal to the own process has no preconditions.
    assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) }, 0);
}

extern "C" fn own_handler(_: libc::c_int) {
    // SAFETY: `_exit` is async-signal-safe and does not return.
    unsafe { libc::_exit(42) };
}

/// Steps until the level is above what it was, and 50 more; says which was the first above, and how many were.
fn step_until_captured(handle: &Handle) {
    let (usual, mut first, mut captured, mut after) = (handle.level(), None, 0, 0);
    for number in 0.. {
        one_step(number);
        if handle.level() > usual {
            first = first.or(Some(number));
            captured += 1;
        } else if first.is_some() {
            after += 1;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
        if after == 50 {
            break;
        }
    }
    say("first", first.unwrap());
    say("captured", captured);
}

/// Steps until the level is this one.
fn step_until_at(handle: &Handle, level: Level) {
    for number in 0.. {
        one_step(number);
        if handle.level() == level {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn run(how: &str) {
    if how == "own_handler" {
        let handler = own_handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler only calls an async-signal-safe function.
        unsafe { libc::signal(libc::SIGUSR2, handler) };
    }
    let run = crate::start();
    let handle = run.handle();
    match how {
        "plan" => (0..40).for_each(one_step),
        "handle" => {
            (0..10).for_each(one_step);
            handle.capture(4, Level::Detailed);
            (10..40).for_each(one_step);
        }
        "signal" => {
            signal();
            step_until_captured(&handle);
        }
        "raise" => {
            let usual = handle.level();
            for level in [Level::Detailed, Level::Comprehensive, usual] {
                signal();
                step_until_at(&handle, level);
            }
            let ended = run.directory().map(std::path::Path::to_owned);
            drop(run);
            // Who sends one does not know that the run is over.
            signal();
            assert!(ended.is_some());
        }
        "file" => {
            let request = run.directory().unwrap().join("capture.request");
            std::fs::write(&request, "steps=5,level=detailed\n").unwrap();
            step_until_captured(&handle);
            assert!(!request.exists());
            // What makes no sense is taken away, and said.
            std::fs::write(&request, "steps=many").unwrap();
            while request.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // The process has no handler of ours.
        "own_handler" | "unasked" => signal(),
        other => panic!("no way called {other:?}"),
    }
}
