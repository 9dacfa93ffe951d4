//! The holder of the latest snapshot, the only thing that views read. Of a snapshot that is too old nothing is shown but
//! the exporter's own figures: others vanish, they do not freeze.

use std::fmt;
use std::panic::AssertUnwindSafe;
#[cfg(feature = "otlp")]
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::history::History;
use crate::notes::Notes;
use crate::points::{Series, Visitor, visit};
use crate::snapshot::Snapshot;

/// What the thread, the views and the owner share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    pub(crate) notes: Arc<Notes>,
    /// Of the pushes to a collector.
    #[cfg(feature = "otlp")]
    pub(crate) pushes_failed: AtomicU64,
    followers: Mutex<Vec<Follower>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) snapshot: Snapshot,
    pub(super) history: History,
    pub(super) taken: Option<Instant>,
    pub(super) process_ended: bool,
    pub(super) container_ended: bool,
    pub(super) has_devices: bool,
    /// How often somebody wanted a pass at once, and up to which of these there was one that began after it.
    pub(super) asked: u64,
    pub(super) answered: u64,
    pub(super) stops: bool,
    pub(super) ended: bool,
}

/// What is called after each pass with its snapshot, on the thread of the passes: a view that has to know of new series,
/// or that hands figures on.
pub(crate) struct Follower {
    pub(crate) name: &'static str,
    pub(crate) follow: Box<dyn FnMut(&Snapshot) + Send>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Follower {
    /// Whether it has not panicked.
    fn call(&mut self, snapshot: &Snapshot) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(|| (self.follow)(snapshot))).is_ok()
    }
}

impl Shared {
    pub(super) fn new(notes: Notes) -> Self {
        Self { notes: Arc::new(notes), ..Self::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait<'s>(&'s self, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    /// From now on `follower` is called: at once where there was a pass, whose followers may have been told already.
    #[cfg(any(feature = "opentelemetry", feature = "facade"))]
    pub(crate) fn add(&self, mut follower: Follower) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.lock().snapshot.clone();
        if snapshot.passes == 0 || follower.call(&snapshot) {
            followers.push(follower);
        }
    }

    /// Calls all of them; one that panics (another's code may be behind it) is not called again.
    pub(super) fn follow(&self, snapshot: &Snapshot) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain_mut(|follower| {
            let is_well = follower.call(snapshot);
            if !is_well {
                let text = format!("{} has panicked: it gets no figures any more", follower.name);
                self.notes.tell(follower.name, &text);
            }
            is_well
        });
    }

    /// They may hold what holds this.
    pub(super) fn let_followers_go(&self) {
        let followers = std::mem::take(&mut *self.followers.lock().unwrap_or_else(PoisonError::into_inner));
        drop(followers);
    }
}

/// Which reading a visitor was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Number of its pass, from 1 on.
    pub pass: u64,
    /// How long ago it was taken.
    pub age: Duration,
}

/// The latest snapshot as views read it; may be copied and outlives the exporter, after whose end it has no points.
#[derive(Debug, Clone)]
pub struct Latest {
    pub(crate) shared: Arc<Shared>,
    pub(crate) budget: usize,
    /// A snapshot that is older is not shown.
    pub(super) limit: Duration,
}

impl Latest {
    /// Hands its points to the visitor, which must not wait for anything: the next pass waits for it.
    pub fn visit(&self, visitor: &mut dyn Visitor) -> Series {
        self.with(|snapshot, budget| visit(snapshot, budget, visitor))
    }

    /// Passes so far.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.shared.lock().snapshot.passes
    }

    /// As [`visit`](Self::visit), with a visitor that is made for the reading and given back; none of one that is too old.
    pub fn visit_fresh<V: Visitor>(&self, make: impl FnOnce(Reading) -> V) -> Option<V> {
        let state = self.shared.lock();
        let age =
            state.taken.map(|taken| taken.elapsed()).filter(|age| !state.ended && *age <= self.limit)?;
        let mut visitor = make(Reading { pass: state.snapshot.passes, age });
        visit(&state.snapshot, self.budget, &mut visitor);
        Some(visitor)
    }

    /// Has a pass made now, and waits until everybody was told of it, no longer than `patience`; whether there was one.
    pub fn refresh(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.lock();
        state.asked += 1;
        let ticket = state.asked;
        self.shared.notify();
        while state.answered < ticket && !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.wait(state, left);
        }
        state.answered >= ticket
    }

    /// Reads it, with the budget of series.
    pub(crate) fn with(&self, read: impl FnOnce(&Snapshot, usize) -> Series) -> Series {
        let state = self.shared.lock();
        if state.ended {
            return Series::default();
        }
        let is_fresh = state.taken.is_some_and(|taken| taken.elapsed() <= self.limit);
        let empty = Snapshot { passes: state.snapshot.passes, ..Snapshot::default() };
        let snapshot = if is_fresh { &state.snapshot } else { &empty };
        let series = read(snapshot, self.budget);
        drop(state);
        if series.left_out > 0 {
            let all = series.published + series.left_out;
            self.shared.notes.tell(
                "budget",
                &format!(
                    "{all} series are more than the {} that may be published; the last are left out",
                    self.budget
                ),
            );
        }
        series
    }
}
