//! Whether the running program leaks, watched by a thread of its own: it reads memory now and then, asks the detector of
//! `stepscope-analyze` seldom, and tells of a leak before it reaches a limit. The program's threads do nothing for it.

mod round;
mod series;
mod warning;

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stepscope::Handle;

pub use warning::{Estimate, LeakWarning};

/// What is called.
type Callback = Box<dyn FnMut(&LeakWarning) + Send>;

/// What the end of a watch waits for its thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a watch is done; [`start`](Self::start) starts it.
#[must_use = "nothing is watched before `start`"]
#[derive(Debug, Clone)]
pub struct WatchBuilder {
    handle: Handle,
    limit_bytes: Option<u64>,
    before: Duration,
}

/// Watches the memory of this process for leaks while the run of `handle` goes on.
///
/// A thread of its own reads bytes allocated and not freed ([`stepscope::Alloc`]; without it resident memory alone) against
/// steps, and has them judged as the report does: first after some steps, then ever more seldom. It takes less than 1 MiB,
/// and judges for 20 ms and one part in 2,000 of the time at most.
///
/// ```
/// use std::time::Duration;
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let run = stepscope::init();
/// let _watch = stepscope_report::watch_leaks(&run.handle())
///     .warn_before(Duration::from_secs(1_800))
///     .start(|warning| eprintln!("{warning}"));
/// for step in 0..100 {
///     let _step = stepscope::step!(step);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn watch_leaks(handle: &Handle) -> WatchBuilder {
    WatchBuilder { handle: handle.clone(), limit_bytes: None, before: Duration::from_secs(3_600) }
}

impl WatchBuilder {
    /// A limit of resident memory, in bytes, beside those that are read: of the control groups around the process, of its
    /// address space (`RLIMIT_AS`), of the machine. The one with least room counts.
    pub fn limit_bytes(mut self, bytes: u64) -> Self {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Warns (again) when the limit is nearer than this; an hour unless it is said.
    pub fn warn_before(mut self, time: Duration) -> Self {
        self.before = time;
        self
    }

    /// Starts the watch, which ends when the guard is dropped. Where the system has no thread left, nothing is watched.
    ///
    /// `on_warning` is called on the watch's thread when a leak is confirmed, and when its limit comes near: once each, and
    /// once more when memory has stopped to grow in between. A leak is confirmed when it has taken a ninth of the room up to the
    /// limit, or goes on for minutes: a cache that fills looks like one before. It may take its time, and a panic in it ends the calls, nothing else.
    /// The warning is also a section `memory_leak` of the run with a warning in it, gauges and alerts of
    /// `stepscope-metrics`, whatever it does.
    pub fn start(self, on_warning: impl FnMut(&LeakWarning) + Send + 'static) -> LeakWatch {
        let shared = Arc::new(Shared::default());
        let (thread, callback) = (Arc::clone(&shared), Box::new(on_warning) as Callback);
        // Spans go to whom those of the caller go.
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let body = move || {
            let watching =
                || tracing::dispatcher::with_default(&dispatch, || round::watch(&self, &thread, callback));
            // A fault in here ends the watch, and no more.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watching));
            stepscope_limits::leaks::tell(None);
            thread.lock().has_ended = true;
            thread.changed.notify_all();
        };
        let has_started = std::thread::Builder::new().name("stepscope-leaks".into()).spawn(body).is_ok();
        LeakWatch { shared: has_started.then_some(shared), process_id: std::process::id() }
    }
}

/// A watch for leaks, until it is dropped. No warning is begun after that.
#[must_use = "the watch ends when this is dropped"]
pub struct LeakWatch {
    shared: Option<Arc<Shared>>,
    process_id: u32,
}

impl fmt::Debug for LeakWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeakWatch").field("is_watching", &self.shared.is_some()).finish()
    }
}

impl Drop for LeakWatch {
    fn drop(&mut self) {
        // In a forked child there is no such thread.
        let own = self.shared.take().filter(|_| std::process::id() == self.process_id);
        let Some(shared) = own else { return };
        shared.lock().stops = true;
        shared.changed.notify_all();
        let deadline = Instant::now() + PATIENCE;
        let mut state = shared.lock();
        // A callback may be at work, and wait for who drops this.
        while !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Between the thread and its guard.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stops: bool,
    has_ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the thread: waits; whether it goes on after that.
    fn pause(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        while !state.stops {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}
