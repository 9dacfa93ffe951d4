//! Long tests of the layer, each of a size that is given: the tests run small ones, and what is said in `docs/trust.md`
//! comes from large ones.
//!
//! - `soak sequences COUNT [SEED]`: random sequences of operations on eight threads, held against a model.
//! - `soak threads SPANS`: so many spans on threads that come and go, counted on both sides.
//! - `soak levels STEPS [SEED]`: so many steps on each of three threads, while another one changes the level all the time.
//!
//! With `PROGRAMS_WAY=root` they are recorded through the root subscriber, with `root_all`, `root_even` or `root_odd` through
//! one around a registry that has all spans or some, and else through the layer. Files go to `STEPSCOPE_DIR`, or to a
//! directory that is gone afterwards. Fails by a panic; else says what it did, as lines `= name value`.
#![expect(clippy::print_stdout, reason = "standard output is how it reports what it did")]
#![expect(clippy::unwrap_used, reason = "what cannot go on fails")]

mod check;
mod levels;
mod plan;
mod play;
mod received;
mod sequences;
mod threads;
#[path = "../programs/way.rs"]
mod way;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use received::{Keep, Received};
use way::Way;

/// Longer than anything takes on any machine: who waits for this waits for ever.
const FOR_EVER: Duration = Duration::from_secs(600);

/// Something has been done: for the watchdog.
static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// Says what was counted or measured.
fn say(name: &str, value: u64) {
    println!("= {name} {value}");
}

/// Records to an exporter, beside a directory of a bounded size.
fn start<K: Keep>(received: &Received<K>) -> (stepscope::Guard, Option<tempfile::TempDir>) {
    let mut builder = stepscope::builder().directory_bytes(6_000_000).exit_timeout(FOR_EVER);
    let mut directory = None;
    if std::env::var_os("STEPSCOPE_DIR").is_none() {
        let own = tempfile::tempdir().unwrap();
        builder = builder.directory(own.path());
        directory = Some(own);
    }
    let builder = builder.exporter(Received(Arc::clone(&received.0)));
    (Way::of_environment().install(builder), directory)
}

/// Ends the process when nothing has been done for ever, as after a deadlock.
fn watch() {
    let watchdog = || {
        let mut before = PROGRESS.load(Ordering::Relaxed);
        loop {
            std::thread::sleep(FOR_EVER);
            let now = PROGRESS.load(Ordering::Relaxed);
            if now == before {
                eprintln!("nothing has happened for {} s: a deadlock", FOR_EVER.as_secs());
                std::process::abort();
            }
            before = now;
        }
    };
    std::thread::Builder::new().name("watchdog".into()).spawn(watchdog).unwrap();
}

/// Spans that have ended are those that every place has taken, and those that were lost on the way, by one; returns
/// those that ended, and those that were lost before any place.
fn check_account(figures: &stepscope::Figures) -> (u64, u64) {
    let spans = figures.spans();
    let lost: u64 = spans.dropped.iter().map(|&(_, count)| count).sum();
    for &(name, taken, lost_there) in &spans.sinks {
        assert_eq!(spans.emitted, taken + lost_there + lost, "{name}: {spans:?}");
    }
    assert_eq!(spans.sinks.len(), 2, "{spans:?}");
    (spans.emitted, lost)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |position: usize| arguments.get(position).map(|text| text.parse::<u64>().unwrap());
    watch();
    match (arguments.first().map(String::as_str), number(1)) {
        (Some("sequences"), Some(count)) => sequences::run(count, number(2).unwrap_or(1)),
        (Some("threads"), Some(spans)) => threads::run(spans),
        (Some("levels"), Some(steps)) => levels::run(steps, number(2).unwrap_or(1)),
        _ => panic!("`soak sequences COUNT [SEED]`, `soak threads SPANS` or `soak levels STEPS [SEED]`"),
    }
}
