//! Figures that the program reads of its own run: as lines of a table, for tests to hold against what left the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use stepscope::{Figures, Handle, Mode, SectionFigures, section, step};

use crate::say;

const THREADS: u64 = 8;

/// Steps that may be left out as warm-up, at most: after each of them it is said what there was so far.
const WARM_UP: u64 = 20;

/// One line a section, the fields separated by tabs; `-` stands for nothing.
fn print(figures: &Figures) {
    assert_eq!(figures.unread(), [""; 0]);
    figures.sections().iter().for_each(print_section);
    print_work("work", figures);
    let memory = figures.memory();
    let [rss, peak, live] = [memory.rss_bytes, memory.peak_rss_bytes, memory.live_bytes].map(or_none);
    println!("process\tmemory\t{rss}\t{peak}\t{live}");
    let names = |sections: Vec<&SectionFigures>| {
        sections.iter().map(|section| section.path.as_str()).collect::<Vec<_>>().join("\t")
    };
    println!("slowest\t{}", names(figures.slowest(20)));
    println!("most_variable\t{}", names(figures.most_variable(20)));
}

fn or_none(amount: Option<u64>) -> String {
    amount.map_or("-".to_owned(), |amount| amount.to_string())
}

/// What steps have done, by mode, in lines that begin with `word`.
fn print_work(word: &str, figures: &Figures) {
    for &mode in Mode::ALL {
        let work = figures.steps(mode);
        if work.steps > 0 {
            let (samples, tokens) = (or_none(work.samples), or_none(work.tokens));
            println!("{word}\t{mode}\t{}\t{}\t{samples}\t{tokens}", work.steps, work.total_ns);
        }
    }
}

fn print_section(row: &SectionFigures) {
    let or_none = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let memory = row.memory.map_or([None; 5], |memory| {
        let count = memory.alloc_count;
        [memory.alloc_bytes, memory.free_bytes, count, memory.self_alloc_bytes, memory.self_free_bytes]
            .map(Some)
    });
    let mut fields = vec![
        "section".to_owned(),
        row.path.clone(),
        row.name.clone(),
        row.kind.to_string(),
        row.phase.map_or("-".to_owned(), |phase| phase.to_string()),
    ];
    fields.extend(
        [
            row.count,
            row.total_ns,
            row.self_busy_ns,
            row.min_ns,
            row.max_ns,
            row.p50_ns,
            row.p95_ns,
            row.p99_ns,
        ]
        .map(|value| value.to_string()),
    );
    fields.push(row.mean_ns.to_string());
    fields.extend([row.std_ns, row.cv, row.robust_cv].map(or_none));
    fields.extend(memory.map(|value| value.map_or("-".to_owned(), |value| value.to_string())));
    println!("{}", fields.join("\t"));
}

fn named(work: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::Builder::new().name("worker".into()).spawn(work).unwrap()
}

/// Work of one thread: sections in sections, of many lengths, with allocations, and some around themselves.
fn work(rounds: u64) {
    for round in 0..rounds {
        let _outer = section!("outer", phase = Forward);
        let kept = vec![1u8; 64 + (round % 7) as usize];
        {
            let _inner = section!("inner");
            std::hint::black_box(vec![0u64; (round % 100) as usize]);
            let _again = section!("inner");
        }
        let _backward = section!("backward");
        std::hint::black_box(kept);
    }
}

/// A run with threads, of which some end while it goes on; figures after its last section, and after its end.
pub(crate) fn run(when: &str) {
    let run = crate::start();
    let handle = run.handle();
    for number in 0..150u64 {
        let step = step!(number, samples = 16, tokens = number);
        work(number % 5);
        let evaluated = (number % 10 == 0).then(|| section!("checked"));
        drop((evaluated, step));
        if number < WARM_UP {
            print_work("so_far", &handle.figures());
        }
    }
    for number in 0..30u64 {
        let _step = step!(number, mode = eval, samples = 3);
        work(1);
    }
    for _ in 0..3 {
        let threads: Vec<_> = (0..THREADS).map(|_| named(|| work(40))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
    if when == "before" {
        print(&handle.figures());
    }
    drop(run);
    if when == "after" {
        print(&handle.figures());
    }
}

/// Figures asked for where it might go wrong.
pub(crate) fn asked(where_: &str) {
    let run = crate::start();
    let handle = run.handle();
    match where_ {
        "inside" => inside(&handle),
        "threads" => threads(&handle),
        "panic" => in_a_panic(&handle),
        "reset" => reset(&handle),
        "steps" => steps(&handle),
        "flushed" => flushed(&handle),
        "off" => {}
        other => panic!("nowhere called {other:?}"),
    }
    let counts = |handle: &Handle| {
        handle.figures().sections().iter().map(|row| (row.path.clone(), row.count)).collect::<Vec<_>>()
    };
    let (before, _) = (counts(&handle), drop(run));
    // The run's own end is in them now, and all else is as it was.
    let after = counts(&handle);
    let work = |(path, _): &&(String, u64)| path != "run";
    assert!(before.iter().eq(after.iter().filter(work)), "{before:?} {after:?}");
    after.iter().for_each(|(path, count)| say(path, *count));
    assert!(handle.flush(std::time::Duration::from_secs(60)).is_complete());
}

fn inside(handle: &Handle) {
    struct Asks<'a>(&'a Handle);

    impl std::fmt::Debug for Asks<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.0.figures().sections().len())
        }
    }

    let _step = step!(0);
    for number in 0..100 {
        let _section = section!("section");
        let _span = tracing::info_span!("span", asks = ?Asks(handle)).entered();
        let figures = handle.figures();
        // What is open has not ended yet.
        assert_eq!(figures.section("step"), None);
        let count = |path: &str| figures.section(path).map_or(0, |section| section.count);
        assert_eq!((count("step/section"), count("step/section/span")), (number, number));
        assert!(figures.to_string().contains("step/section") == (number > 0), "{figures}");
        tracing::warn!(asks = ?Asks(handle), "figures");
    }
}

