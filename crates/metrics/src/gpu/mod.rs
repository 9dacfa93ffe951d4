//! GPUs. A vendor's part is a file with a `run` that reads on a thread of its own and publishes; a driver may hang at any
//! call, so nothing here waits for one.

#[cfg(feature = "nvml")]
mod nvml;
#[cfg(feature = "nvml")]
mod unit;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::notes::Notes;
use crate::snapshot::{Gpu, Snapshot};
use crate::watch::{Life, Watched};

/// A driver that needs longer for one call is stuck: the usual time is below 5 ms.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// What the thread needs to know.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "nvml"), expect(dead_code, reason = "there is no vendor's part"))]
pub(crate) struct Options {
    /// The driver's library, where it was named.
    pub(crate) library: Option<PathBuf>,
    /// The process whose memory is told apart.
    pub(crate) pid: u32,
    /// Time between two passes.
    pub(crate) interval: Duration,
}

/// Starts the thread.
#[cfg(feature = "nvml")]
pub(crate) fn start(options: Options, notes: Arc<Notes>) -> Option<Arc<Watched<Vec<Gpu>>>> {
    Watched::start("stepscope-gpu", move |watched| nvml::run(watched, &options, &notes))
}

/// There is no vendor's part.
#[cfg(not(feature = "nvml"))]
pub(crate) fn start(_: Options, _: Arc<Notes>) -> Option<Arc<Watched<Vec<Gpu>>>> {
    None
}

/// Takes what was read into the snapshot. Where the driver is stuck, GPUs are known to have failed, and nothing else.
/// And whether anything was found by now, be it that there is none.
pub(crate) fn merge(watched: &Watched<Vec<Gpu>>, snapshot: &mut Snapshot) -> (Life, bool) {
    let gpus = &mut snapshot.gpus;
    let (life, is_known) = watched.read(DEADLINE, |found| {
        if let Some(found) = found {
            gpus.clone_from(found);
        }
        found.is_some_and(|found| found.iter().all(|gpu| !gpu.state.is_empty()))
    });
    match life {
        Life::Stuck => gpus.iter_mut().for_each(fail),
        Life::Alive => {}
        Life::Ended => gpus.clear(),
    }
    (life, is_known || life != Life::Alive)
}

/// Nothing is known but that it failed.
pub(crate) fn fail(gpu: &mut Gpu) {
    let Gpu { uuid, name, model, vendor, .. } = std::mem::take(gpu);
    *gpu = Gpu { uuid, name, model, vendor, state: "failed", ..Gpu::default() };
}
