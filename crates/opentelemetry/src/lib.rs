//! stepscope beside the OpenTelemetry SDK: what the layer records goes into any `SpanExporter`, too, and each side knows
//! of the span in which the other one is.
//!
//! ```
//! use opentelemetry_sdk::trace::InMemorySpanExporter;
//!
//! # std::env::set_current_dir(std::env::temp_dir())?;
//! let exporter = InMemorySpanExporter::default(); // or one of opentelemetry-otlp, …
//! let run = stepscope::builder()
//!     .exporter(stepscope_opentelemetry::exporter(exporter.clone()))
//!     .link_roots(stepscope_opentelemetry::current)
//!     .install();
//! for number in 0..3 {
//!     let _step = stepscope::step!(number);
//!     let _attached = stepscope_opentelemetry::attach(); // code that uses the API of OpenTelemetry is inside of the step
//! }
//! assert!(run.flush(std::time::Duration::from_secs(10)).is_complete());
//! let spans = exporter.get_finished_spans().unwrap_or_default();
//! assert_eq!(spans.iter().filter(|span| span.name == "step").count(), 3);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program that only wants to send OTLP needs none of this: the layer does it by itself, at a fraction of the cost.
//! Absent here are the sums of sections, which are metrics: they are in the directory, or where the layer sends itself. With
//! the feature `metrics`, `instruments` has the gauges of the machine, its GPUs and the process in a `MeterProvider`.

mod context;
mod exporter;
#[cfg(feature = "metrics")]
mod instruments;
mod spans;

pub use context::{attach, context, current};
pub use exporter::exporter;
#[cfg(feature = "metrics")]
pub use instruments::instruments;

/// What the page says in Rust, it does.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/opentelemetry.md")]
struct Page;
