//! Analysis of training traces: `Trace → Partial → merge → Summary → findings → report`. Pure: no I/O, clock,
//! environment or async, and nothing that depends on the order in which traces come.
//!
//! [`Partial`] folds traces and metric points into integer accumulators, of bounded size, that merge in any
//! grouping and can be written to bytes; [`Partial::finish`] turns them into a [`Summary`] of one run. What
//! is good or bad about a run is said by [`rules`]; how it is shown, by [`report`] and [`render`].

mod config;
pub mod render;
pub mod report;
pub mod rules;
pub mod summary;

pub use config::{Bounds, Config, SLOWEST_STEPS, WARMUP_STEPS};
pub use summary::Summary;
