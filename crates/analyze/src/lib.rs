//! Analysis of training traces: `Trace → Partial → merge → Summary → findings → report`. Pure: no I/O, clock,
//! environment or async, and nothing that depends on the order in which traces come.
//!
//! [`Partial`] folds traces and metric points into integer accumulators, of bounded size, that merge in any
//! grouping and can be written to bytes; [`Partial::finish`] turns them into a [`Summary`] of one run. What
//! is good or bad about a run is said by [`rules`]; how it is shown, by [`report`] and [`render`].

#[macro_use]
mod thresholds;

mod accumulate;
mod between_steps;
pub mod changepoints;
mod config;
mod context;
pub mod critical_path;
mod document;
mod exemplars;
mod finish;
#[cfg(test)]
mod generated_tests;
pub mod live_memory;
pub mod loaders;
mod losses;
pub mod memory;
mod metrics;
mod partial;
mod phases;
mod ranks;
pub mod render;
pub mod report;
pub mod rules;
mod run;
#[cfg(feature = "schema")]
mod schema;
mod sections;
mod step_view;
mod steps;
pub mod summary;
mod threads;

pub use config::{Bounds, Config, EXAMPLE_BYTES, EXAMPLE_SPANS, SLOWEST_STEPS, WARMUP_STEPS};
pub use partial::{PARTIAL_VERSION, Partial, PartialError};
pub use summary::Summary;
