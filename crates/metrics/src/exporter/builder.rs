//! What the exporter shall read and publish.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stepscope_core::attr;

use super::{Latest, Metrics, Shared, renders, run};
use crate::alerts::Alerts;
use crate::error::Error;
use crate::notes::{Listener, Notes};
use crate::snapshot::Program;
use crate::source::ControlGroup;
use crate::view::http::Server;
#[cfg(feature = "otlp")]
use crate::view::otlp::Push;

/// Shorter intervals cost more than they show: the kernel counts processor time in hundredths of a second.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Longer ones let scrapers take series for gone.
const MAX_INTERVAL: Duration = Duration::from_secs(300);
/// Series that are published unless more is allowed.
pub const DEFAULT_BUDGET: usize = 2_000;

/// What shall be read and published.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    pub(super) interval: Duration,
    pub(super) address: Option<SocketAddr>,
    pub(super) allow_remote: bool,
    pub(super) pid: u32,
    pub(super) container: Option<ControlGroup>,
    pub(super) root: PathBuf,
    pub(super) budget: usize,
    pub(super) has_gpus: bool,
    pub(super) gpu_library: Option<PathBuf>,
    pub(super) keeps_history: bool,
    pub(super) resource: Vec<(&'static str, String)>,
    #[cfg(feature = "otlp")]
    pub(super) endpoint: Option<String>,
    #[cfg(feature = "facade")]
    pub(super) installs_recorder: bool,
    #[cfg(feature = "facade")]
    pub(super) forwards: bool,
    pub(super) alerts: Alerts,
    pub(super) program: Option<Told>,
    pub(super) allocations: Option<Counter>,
    pub(super) has_host: bool,
    pub(super) on_note: Option<OnNote>,
}

/// What tells of the program.
#[derive(Clone)]
pub(super) struct Told(pub(super) Arc<dyn Fn(&mut Program) + Send + Sync>);

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Told")
    }
}

/// How much the program has allocated.
#[derive(Clone)]
pub(super) struct Counter(pub(super) Arc<dyn Fn() -> Option<u64> + Send + Sync>);

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counter")
    }
}

/// Who is told notes.
#[derive(Clone)]
pub(super) struct OnNote(Listener);

impl fmt::Debug for OnNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnNote")
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            address: None,
            allow_remote: false,
            pid: std::process::id(),
            container: None,
            root: PathBuf::from("/"),
            budget: DEFAULT_BUDGET,
            has_gpus: true,
            gpu_library: None,
            keeps_history: false,
            resource: Vec::new(),
            #[cfg(feature = "otlp")]
            endpoint: None,
            #[cfg(feature = "facade")]
            installs_recorder: false,
            #[cfg(feature = "facade")]
            forwards: false,
            alerts: Alerts::none(),
            program: None,
            allocations: None,
            has_host: true,
            on_note: None,
        }
    }
}

