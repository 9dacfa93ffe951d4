//! The exporter: a thread that takes a snapshot every interval, the holder of the latest one, and the views of it that
//! were asked for.

mod builder;

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stepscope_core::attr;

pub use self::builder::{Builder, DEFAULT_BUDGET};
use crate::gpu;
use crate::history::History;
use crate::notes::Notes;
use crate::slow;
use crate::snapshot::Snapshot;
use crate::source::{SLOW_PASSES, Sampler};
use crate::view::http::{Render, Server};
use crate::view::prometheus::{Format, Renderer};
use crate::watch::Life;

/// How long the end waits for threads that may be stuck.
const PATIENCE: Duration = Duration::from_millis(100);

/// Metrics that are being read and published, until [`Metrics::stop`] or the end of this value.
#[derive(Debug)]
pub struct Metrics {
    shared: Arc<Shared>,
    server: Option<Server>,
}

impl Metrics {
    /// What to publish, and where.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The latest snapshot; of no pass before the first.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.shared.lock().snapshot.clone()
    }

    /// What the series were since the start, if [`Builder::history`] has it kept.
    #[must_use]
    pub fn history(&self) -> History {
        self.shared.lock().history.clone()
    }

    /// Waits until there have been this many passes; whether there have.
    pub fn wait_for_pass(&self, passes: u64, patience: Duration) -> bool {
        self.wait_until(patience, |state| state.snapshot.passes >= passes)
    }

    /// Waits until GPUs and file systems were read, or are known to be none; whether they were.
    pub fn wait_for_devices(&self, patience: Duration) -> bool {
        self.wait_until(patience, |state| state.has_devices)
    }

    fn wait_until(&self, patience: Duration, is_so: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.lock();
        while !is_so(&state) && !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.wait(state, left);
        }
        is_so(&state)
    }

    /// The address at which scrapes are answered.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// What there is to tell the user, each thing once.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.take()
    }

    /// Whether the process that is followed has ended.
    #[must_use]
    pub fn process_ended(&self) -> bool {
        self.shared.lock().process_ended
    }

    /// Stops. Threads that are stuck in a driver are left to themselves.
    pub fn stop(self) {}
}

impl Drop for Metrics {
    fn drop(&mut self) {
        drop(self.server.take());
        let mut state = self.shared.lock();
        state.stops = true;
        self.shared.changed.notify_all();
        let deadline = Instant::now() + 2 * PATIENCE;
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.shared.wait(state, left);
        }
    }
}

/// What the thread, the views and the owner share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    notes: Arc<Notes>,
}

#[derive(Debug, Default)]
struct State {
    snapshot: Snapshot,
    history: History,
    taken: Option<Instant>,
    process_ended: bool,
    has_devices: bool,
    stops: bool,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&'s self, state: MutexGuard<'s, State>, time: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// The passes.
fn run(shared: &Shared, builder: &Builder) {
    let interval = builder.interval;
    let mut sampler = Sampler::with_notes(&builder.root, builder.pid, &shared.notes);
    let slowly = interval.saturating_mul(u32::try_from(SLOW_PASSES).unwrap_or(10));
    // Twice the time to the next reading, and no less than a slow disk needs.
    let slow_deadline = slowly.saturating_mul(2).max(Duration::from_secs(30));
    let slow = slow::start(slowly);
    let options = gpu::Options { library: builder.gpu_library.clone(), pid: builder.pid, interval };
    let gpus = if builder.has_gpus { gpu::start(options, Arc::clone(&shared.notes)) } else { None };
    let mut next = Instant::now();
    loop {
        sampler.pass();
        let mut has_devices = true;
        if let Some(slow) = &slow {
            let (life, is_known) = slow::merge(slow, slow_deadline, sampler.snapshot_mut());
            has_devices &= is_known;
            if life == Life::Stuck {
                shared.notes.tell(
                    "slow",
                    "a file system or a sensor does not answer: spaces and temperatures are withheld until it does",
                );
            }
        }
        if let Some(gpus) = &gpus {
            let (life, is_known) = gpu::merge(gpus, sampler.snapshot_mut());
            has_devices &= is_known;
            if life == Life::Stuck {
                shared.notes.tell(
                    "gpus",
                    "the GPUs' driver does not answer: their figures are withheld until it does (nvidia-smi hangs, \
                     too?)",
                );
            }
        }
        let mut state = shared.lock();
        state.has_devices = has_devices;
        state.snapshot.clone_from(sampler.snapshot_mut());
        if builder.keeps_history {
            let State { snapshot, history, .. } = &mut *state;
            history.record(snapshot, builder.budget);
        }
        state.taken = Some(Instant::now());
        state.process_ended = sampler.process_ended();
        shared.changed.notify_all();
        next += interval;
        // After a pause of the machine, passes that were missed are not made up for.
        next = next.max(Instant::now());
        while !state.stops {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = shared.wait(state, left);
        }
        if state.stops {
            drop(state);
            if let Some(slow) = &slow {
                slow.stop(PATIENCE / 2);
            }
            if let Some(gpus) = &gpus {
                gpus.stop(PATIENCE / 2);
            }
            break;
        }
    }
    shared.lock().ended = true;
    shared.changed.notify_all();
}

/// The text for scrapers. Of a snapshot that is too old nothing is shown but that it is: figures vanish, they do not
/// freeze.
fn renders(shared: &Arc<Shared>, builder: &Builder) -> Render {
    let (shared, budget) = (Arc::clone(shared), builder.budget);
    let mut resource = builder.resource.clone();
    if builder.pid != std::process::id() {
        resource.push((attr::PROCESS_PID, builder.pid.to_string()));
    }
    let limit = builder.interval.saturating_mul(5).max(Duration::from_secs(10));
    let renderers = [Format::Text, Format::OpenMetrics].map(|format| Mutex::new((Renderer::new(format), 0)));
    Arc::new(move |format| {
        let [text, open] = &renderers;
        let renderer = if format == Format::Text { text } else { open };
        let mut renderer = renderer.lock().unwrap_or_else(PoisonError::into_inner);
        let (renderer, length) = &mut *renderer;
        let mut out = String::with_capacity(*length);
        let state = shared.lock();
        let is_fresh = state.taken.is_some_and(|taken| taken.elapsed() <= limit);
        let empty = Snapshot { passes: state.snapshot.passes, ..Snapshot::default() };
        let snapshot = if is_fresh { &state.snapshot } else { &empty };
        let series = renderer.render(snapshot, budget, &resource, &mut out);
        drop(state);
        *length = out.len() + out.len() / 8;
        if series.left_out > 0 {
            let all = series.published + series.left_out;
            shared.notes.tell(
                "budget",
                &format!(
                    "{all} series are more than the {budget} that may be published; the last are left out"
                ),
            );
        }
        out
    })
}