/// Threads that do nothing but begin and end sections, or begin and end themselves, while others ask.
fn threads(handle: &Handle) {
    const ROUNDS: u64 = 20_000;
    let (is_over, start) = (AtomicBool::new(false), Barrier::new(10));
    std::thread::scope(|scope| {
        let busy: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..ROUNDS {
                        let _short = section!("short");
                    }
                    named(|| drop(section!("last"))).join().unwrap();
                })
            })
            .collect();
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                let (mut short, mut last) = (0, 0);
                while !is_over.load(Ordering::SeqCst) {
                    let figures = handle.figures();
                    let count = |path: &str| figures.section(path).map(|section| section.count);
                    if figures.unread().is_empty() {
                        let now = (count("short").unwrap_or(0), count("last").unwrap_or(0));
                        assert!(now.0 >= short && now.1 >= last, "{now:?} after {short} and {last}");
                        (short, last) = now;
                    }
                }
            });
        }
        busy.into_iter().for_each(|thread| thread.join().unwrap());
        is_over.store(true, Ordering::SeqCst);
    });
    let figures = handle.figures();
    let count = |path: &str| figures.section(path).map(|section| section.count);
    assert_eq!((count("short"), count("last")), (Some(THREADS * ROUNDS), Some(THREADS)));
}

/// What has become of spans, right after they were flushed.
fn flushed(handle: &Handle) {
    const ROUND: u64 = 6;
    for round in 1..=20 {
        for number in 0..ROUND / 2 {
            let _step = step!(number);
            let _section = section!("inside");
        }
        assert!(handle.flush(std::time::Duration::from_secs(60)).is_complete());
        let figures = handle.figures();
        let spans = figures.spans();
        // And the mark of the run's start.
        assert_eq!(spans.emitted, round * ROUND + 1);
        let (files, receiver) = (("directory", spans.emitted, 0), ("otlp", spans.emitted, 0));
        assert_eq!(spans.sinks, [files, receiver], "{round}");
    }
}

/// Figures in the panic's hook, of a thread inside of sections.
fn in_a_panic(handle: &Handle) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (told, asked) = (Arc::clone(&seen), handle.clone());
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        previous(info);
        let figures = asked.figures();
        told.lock().unwrap().push(figures.section("outer/ended").map(|section| section.count));
        assert!(asked.flush(std::time::Duration::from_secs(60)).is_complete());
    }));
    let fails = || {
        let _outer = section!("outer");
        drop(section!("ended"));
        panic!("on purpose");
    };
    assert!(std::panic::catch_unwind(fails).is_err());
    assert_eq!(*seen.lock().unwrap(), [Some(1)]);
}

/// Steps on two threads, more than there is room for; each time those since the last look, by a reset and beside earlier
/// figures.
fn steps(handle: &Handle) {
    let since = |earlier: &Figures| {
        let now = handle.figures();
        let work = now.steps(Mode::Train);
        let calls = now.section("step").map_or(0, |steps| steps.count);
        assert_eq!((work.steps, work.samples.unwrap_or(0)), (calls, 2 * calls));
        let since = now.since(earlier).steps(Mode::Train);
        (work.steps, since.steps, since.samples.unwrap_or(0))
    };
    let of = |count: u64| (0..count).for_each(|number| drop(step!(number, samples = 2)));
    for round in 0..10 {
        named(move || of(1_000)).join().unwrap();
        of(2_000);
        let earlier = handle.figures();
        of(10 + round);
        named(move || of(7)).join().unwrap();
        assert_eq!(since(&earlier), (3_017 + round, 17 + round, 34 + 2 * round));
        handle.reset();
        assert_eq!(handle.figures().steps(Mode::Train).steps, 0);
    }
    say("steps", (0..10).map(|round| 3_017 + round).sum());
}

fn reset(handle: &Handle) {
    (0..10).for_each(|_| drop(section!("before")));
    (0..10).for_each(|_| drop(section!("both")));
    let first = handle.figures();
    handle.reset();
    assert_eq!(handle.figures().sections(), []);
    // Spans that had ended by then may leave only now.
    assert!(handle.flush(std::time::Duration::from_secs(60)).is_complete());
    let figures = handle.figures();
    let of_run = figures.spans();
    // And the mark of the run's start.
    assert_eq!((of_run.emitted, &of_run.sinks), (21, &vec![("directory", 21, 0)]));
    assert_eq!(figures.since(&first).spans(), of_run);
    (0..7).for_each(|_| drop(section!("both")));
    let later = handle.clone().figures();
    let paths: Vec<_> =
        later.sections().iter().map(|section| (section.path.as_str(), section.count)).collect();
    assert_eq!(paths, [("both", 7)]);
    assert!(later.elapsed() > std::time::Duration::ZERO);
    let both = first.section("both").unwrap();
    assert_eq!(first.clone().section("both"), Some(both));
    assert_eq!(both.count, 10);
    // Nothing that leaves is changed by it.
}
