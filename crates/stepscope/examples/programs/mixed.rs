//! Sections in every unusual way that is allowed, and an independent count of each call path.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use stepscope::{section, step};
use tracing::{info_span, instrument};

use crate::say;

/// How often each path was taken: kept by the program itself.
static TAKEN: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

fn took(path: &str) {
    *TAKEN.lock().unwrap_or_else(|poison| poison.into_inner()).entry(path.to_owned()).or_default() += 1;
}

#[instrument(skip_all)]
fn descend(path: &str, depth: u32) {
    let path = format!("{path}/descend");
    took(&path);
    if depth > 1 {
        descend(&path, depth - 1);
    }
}

/// Deeper than paths go: the last ones share one, and count as one, as they are inside of each other.
#[instrument(skip_all)]
fn dive(names: usize, depth: u32) {
    let names = names + 1;
    let mut path = vec!["dive"; names.min(64)];
    if names > 64 {
        path.push("…");
    }
    if names <= 65 {
        took(&path.join("/"));
    }
    if depth > 1 {
        dive(names, depth - 1);
    }
}

#[instrument(skip_all)]
fn fragile(path: &str, breaks: bool) {
    took(&format!("{path}/fragile"));
    let _inner = section!("inner");
    took(&format!("{path}/fragile/inner"));
    assert!(!breaks, "on purpose");
}

fn panics(path: &str) {
    for round in 0..7 {
        let result = catch_unwind(AssertUnwindSafe(|| fragile(path, round % 2 == 0)));
        assert_eq!(result.is_err(), round % 2 == 0);
    }
}

/// Guards of sections and spans that end in another order than they began.
fn disorder(path: &str) {
    for _ in 0..5 {
        let a = section!("a");
        took(&format!("{path}/a"));
        let b = section!("b");
        took(&format!("{path}/a/b"));
        drop(a);
        let c = section!("c");
        took(&format!("{path}/a/b/c"));
        drop(b);
        let span = info_span!("d");
        took(&format!("{path}/a/b/c/d"));
        let entered = span.enter();
        drop(c);
        let e = section!("e");
        took(&format!("{path}/a/b/c/d/e"));
        drop(entered);
        drop(e);
    }
}

/// A span that is entered many times, and one that others close.
fn long_lived(path: &str) {
    let span = info_span!("again");
    took(&format!("{path}/again"));
    for _ in 0..50 {
        let _guard = span.enter();
        let _part = section!("part");
        took(&format!("{path}/again/part"));
    }
    let elsewhere = info_span!("elsewhere");
    took(&format!("{path}/elsewhere"));
    elsewhere.in_scope(|| ());
    let thread = std::thread::Builder::new().name("closer".into()).spawn(move || {
        elsewhere.in_scope(|| {
            let _section = section!("there");
        });
        drop(elsewhere);
    });
    took(&format!("{path}/elsewhere/there"));
    thread.unwrap().join().unwrap();
}

/// One trace, several threads: an explicit parent.
fn share(path: &str) {
    let parent = info_span!("share");
    took(&format!("{path}/share"));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let parent = &parent;
            let path = &path;
            std::thread::Builder::new()
                .name(format!("helper-{number}"))
                .spawn_scoped(scope, move || {
                    for _ in 0..25 {
                        info_span!(parent: parent, "help").in_scope(|| {
                            let _part = section!("part", bytes = 8_u64);
                        });
                        took(&format!("{path}/share/help"));
                        took(&format!("{path}/share/help/part"));
                    }
                })
                .unwrap();
        }
    });
}

pub(crate) fn run() {
    // Panics are part of the scenario: nobody needs to read of them.
    std::panic::set_hook(Box::new(|_| ()));
    let run = crate::start();
    took("run");
    for epoch in 0..2_u64 {
        let _epoch = stepscope::epoch!(epoch);
        took("run/epoch");
        for number in 0..10_u64 {
            let _step = step!(epoch * 10 + number);
            took("step");
            descend("step", 1 + number as u32 % 5);
            panics("step");
            disorder("step");
            long_lived("step");
            share("step");
        }
    }
    dive(0, 70);
    {
        // A name that looks like a path.
        let _odd = section!("a/b");
        took("a\\/b");
    }
    drop(run);
    for (path, count) in TAKEN.lock().unwrap_or_else(|poison| poison.into_inner()).iter() {
        say(path, *count);
    }
}
