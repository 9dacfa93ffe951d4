//! More than fits: traces that are too wide, rings that are too small, threads that come and go, spans that
//! stay open.

#![expect(unsafe_code, reason = "how memory is paged has no safe interface")]

use stepscope::{section, step};

use crate::say;

pub(crate) fn wide(sections: u64) {
    let run = crate::start();
    {
        let _step = step!(0);
        let _outer = section!("outer");
        for number in 0..sections {
            let _part = section!("part");
            if number % 1_000 == 0 {
                let _ = run.flush(std::time::Duration::from_secs(10));
            }
            if number % 5_000 == 4_999 {
                let _leaf = section!("leaf");
            }
        }
    }
    let _next = step!(1);
}

/// As `wide`, by `tracing` spans of two threads inside of one.
pub(crate) fn wide_spans(sections: u64) {
    let run = crate::start();
    {
        let step = tracing::info_span!("step", stepscope.step = 0);
        let outer = tracing::info_span!(parent: &step, "outer");
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let outer = outer.clone();
                let work = move || {
                    for _ in 0..sections / 2 {
                        tracing::info_span!(parent: &outer, "part").in_scope(|| ());
                        std::thread::yield_now();
                    }
                };
                std::thread::Builder::new().name(format!("part-{number}")).spawn(work).unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let _ = run.flush(std::time::Duration::from_secs(10));
    }
    say("spans", sections + 4);
}

