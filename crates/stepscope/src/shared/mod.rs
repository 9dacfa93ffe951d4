//! What recording threads write and the background thread reads: records, rings, sums, traces, the registry of threads. Atomics
//! and short locks; nothing here knows a thread's own state, the recorder, or how anything leaves the program.

pub(crate) mod aggregate;
pub(crate) mod attrs;
pub(crate) mod callsite;
pub(crate) mod chunk;
pub(crate) mod lock;
pub(crate) mod overwrite;
pub(crate) mod phase_bits;
pub(crate) mod record;
pub(crate) mod ring;
pub(crate) mod roster;
pub(crate) mod sequence;
pub(crate) mod sink_counts;
pub(crate) mod sync;
pub(crate) mod thread_shared;
pub(crate) mod trace;
pub(crate) mod word;
pub(crate) mod work;