impl Builder {
    /// Time from one pass to the next; 1 s unless set, kept between 100 ms and 5 minutes.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.clamp(MIN_INTERVAL, MAX_INTERVAL);
        self
    }

    /// Answers Prometheus' scrapes at this address. Port 0 takes any free one.
    pub const fn prometheus(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Pushes to the collector at this URL by OTLP over HTTP, as `http://localhost:4318`: every 10 seconds, or as often as
    /// `OTEL_METRIC_EXPORT_INTERVAL` says (in milliseconds), and when it stops.
    #[cfg(feature = "otlp")]
    pub fn otlp(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Takes what the program's crates record by the facade `metrics`: installs a recorder of ours, unless there is one,
    /// which is then among the [notes](Metrics::notes). It stays when this stops.
    #[cfg(feature = "facade")]
    pub const fn install_recorder(mut self, wanted: bool) -> Self {
        self.installs_recorder = wanted;
        self
    }

    /// Hands every point to the recorder of the facade `metrics` that the program has installed, after each pass. Counters
    /// that are no whole numbers are gauges there, and gauges of what is gone become NaN.
    #[cfg(feature = "facade")]
    pub const fn forward_to_recorder(mut self, wanted: bool) -> Self {
        self.forwards = wanted;
        self
    }

    /// Watches these rules; none unless set.
    pub fn alerts(mut self, alerts: Alerts) -> Self {
        self.alerts = alerts;
        self
    }

    /// Has this tell of the program at each pass, which waits for it: it gets what it told last, and changes that.
    pub fn program(mut self, tell: impl Fn(&mut Program) + Send + Sync + 'static) -> Self {
        self.program = Some(Told(Arc::new(tell)));
        self
    }

    /// Asks this for the bytes that the program has allocated so far, at each pass, which waits for it.
    pub fn allocations(mut self, allocated: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Self {
        self.allocations = Some(Counter(Arc::new(allocated)));
        self
    }

    /// Tells this each of the [notes](Metrics::notes) at once, on the thread that has it, which may be one of the program's
    /// own; [`Metrics::notes`] has them nevertheless.
    pub fn on_note(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_note = Some(OnNote(Arc::new(listener)));
        self
    }

    /// Whether the machine and its devices are told of, beside the process and its container; they are unless set. Of
    /// several processes of a program on a machine, one should.
    pub const fn host(mut self, wanted: bool) -> Self {
        self.has_host = wanted;
        self
    }

    /// Allows an address that other machines can reach: whoever can connect sees everything.
    pub const fn allow_remote(mut self, allowed: bool) -> Self {
        self.allow_remote = allowed;
        self
    }

    /// The process to follow, with the container around it; this one unless set.
    pub const fn pid(mut self, pid: u32) -> Self {
        self.pid = pid;
        self
    }

    /// The container to follow; the one around the process unless set.
    pub fn container(mut self, container: ControlGroup) -> Self {
        self.container = Some(container);
        self
    }

    /// Most series that are published; 2,000 unless set.
    pub const fn budget(mut self, series: usize) -> Self {
        self.budget = series;
        self
    }

    /// Whether GPUs are looked for; they are unless set.
    pub const fn gpus(mut self, wanted: bool) -> Self {
        self.has_gpus = wanted;
        self
    }

    /// Where the driver's library (NVML) is, if it is not where the system looks.
    pub fn gpu_library(mut self, path: impl Into<PathBuf>) -> Self {
        self.gpu_library = Some(path.into());
        self
    }

    /// Keeps averages and peaks of all series since the start, for [`Metrics::history`]; up to 3 kB a series.
    pub const fn history(mut self, kept: bool) -> Self {
        self.keeps_history = kept;
        self
    }

    /// Files of another place than `/`: recorded ones, or those of the machine around a container.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = root.into();
        self
    }

    /// An attribute of all series, in `target_info`.
    pub fn resource(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.resource.push((key, value.into()));
        self
    }

    /// What is told of all series: another process that is followed, too.
    pub(super) fn told(&self) -> Vec<(&'static str, String)> {
        let mut resource = self.resource.clone();
        if self.pid != std::process::id() {
            resource.push((attr::PROCESS_PID, self.pid.to_string()));
        }
        resource
    }

    /// Starts to read and to publish.
    ///
    /// # Errors
    /// Where the address cannot be listened on, the endpoint is none, or the system has no thread left.
    pub fn start(self) -> Result<Metrics, Error> {
        if let Some(address) =
            self.address.filter(|address| !address.ip().is_loopback() && !self.allow_remote)
        {
            return Err(Error::new(format!(
                "failed to listen on {address}: other machines can reach it, and whoever can sees everything; \
                 use 127.0.0.1, or allow it (`allow_remote`; for a recorded program STEPSCOPE_METRICS_ALLOW_REMOTE=on)"
            )));
        }
        let listener = self.on_note.as_ref().map(|OnNote(listener)| Arc::clone(listener));
        let shared = Arc::new(Shared::new(Notes::listened_to_by(listener)));
        let limit = self.interval.saturating_mul(5).max(Duration::from_secs(10));
        let latest = Latest { shared: Arc::clone(&shared), budget: self.budget, limit };
        let server = match self.address {
            Some(address) => {
                let render = renders(latest.clone(), &self);
                Some(Server::start(address, render).map_err(Error::new)?)
            }
            None => None,
        };
        #[cfg(feature = "otlp")]
        let push = match &self.endpoint {
            Some(endpoint) => {
                Some(Push::start(endpoint, &self.told(), &latest, self.interval).map_err(Error::new)?)
            }
            None => None,
        };
        #[cfg(feature = "facade")]
        {
            if self.installs_recorder {
                crate::facade::install(&shared.notes);
            }
            if self.forwards {
                shared.add(crate::facade::Forward::default().follower(self.budget));
            }
        }
        std::thread::Builder::new()
            .name("stepscope-metrics".into())
            .spawn(move || run(&shared, &self))
            .map_err(|error| Error::new(format!("failed to start the thread of the metrics: {error}")))?;
        Ok(Metrics {
            latest,
            server,
            #[cfg(feature = "otlp")]
            push,
        })
    }
}
