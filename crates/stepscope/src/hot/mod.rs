//! What runs on the program's threads when sections begin, are entered and end, and the recorder that these threads share.
//! Does not block, print or allocate once warm; knows nothing of OTLP messages, files or sinks (`export`).

pub(crate) mod budget;
pub(crate) mod captures;
pub(crate) mod deep_steps;
pub(crate) mod epochs;
pub(crate) mod field_visitor;
pub(crate) mod finish;
pub(crate) mod frame;
pub(crate) mod hooks;
pub(crate) mod level_history;
pub(crate) mod light_section;
#[cfg(feature = "mem")]
pub(crate) mod live_context;
pub(crate) mod open;
pub(crate) mod orphan_events;
pub(crate) mod path_cache;
pub(crate) mod pending_children;
pub(crate) mod polls;
pub(crate) mod rate;
pub(crate) mod recorder;
pub(crate) mod resource_usage;
pub(crate) mod span_filter;
pub(crate) mod span_ids;
pub(crate) mod span_key;
pub(crate) mod span_slab;
pub(crate) mod span_table;
pub(crate) mod state;
pub(crate) mod thread;
