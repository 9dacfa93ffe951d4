//! The exporter: a thread that takes a snapshot every interval, the holder of the latest one, and the views of it that
//! were asked for.

mod builder;
mod holder;
mod run;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use self::builder::{Builder, DEFAULT_BUDGET};
#[cfg(any(feature = "opentelemetry", feature = "facade"))]
pub(crate) use self::holder::Follower;
pub(crate) use self::holder::Shared;
use self::holder::State;
pub use self::holder::{Latest, Reading};
use self::run::run;
use crate::history::History;
use crate::snapshot::Snapshot;
use crate::view::http::{Render, Server};
#[cfg(feature = "otlp")]
use crate::view::otlp::Push;
use crate::view::prometheus::{Format, Renderer};

/// How long the end waits for threads that may be stuck.
const PATIENCE: Duration = Duration::from_millis(100);

/// Metrics that are being read and published, until [`Metrics::stop`] or the end of this value.
#[derive(Debug)]
pub struct Metrics {
    latest: Latest,
    server: Option<Server>,
    #[cfg(feature = "otlp")]
    push: Option<Push>,
}

impl Metrics {
    /// What to publish, and where.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The latest snapshot; of no pass before the first.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.latest.shared.lock().snapshot.clone()
    }

    /// What the series were since the start, if [`Builder::history`] has it kept.
    #[must_use]
    pub fn history(&self) -> History {
        self.latest.shared.lock().history.clone()
    }

    /// The latest snapshot, for a view of your own.
    #[must_use]
    pub fn latest(&self) -> Latest {
        self.latest.clone()
    }

    /// Makes an instrument of `meter` for each metric, as soon as there is a point of it. They have no points any more when
    /// this has stopped.
    #[cfg(feature = "opentelemetry")]
    pub fn instruments(&self, meter: opentelemetry::metrics::Meter) {
        let instruments = crate::view::instruments::Instruments::new(self.latest(), meter);
        // What is there already need not wait for the next pass.
        self.latest.shared.add(instruments.follower());
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
        let mut state = self.latest.shared.lock();
        while !is_so(&state) && !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.latest.shared.wait(state, left);
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
        self.latest.shared.notes.take()
    }

    /// Whether the process that is followed has ended.
    #[must_use]
    pub fn process_ended(&self) -> bool {
        self.latest.shared.lock().process_ended
    }

    /// Whether a container was chosen, and has ended.
    #[must_use]
    pub fn container_ended(&self) -> bool {
        self.latest.shared.lock().container_ended
    }

    /// Stops. Threads that are stuck in a driver are left to themselves.
    pub fn stop(self) {}
}

impl Drop for Metrics {
    fn drop(&mut self) {
        drop(self.server.take());
        // While there are figures: it sends them a last time.
        #[cfg(feature = "otlp")]
        drop(self.push.take());
        let mut state = self.latest.shared.lock();
        state.stops = true;
        self.latest.shared.notify();
        let deadline = Instant::now() + 2 * PATIENCE;
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.latest.shared.wait(state, left);
        }
    }
}

/// The text for scrapers.
fn renders(latest: Latest, builder: &Builder) -> Render {
    let resource = builder.told();
    let renderers = [Format::Text, Format::OpenMetrics].map(|format| Mutex::new((Renderer::new(format), 0)));
    Arc::new(move |format| {
        let [text, open] = &renderers;
        let renderer = if format == Format::Text { text } else { open };
        let mut renderer = renderer.lock().unwrap_or_else(PoisonError::into_inner);
        let (renderer, length) = &mut *renderer;
        let mut out = String::with_capacity(*length);
        latest.with(|snapshot, budget| renderer.render(snapshot, budget, &resource, &mut out));
        *length = out.len() + out.len() / 8;
        out
    })
}