/// Spans of many names.
pub(crate) fn names(count: u64) {
    let run = crate::start();
    for number in 0..count {
        let name = format!("name-{number}");
        tracing::info_span!("named", otel.name = name).in_scope(|| ());
        if number % 1_000 == 0 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
    say("sections", count + 1);
}

/// Steps with sections of many call paths, whose names have this length or that of their number.
pub(crate) fn paths(steps: u64, paths: u64, name_bytes: u64) {
    const SECTIONS: u64 = 20;
    let run = crate::start();
    let width = usize::try_from(name_bytes).unwrap();
    for number in 0..steps {
        let _step = step!(number);
        let _outer = section!("outer");
        for section in 0..SECTIONS {
            let name = format!("{:0>width$}", (number * SECTIONS + section) % paths);
            let around = tracing::info_span!("around", otel.name = name);
            let _around = around.enter();
            tracing::info_span!("inner", otel.name = name).in_scope(|| ());
        }
        if number % 16 == 0 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
    say("spans", steps * (2 + 2 * SECTIONS) + 2);
    say("paths", 2 * paths.min(steps * SECTIONS) + 3);
}

/// Sections outside of any step.
pub(crate) fn alone(sections: u64) {
    let run = crate::start();
    for number in 0..sections {
        let _alone = section!("alone");
        let _part = section!("part");
        if number % 500 == 0 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
    say("spans", sections * 2 + 2);
}

/// Faster than anybody can take it, by `tracing` spans of a whole step each.
pub(crate) fn flood(steps: u64) {
    let _run = crate::start();
    for number in 0..steps {
        let _step = step!(number);
        for _ in 0..20 {
            let _section = section!("part");
        }
    }
    say("emitted", steps * 21 + 2);
}

/// As `flood`: two phases a step, with nine parts in each.
pub(crate) fn flood_phases(steps: u64) {
    let _run = crate::start();
    for number in 0..steps {
        let _step = step!(number);
        for _ in 0..2 {
            let _phase = section!("phase", phase = Forward);
            for _ in 0..9 {
                let _section = section!("part");
            }
        }
    }
    say("emitted", steps * 21 + 2);
}

pub(crate) fn threads(count: u64) {
    let _run = crate::start();
    for round in 0..count / 20 {
        let threads: Vec<_> = (0..20)
            .map(|number| {
                std::thread::Builder::new()
                    .name(format!("visitor-{round}-{number}"))
                    .spawn(move || {
                        let _step = step!(round * 20 + number);
                        for _ in 0..10 {
                            tracing::info_span!("visit").in_scope(|| {
                                let _part = section!("part");
                            });
                        }
                    })
                    .unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    say("emitted", count * 21 + 2);
}

/// More open spans than there is room for.
pub(crate) fn crowd(spans: u64) {
    let run = crate::start();
    let parent = tracing::info_span!("parent");
    let open: Vec<_> = (0..spans).map(|_| tracing::info_span!(parent: &parent, "open")).collect();
    let _ = run.flush(std::time::Duration::from_secs(10));
    for (number, span) in open.into_iter().enumerate() {
        span.in_scope(|| ());
        drop(span);
        if number % 1_000 == 0 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
    say("ended", spans + 1);
}

/// Threads with `spans` open spans each, all at once.
pub(crate) fn crowds(threads: u64, spans: u64) {
    let _run = crate::start();
    let gate = std::sync::Barrier::new(usize::try_from(threads).unwrap());
    let parent = tracing::info_span!("parent");
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let open: Vec<_> = (0..spans).map(|_| tracing::info_span!(parent: &parent, "open")).collect();
                gate.wait();
                open.iter().for_each(|span| span.in_scope(|| ()));
                // All are found before one is gone.
                gate.wait();
            });
        }
    });
    say("ended", threads * spans + 1);
}

/// Many threads at once, each with one section, after others that have ended; the resident memory that they have come to.
pub(crate) fn at_once(count: u64) {
    // SAFETY: only says that memory is to come in small pages, whatever the machine does otherwise.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) }, 0);
    let run = crate::start();
    let resident = || run.handle().figures().memory().rss_bytes.unwrap();
    for number in 0..20 {
        let thread = std::thread::Builder::new().name(format!("before-{number}"));
        thread.spawn(|| drop(section!("one"))).unwrap().join().unwrap();
    }
    // What they had is given back.
    assert!(run.flush(std::time::Duration::from_secs(60)).is_complete());
    let before = resident();
    let gate = std::sync::Barrier::new(usize::try_from(count).unwrap() + 1);
    std::thread::scope(|scope| {
        for number in 0..count {
            let work = || {
                drop(section!("one"));
                // All are there when it is looked, and until then.
                gate.wait();
                gate.wait();
            };
            std::thread::Builder::new().name(format!("one-{number}")).spawn_scoped(scope, work).unwrap();
        }
        gate.wait();
        say("resident_bytes", resident().saturating_sub(before));
        gate.wait();
    });
}

/// Threads that have recorded much and stay, while the run ends; the resident memory before and after.
pub(crate) fn idle(count: u64, sections: u64) {
    let run = crate::start();
    let handle = run.handle();
    let resident = || handle.figures().memory().rss_bytes.unwrap();
    let gate = std::sync::Barrier::new(usize::try_from(count).unwrap() + 1);
    std::thread::scope(|scope| {
        for number in 0..count {
            let work = || {
                for _ in 0..sections {
                    let _part = section!("part");
                }
                gate.wait();
                gate.wait();
            };
            std::thread::Builder::new().name(format!("idle-{number}")).spawn_scoped(scope, work).unwrap();
        }
        gate.wait();
        assert!(run.flush(std::time::Duration::from_secs(60)).is_complete());
        say("before", resident());
        drop(run);
        say("after", resident());
        gate.wait();
    });
}

/// Steps, each with a section whose guard is forgotten and one that ends.
pub(crate) fn forgotten(steps: u64) {
    let run = crate::start();
    for number in 0..steps {
        let _step = step!(number);
        std::mem::forget(section!("forgotten"));
        drop(section!("part"));
        if number % 1_000 == 0 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
}

/// Usual steps until the files of the run have more than half of their bound: from then on it is thinned.
fn fill_half(run: &stepscope::Guard) {
    let bound: u64 = std::env::var("STEPSCOPE_DIR_BYTES").unwrap().parse().unwrap();
    let files = || std::fs::read_dir(run.directory().unwrap()).unwrap();
    let used = || files().map(|file| file.unwrap().metadata().map_or(0, |file| file.len())).sum::<u64>();
    while used() < bound / 2 + bound / 10 {
        usual_steps(run, 64);
    }
}

fn usual_steps(run: &stepscope::Guard, steps: u64) {
    for number in 0..steps {
        {
            let _step = step!(number);
            (0..3).for_each(|_| drop(section!("usual")));
        }
        if number % 64 == 63 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
}

/// A thinned run that is killed inside of a step, once `sections` of it have been flushed, or were left to themselves.
pub(crate) fn killed_in_a_step(sections: u64, how: &str) {
    let run = crate::start();
    fill_half(&run);
    let _step = step!(1_000_000);
    (0..sections).for_each(|_| drop(section!("last")));
    if how == "flushed" {
        assert!(run.flush(std::time::Duration::from_secs(60)).is_complete());
        // SAFETY: a signal to the own process, which ends it.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    loop {
        std::thread::park();
    }
}

/// A thinned run with some steps that are captured and some that fail; then so many usual ones.
pub(crate) fn marked(usual: u64) {
    let run = crate::start();
    fill_half(&run);
    run.handle().capture(20, stepscope::Level::Comprehensive);
    for number in 0..20 {
        let _step = step!(number);
        (0..3).for_each(|_| drop(section!("captured")));
    }
    for number in 0..10 {
        let _step = step!(number);
        (0..3).for_each(|_| drop(section!("failed")));
        tracing::error!("failed");
    }
    usual_steps(&run, usual);
}

/// Steps that all fail.
pub(crate) fn failing(steps: u64) {
    let run = crate::start();
    for number in 0..steps {
        {
            let _step = step!(number);
            (0..3).for_each(|_| drop(section!("part")));
            tracing::error!("failed");
        }
        if number % 64 == 63 {
            let _ = run.flush(std::time::Duration::from_secs(10));
        }
    }
    say("spans", 4 * steps + 2);
}
