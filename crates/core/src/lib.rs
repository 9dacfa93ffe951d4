//! The contract of stepscope, imported by both ends: the vocabulary (every attribute and metric name with its type, unit,
//! stability, documentation and foreign aliases), phases, section kinds, levels, loss reasons, names of settings,
//! identities, call paths, the mergeable distribution, Prometheus' names of the metrics. No clock, no I/O, no
//! dependencies, and nothing that knows how spans are recorded, moved or analysed.

pub mod attr;
pub mod distribution;
pub mod histogram;
pub mod identity;
pub mod kind;
pub mod level;
pub mod loss;
pub mod metric;
pub mod path;
pub mod phase;
pub mod prometheus;
pub mod setting;
pub mod thread_state;
pub mod vocabulary;

pub use distribution::{Distribution, Moments};
pub use histogram::Histogram;
pub use kind::{Mode, SectionKind, Signal};
pub use level::Level;
pub use loss::LossReason;
pub use path::{PathId, PathTable};
pub use phase::{Phase, PhaseClass};
pub use thread_state::ThreadState;

/// Version of the wire contract, in the resource attribute [`attr::SCHEMA_VERSION`]. Readers accept this
/// version and lower ones; a higher one is read as far as it is understood, with a note.
pub const SCHEMA_VERSION: i64 = 1;

/// Name of the instrumentation scope under which the layer emits.
pub const SCOPE_NAME: &str = "stepscope";

/// Name of the scope under which the layer emits live memory: whole tables, which are no series to keep.
pub const LIVE_MEMORY_SCOPE_NAME: &str = "stepscope.memory";

/// Semantic conventions that the names without the `stepscope.` prefix follow.
pub const SEMCONV_URL: &str = "https://opentelemetry.io/schemas/1.45.0";

/// A trace never holds more spans than this: it continues in a linked one.
pub const MAX_TRACE_SPANS: u32 = 10_000;
