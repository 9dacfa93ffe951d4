//! The exporter from outside: recorded trees, the live machine, each view, memory in the steady state.

#![expect(clippy::unwrap_used, reason = "a test whose surroundings fail cannot go on")]

mod alerts;
mod allocators;
mod common;
mod facade;
mod gpus;
mod instruments;
mod live;
mod scrape;
mod steady;
mod trees;
