//! A thread that does what may block for ever (a driver, a file system on the network), and those who see what it has
//! found without waiting for it. Where it is stuck, its figures are withdrawn; it is never waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the thread has found, and when it was last seen.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    stops: AtomicBool,
}

#[derive(Debug)]
struct State<T> {
    found: Option<T>,
    seen: Instant,
    ended: bool,
}

/// What is known of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It goes on.
    Alive,
    /// It was not seen for too long.
    Stuck,
    /// It has nothing to do any more.
    Ended,
}

impl<T: Send + 'static> Watched<T> {
    /// Starts it; `None` where the system has no thread left.
    pub(crate) fn start(name: &str, body: impl FnOnce(&Self) + Send + 'static) -> Option<Arc<Self>> {
        let state = State { found: None, seen: Instant::now(), ended: false };
        let watched = Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stops: AtomicBool::new(false),
        });
        let shared = Arc::clone(&watched);
        let body = move || {
            body(&shared);
            shared.lock().ended = true;
            shared.changed.notify_all();
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(body).ok()?;
        Some(watched)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the thread: it lives.
    #[cfg(feature = "nvml")]
    pub(crate) fn beat(&self) {
        self.lock().seen = Instant::now();
    }

    /// From the thread: this is what there is now.
    pub(crate) fn publish(&self, found: impl FnOnce(&mut Option<T>)) {
        let mut state = self.lock();
        state.seen = Instant::now();
        found(&mut state.found);
    }

    /// From the thread: waits; whether it goes on after that.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        while !self.stops.load(Ordering::Relaxed) {
            state.seen = Instant::now();
            let left = deadline.saturating_duration_since(state.seen);
            if left.is_zero() {
                return true;
            }
            let step = left.min(Duration::from_millis(500));
            state = self.changed.wait_timeout(state, step).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Whether it has to end.
    #[cfg(any(feature = "nvml", test))]
    pub(crate) fn stops(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    /// From others: what was found, if the thread was seen within `deadline`.
    pub(crate) fn read<R>(&self, deadline: Duration, read: impl FnOnce(Option<&T>) -> R) -> (Life, R) {
        let state = self.lock();
        if state.ended {
            (Life::Ended, read(None))
        } else if state.seen.elapsed() > deadline {
            (Life::Stuck, read(None))
        } else {
            (Life::Alive, read(state.found.as_ref()))
        }
    }

    /// From others: it shall end; waits for that no longer than `patience`.
    pub(crate) fn stop(&self, patience: Duration) {
        self.stops.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn a_stuck_thread_is_seen_and_not_waited_for() {
        let (release, block) = sync_channel::<()>(0);
        let watched = Watched::<u32>::start("stuck", move |watched| {
            watched.publish(|found| *found = Some(7));
            let _ = block.recv();
        })
        .unwrap();
        while watched.read(Duration::MAX, |found| found.copied()).1.is_none() {
            std::thread::yield_now();
        }
        assert_eq!(watched.read(Duration::MAX, |found| found.copied()), (Life::Alive, Some(7)));
        assert_eq!(watched.read(Duration::ZERO, |found| found.copied()), (Life::Stuck, None));
        watched.stop(Duration::from_millis(1));
        assert!(watched.stops());
        drop(release);
        watched.stop(Duration::from_secs(60));
        assert_eq!(watched.read(Duration::MAX, |found| found.copied()), (Life::Ended, None));
    }
}
