//! What recording threads write and the background thread reads: records, rings, sums, traces, the registry of threads. Atomics
//! and short locks; nothing here knows a thread's own state, the recorder, or how anything leaves the program.

pub(crate) mod aggregate;
pub(crate) mod attrs;
pub(crate) mod callsite;
pub(crate) mod costs;
#[cfg(feature = "metrics")]
pub(crate) mod gauges;
pub(crate) mod lazy_chunk;
#[cfg(feature = "mem")]
pub(crate) mod live_memory;
pub(crate) mod lock;
pub(crate) mod overwritten;
pub(crate) mod phase_bits;
pub(crate) mod record;
pub(crate) mod relaxed;
pub(crate) mod ring;
pub(crate) mod sequence;
pub(crate) mod sink_counts;
pub(crate) mod step_work;
pub(crate) mod sync;
pub(crate) mod thread_registry;
pub(crate) mod thread_samples;
pub(crate) mod thread_shared;
pub(crate) mod trace;
