//! The layer's tests once more, for programs that record through the root subscriber around a registry that has some of
//! their spans, in every order inside of each other: what is recorded is the same.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[expect(dead_code, reason = "the layer's tests use more of it")]
#[path = "../layer/common/mod.rs"]
mod common;

#[path = "../layer/asynchronous.rs"]
mod asynchronous;
#[path = "../layer/bounds.rs"]
mod bounds;
#[path = "../layer/exact.rs"]
mod exact;
#[path = "../layer/figures.rs"]
mod figures;
#[path = "../layer/filter.rs"]
mod filter;
#[path = "../layer/levels.rs"]
mod levels;
#[path = "../layer/loader.rs"]
mod loader;
#[path = "../layer/narrow.rs"]
mod narrow;
#[path = "../layer/phases.rs"]
mod phases;
#[path = "../layer/plain.rs"]
mod plain;
#[path = "../layer/profiled.rs"]
mod profiled;
#[path = "../layer/soak.rs"]
mod soak;
#[path = "../layer/storm.rs"]
mod storm;
#[path = "../layer/unusual.rs"]
mod unusual;

/// How the programs record.
const WAY: &str = "root_odd";
