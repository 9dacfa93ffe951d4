//! Figures of the machine, its GPUs, a process and the container around it, under OpenTelemetry's names. Three layers,
//! one direction: sources fill a [`Snapshot`], a holder keeps the latest one, views (Prometheus' text over HTTP, JSON,
//! and whoever implements [`Visitor`]) read it and never a device. Spans, steps and judgement are not here.
//!
//! ```no_run
//! use std::time::Duration;
//! use stepscope_metrics::Metrics;
//!
//! let metrics = Metrics::builder()
//!     .interval(Duration::from_secs(1))
//!     .prometheus(([127, 0, 0, 1], 9101).into())
//!     .start()?;
//! println!("{:?}", metrics.snapshot().host.memory);
//! metrics.stop();
//! # Ok::<(), stepscope_metrics::Error>(())
//! ```

pub mod alerts;
mod error;
mod exporter;
#[cfg(feature = "facade")]
mod facade;
mod gpu;
mod history;
mod notes;
mod points;
mod slow;
pub mod snapshot;
mod source;
pub mod view;
mod watch;

pub use error::Error;
pub use exporter::{Builder, DEFAULT_BUDGET, Latest, Metrics, Reading};
#[cfg(feature = "facade")]
pub use facade::Recorder;
pub use history::{History, Stretch, Track};
pub use points::{Label, Series, Value, Visitor, visit};
pub use snapshot::Snapshot;
pub use source::{ControlGroup, Sampler};
