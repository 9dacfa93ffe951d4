//! What runs on the program's threads when sections begin, are entered and end, and the recorder that these threads share.
//! Does not block, print or allocate once warm; knows nothing of OTLP messages, files or sinks (`export`).

pub(crate) mod budget;
pub(crate) mod captures;
pub(crate) mod epochs;
pub(crate) mod finish;
pub(crate) mod frame;
pub(crate) mod holders;
pub(crate) mod hooks;
pub(crate) mod key;
pub(crate) mod levels;
pub(crate) mod light;
pub(crate) mod open;
pub(crate) mod places;
pub(crate) mod polls;
pub(crate) mod rate;
pub(crate) mod recorder;
pub(crate) mod resource_usage;
pub(crate) mod sieve;
pub(crate) mod slab;
pub(crate) mod span_ids;
pub(crate) mod spans;
pub(crate) mod state;
pub(crate) mod stray;
pub(crate) mod thread;
pub(crate) mod visit;
