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
//! library), `metrics` (gauges of the machine, its GPUs and the process, where the environment asks for them), `mem` (by
//! default: memory figures), `macros` (by default: the attribute `profile`), `fmt` (`WithIds`: ids in
//! the lines of `tracing_subscriber::fmt`), `rayon` (its ways to submit work, for the section that submits).
//!
//! What is recorded is read back by the program `stepscope` (`stepscope analyze profiles/`). Nothing in here
//! panics, blocks on the network or grows without bound in the program it records.

// What cannot be written makes these macros panic, in somebody else's program: `diagnostics` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod api;
mod config;
mod context;
mod export;
mod hot;
mod os;
mod process;
mod shared;
mod worker;

pub use api::builder::{Builder, builder, init};
pub use api::current::{context, current_ids};
pub use api::figures::{Figures, MemoryFigures, SectionFigures, SectionMemory, SpanFigures};
pub use api::guard::Guard;
pub use api::handle::Handle;
pub use api::layer::StepscopeLayer;
pub use api::loader::{Batches, Loader, Traced, batches};
#[cfg(feature = "rayon")]
pub use api::rayon;
pub use api::root::RootSubscriber;
pub use api::section::SectionGuard;
pub use api::submitter::{Submitter, in_section};
#[cfg(feature = "fmt")]
pub use api::with_ids::WithIds;
pub use config::Format;
pub use config::capture::{Capture, CaptureError};
pub use config::filter::{Filter, FilterError};
pub use config::on_signal::OnSignal;
pub use config::ring::Overflow;
pub use config::track::{Track, TrackError};
pub use context::ids::SpanIds;
pub use context::propagation::TraceContext;
pub use export::exporter::{Exported, Exporter, suppress_thread};
pub use shared::attrs::FieldValue;
pub use shared::step_work::StepWork;
pub use stepscope_core::{Level, LossReason, Mode, Phase, SectionKind};
#[cfg(feature = "macros")]
pub use stepscope_macros::profile;
#[cfg(feature = "mem")]
pub use stepscope_mem::Alloc;
pub use worker::control::Flushed;

/// What this workspace's own programs need to know of settings; not for use by others.
#[doc(hidden)]
pub mod __settings {
    pub use crate::config::check::{Look, Looked, look, look_around};
    pub use crate::config::memory_request::{MEMORY_REQUEST, MemoryAnswer};
    pub use stepscope_core::setting::report_format;
}

/// What the macros need; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::api::section::{Start, enter, enter_plain, known_phase, record_value, with_own_phase};
    pub use crate::shared::callsite::Callsite;
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
