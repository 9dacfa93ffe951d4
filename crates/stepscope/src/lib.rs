//! stepscope turns a training program's `tracing` spans into a profile: timed sections with memory, exact
//! aggregates, steps as traces, written as OTLP to a directory or a collector.
//!
//! ```no_run
//! # #[cfg(feature = "mem")]
//! #[global_allocator]
//! static ALLOC: stepscope::Alloc = stepscope::Alloc::system(); // memory figures, optional
//!
//! fn main() {
//!     let _run = stepscope::init();
//!     for step in 0..100 {
//!         let _step = stepscope::step!(step, samples = 64);
//!         forward();
//!     }
//! }
//!
//! #[tracing::instrument]
//! fn forward() {}
//! ```
//!
//! Features: `http` (by default: OTLP over HTTP), `grpc` (and over gRPC, where `OTEL_EXPORTER_OTLP_PROTOCOL` asks for
//! it), `tls` (endpoints with `https://`), `zstd` (where `OTEL_EXPORTER_OTLP_COMPRESSION` asks for it; builds a C
//! library), `mem` (by default: memory figures), `macros` (by default: the attribute `profile`), `fmt` (`WithIds`: ids in
//! the lines of `tracing_subscriber::fmt`).
//!
//! What is recorded is read back by the program `stepscope` (`stepscope analyze profiles/`). Nothing in here
//! panics, blocks on the network or grows without bound in the program it records.

// What cannot be written makes these macros panic, in somebody else's program: `say` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod aggregate;
mod attrs;
mod budget;
mod builder;
mod callsite;
mod capture;
mod caught;
mod chunk;
mod clock;
mod config;
mod control;
mod demand;
mod epochs;
mod exit;
mod export;
mod exporter;
mod figures;
mod filter;
mod finish;
mod frame;
mod handle;
mod holders;
mod hooks;
mod identity;
mod ids;
mod key;
mod layer;
mod levels;
mod light;
mod loader;
mod memory;
mod names;
mod network;
mod open;
mod os;
mod overwrite;
mod own_file;
mod places;
mod polls;
mod proc_file;
mod propagation;
mod rate;
mod record;
mod recorder;
mod ring;
mod root;
mod roster;
mod say;
mod section;
mod sequence;
mod slab;
mod span_ids;
mod spans;
mod state;
mod stray;
mod sync;
mod sys;
mod thread;
mod ticks;
mod trace;
mod track;
mod visit;
#[cfg(feature = "fmt")]
mod with_ids;
mod word;
mod work;
mod worker;

pub use attrs::FieldValue;
pub use builder::{Builder, builder, init};
pub use capture::{Capture, CaptureError};
pub use config::Format;
pub use control::Flushed;
pub use demand::OnSignal;
pub use exit::Guard;
pub use exporter::{Exported, Exporter, suppress_thread};
pub use figures::{Figures, MemoryFigures, SectionFigures, SectionMemory, SpanFigures};
pub use filter::{Filter, FilterError};
pub use handle::Handle;
pub use ids::{SpanIds, current_ids};
pub use layer::StepscopeLayer;
pub use loader::{Batches, Loader, Traced, batches};
pub use propagation::{TraceContext, context};
pub use ring::Overflow;
pub use root::RootSubscriber;
pub use section::SectionGuard;
pub use stepscope_core::{Level, LossReason, Mode, Phase, SectionKind};
#[cfg(feature = "macros")]
pub use stepscope_macros::profile;
#[cfg(feature = "mem")]
pub use stepscope_mem::Alloc;
pub use track::{Track, TrackError};
#[cfg(feature = "fmt")]
pub use with_ids::WithIds;
pub use work::StepWork;

/// What this workspace's own programs need to know of settings; not for use by others.
#[doc(hidden)]
pub mod __settings {
    pub use crate::config::look::{Look, Looked, look, look_around};
    pub use stepscope_core::setting::report_format;
}

/// What the macros need; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::callsite::Callsite;
    pub use crate::section::{Start, enter, enter_plain, known_phase, record_value, with_own_phase};
    pub use stepscope_core::attr::PHASE;
    #[cfg(feature = "macros")]
    pub use tracing;

    /// A step or epoch number of any integer type; negative ones are none.
    #[must_use]
    pub fn number(number: impl TryInto<u64>) -> Option<u64> {
        number.try_into().ok()
    }

    /// The body of an `async fn`, in its span at each poll.
    #[cfg(feature = "macros")]
    #[inline]
    pub fn instrument<F: Future>(body: F, span: tracing::Span) -> tracing::instrument::Instrumented<F> {
        tracing::Instrument::instrument(body, span)
    }

    /// Stands where a type is to be known and no value comes by.
    #[cfg(feature = "macros")]
    #[must_use]
    pub fn never<T>() -> T {
        unreachable!("only the type of this call counts")
    }
}
