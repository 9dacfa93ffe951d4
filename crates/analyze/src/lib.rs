//! Analysis of training traces: `Trace → Partial → merge → Summary → findings → report`. Pure: no I/O, clock,
//! environment or async, and nothing that depends on the order in which traces come.
//!
//! [`Partial`] folds traces and metric points into integer accumulators, of bounded size, that merge in any
//! grouping and can be written to bytes; [`Partial::finish`] turns them into a [`Summary`] of one run. What
//! is good or bad about a run is said by [`rules`]; how it is shown, by [`report`] and [`render`].

#[macro_use]
mod thresholds;

mod accumulate;
mod aggregates;
mod batches;
mod between_steps;
mod by_path;
mod by_time;
pub mod changes;
mod config;
pub mod critical;
mod dist;
mod early;
mod examples;
mod finish;
mod fold;
mod forest;
#[cfg(test)]
mod generated;
mod held;
pub mod loaders;
mod losses;
mod median;
pub mod memory;
mod narrow;
mod outside;
mod packed;
mod partial;
mod paths;
pub mod periods;
mod phases;
mod points;
mod ranks;
pub mod render;
pub mod report;
pub mod rules;
mod run;
mod sections;
mod slow;
mod spent;
mod steps;
mod strata;
pub mod summary;
mod sums;
mod sweep;
pub mod trend;
mod values;
mod warmup;

pub use config::{Bounds, Config, EXAMPLE_BYTES, EXAMPLE_SPANS, SLOWEST_STEPS, WARMUP_STEPS};
pub use partial::{PARTIAL_VERSION, Partial, PartialError};
pub use summary::Summary;
