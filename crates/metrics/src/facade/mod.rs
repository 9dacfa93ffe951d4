//! The facade `metrics`, both ways: a recorder of ours, by which what the program's crates record gets into the snapshot,
//! and our figures into the recorder that the program has installed.

mod cells;
mod forward;
mod name;
mod registry;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, SharedString, Unit};

pub(crate) use self::forward::Forward;
pub(crate) use self::registry::{Registry, registry};
use crate::notes::Notes;

thread_local! {
    /// Whether this thread is handing our own figures on.
    static FORWARDS: Cell<bool> = const { Cell::new(false) };
}

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Takes counters, gauges and histograms of the facade `metrics` into the snapshots of every exporter of this process that
/// was started with [`Builder::install_recorder`](crate::Builder::install_recorder). For a program that has a recorder
/// already, and can hand things on to two.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Recorder;

impl Recorder {
    /// It.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

/// Makes it the program's recorder, if that has none; says so if it has another.
pub(crate) fn install(notes: &Arc<Notes>) {
    registry().tell_by(notes);
    if metrics::set_global_recorder(Recorder).is_ok() {
        IS_INSTALLED.store(true, Ordering::Release);
    } else if !IS_INSTALLED.load(Ordering::Acquire) {
        notes.tell(
            "recorder",
            "the program has a recorder of the facade `metrics` already: what is recorded goes there and is not among \
             these figures",
        );
    }
}

/// What our own figures are no part of.
fn is_foreign() -> bool {
    !FORWARDS.get()
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        registry().describe(key.as_str(), unit, &description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        registry().describe(key.as_str(), unit, &description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        registry().describe(key.as_str(), unit, &description);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        is_foreign().then(|| registry().counter(key)).flatten().map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        is_foreign().then(|| registry().gauge(key)).flatten().map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let cell = is_foreign().then(|| registry().histogram(key)).flatten();
        cell.map_or_else(Histogram::noop, Histogram::from_arc)
    }
}
