//! A receiver at work: one thread with a runtime of its own, from `start` until it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::connection;
use crate::counts::Counts;
use crate::limits::Limits;
use crate::shared::Shared;
use crate::store::Store;

/// Name of the thread.
const THREAD_NAME: &str = "stepscope-otlp";

/// How often [`Receiver::drain`] looks, and how often it must see nothing new.
const DRAIN_LOOK: Duration = Duration::from_millis(20);
const DRAIN_LOOKS: u32 = 5;

/// Takes OTLP until it is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Makes `folder`, and listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// Where the folder cannot be made, or there is no port or no thread to be had.
    pub fn start(folder: &Path, limits: Limits) -> io::Result<Self> {
        let store = Store::create(folder, limits.stored_bytes, limits.file_bytes)?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let shared = Arc::new(Shared::new(limits, store));
        let work = {
            let shared = Arc::clone(&shared);
            async move {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    connection::accept(listener, Arc::clone(&shared)).await;
                }
                // What is at work gets its grace, no longer.
                let end = Instant::now() + Duration::from_secs(3);
                while shared.connections.load(std::sync::atomic::Ordering::Relaxed) > 0
                    && Instant::now() < end
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name(THREAD_NAME.into()).spawn(move || runtime.block_on(work))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// The base URL, for `OTEL_EXPORTER_OTLP_ENDPOINT`: both HTTP and gRPC are taken there.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What came so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts().clone()
    }

    /// Waits until nothing has come for a moment and nothing is under way, `most` at most. For after the senders
    /// have ended: what they wrote last may still lie in the sockets.
    pub fn drain(&self, most: Duration) {
        let end = Instant::now() + most;
        let mut last = self.counts();
        let mut quiet = 0;
        while quiet < DRAIN_LOOKS && Instant::now() < end {
            std::thread::sleep(DRAIN_LOOK);
            let now = self.counts();
            quiet = if now == last && self.shared.in_flight() == 0 { quiet + 1 } else { 0 };
            last = now;
        }
    }

    /// Ends it, and says what came.
    #[must_use]
    pub fn stop(mut self) -> Counts {
        self.end();
        self.counts()
    }

    fn end(&mut self) {
        self.shared.stopping.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.end();
    }
}
