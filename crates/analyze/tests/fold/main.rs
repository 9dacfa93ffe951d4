//! Traces in, summary out: every figure against values worked out by hand, and properties against slow
//! definitions. One binary, so that it links once.

#![expect(clippy::unwrap_used, reason = "a test's helper that fails, fails the test")]

mod aggregates;
mod awaited;
mod batches;
mod bounds;
mod build;
mod bytes;
mod changes;
mod coverage;
mod critical;
mod deep;
mod definitions;
mod examples;
mod exposure;
mod few_steps;
mod grouping;
mod held;
mod hostile;
mod input;
mod jobs;
mod leaks;
mod linked;
mod measured;
mod orphans;
mod periods;
mod runs;
mod sections;
mod series;
mod steps;
mod sums;
mod thinned;
