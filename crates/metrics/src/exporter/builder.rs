//! What the exporter shall read and publish.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{Metrics, Shared, renders, run};
use crate::error::Error;
use crate::view::http::Server;

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
    pub(super) root: PathBuf,
    pub(super) budget: usize,
    pub(super) has_gpus: bool,
    pub(super) gpu_library: Option<PathBuf>,
    pub(super) keeps_history: bool,
    pub(super) resource: Vec<(&'static str, String)>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            address: None,
            allow_remote: false,
            pid: std::process::id(),
            root: PathBuf::from("/"),
            budget: DEFAULT_BUDGET,
            has_gpus: true,
            gpu_library: None,
            keeps_history: false,
            resource: Vec::new(),
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

    /// Starts to read and to publish.
    ///
    /// # Errors
    /// Where the address cannot be listened on, or the system has no thread left.
    pub fn start(self) -> Result<Metrics, Error> {
        if let Some(address) =
            self.address.filter(|address| !address.ip().is_loopback() && !self.allow_remote)
        {
            return Err(Error::new(format!(
                "failed to listen on {address}: other machines can reach it, and whoever can sees everything; \
                 use 127.0.0.1, or allow it (allow_remote, --allow-remote)"
            )));
        }
        let shared = Arc::new(Shared::default());
        let server = match self.address {
            Some(address) => {
                let render = renders(&shared, &self);
                Some(Server::start(address, render).map_err(Error::new)?)
            }
            None => None,
        };
        let reader = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("stepscope-metrics".into())
            .spawn(move || run(&reader, &self))
            .map_err(|error| Error::new(format!("failed to start the thread of the metrics: {error}")))?;
        Ok(Metrics { shared, server })
    }
}
