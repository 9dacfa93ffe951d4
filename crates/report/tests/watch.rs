//! A watch beside runs of this process. One test: a process has one run at a time.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope::Guard;
use stepscope_report::{LeakWarning, LimitKind, Verdict, watch_leaks};

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

const KEPT_BYTES: usize = 1 << 20;
/// Later than any step that is needed.
const MOST_STEPS: u64 = 2_000;

fn run(folder: &std::path::Path) -> Guard {
    stepscope::builder().directory(folder).install()
}

/// 400 MiB from here.
fn limit_from_here() -> u64 {
    stepscope_mem::rss_bytes().map_or(u64::MAX, |bytes| bytes + (400 << 20))
}

/// Steps of some milliseconds that hold a batch and keep `kept_bytes`, until `is_over`; how many there were.
fn train(kept_bytes: usize, mut is_over: impl FnMut(u64) -> bool) -> u64 {
    let mut kept = Vec::new();
    for number in 0..MOST_STEPS {
        let _step = stepscope::step!(number);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(8) {
            black_box(vec![1_u8; 1 << 20]);
        }
        kept.push(vec![1_u8; kept_bytes]);
        if is_over(number + 1) {
            return number + 1;
        }
    }
    MOST_STEPS
}

/// A watch whose warnings come to the receiver.
fn watched(run: &Guard, limit_bytes: u64) -> (stepscope_report::LeakWatch, Receiver<LeakWarning>) {
    let (sender, receiver) = sync_channel(10);
    let watch = watch_leaks(&run.handle()).limit_bytes(limit_bytes);
    (watch.start(move |warning| drop(sender.try_send(warning.clone()))), receiver)
}

#[test]
fn a_leak_is_told_before_its_limit_and_a_healthy_run_is_not_called_one() {
    let folder = tempfile::tempdir().unwrap();

    // Leaks, up to a limit.
    let leaky = run(folder.path());
    let limit_bytes = limit_from_here();
    let (watch, warnings) = watched(&leaky, limit_bytes);
    let at_limit = train(KEPT_BYTES, |_| stepscope_mem::rss_bytes().unwrap() >= limit_bytes);
    drop(watch);
    let warning = warnings.try_recv().expect("told before the limit was reached");
    let limit = warning.limit.unwrap();
    assert_eq!((warning.verdict, warning.is_suspected, warning.is_near), (Verdict::Leak, false, true));
    assert_eq!((limit.kind, limit.limit_bytes), (LimitKind::Set, limit_bytes));
    let predicted = warning.steps_to_limit.unwrap().about / (at_limit - warning.steps) as f64;
    assert!((0.75..1.25).contains(&predicted), "{predicted}: {warning}");
    let rate = warning.bytes_per_step / KEPT_BYTES as f64;
    assert!((0.8..1.2).contains(&rate), "{rate}");
    assert!(warnings.try_recv().is_err(), "told once");
    let directory = leaky.directory().unwrap().to_owned();
    drop(leaky);

    // The report on it has the warning, and the limit that the watch has told.
    let path = folder.path().join("report.json");
    stepscope_report::write(&directory, &path).unwrap();
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let growth = report["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "memory_growth");
    assert_eq!(growth.unwrap()["evidence"]["limit_bytes"], limit_bytes, "{growth:?}");
    let sections = report["sections"].as_array().unwrap();
    assert!(sections.iter().any(|row| row["path"] == "memory_leak" && row["count"] == 1));

    // Keeps nothing.
    let healthy = run(folder.path());
    let (watch, warnings) = watched(&healthy, limit_from_here());
    train(0, |steps| steps >= 500);
    drop(watch);
    assert!(warnings.try_recv().is_err());
    drop(healthy);

    // A callback that panics is not called again, and harms nobody.
    let leaky = run(folder.path());
    let (calls, seen) = (Arc::new(Mutex::new(0)), Arc::new(()));
    let (counted, alive) = (Arc::clone(&calls), Arc::clone(&seen));
    let watch = watch_leaks(&leaky.handle()).limit_bytes(limit_from_here()).start(move |_| {
        let _alive = &alive;
        *counted.lock().unwrap() += 1;
        panic!("in a callback");
    });
    let steps = train(KEPT_BYTES, |_| *calls.lock().unwrap_or_else(std::sync::PoisonError::into_inner) > 0);
    assert!(steps < MOST_STEPS);
    drop(watch);
    assert_eq!(Arc::strong_count(&seen), 1, "the thread has ended");
}
