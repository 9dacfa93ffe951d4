//! Traces in, summary out: every figure against values worked out by hand, and properties against slow
//! definitions. One binary, so that it links once.

mod aggregates;
mod batches;
mod bounds;
mod build;
mod bytes;
mod definitions;
mod exposure;
mod grouping;
mod input;
mod runs;
mod sections;
mod series;
mod steps;
