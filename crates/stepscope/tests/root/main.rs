//! The layer's tests once more, for programs that record through the root subscriber: what is recorded is the same. And
//! what only that one has to hold. (What leaves the process, and how, does not depend on the way in.)
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[expect(dead_code, reason = "the layer's tests use more of it")]
#[path = "../layer/common/mod.rs"]
mod common;

mod around;
#[path = "../layer/asynchronous.rs"]
mod asynchronous;
#[path = "../layer/bounds.rs"]
mod bounds;
#[path = "../layer/capture.rs"]
mod capture;
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
#[path = "../layer/logs.rs"]
mod logs;
#[path = "../layer/memory.rs"]
mod memory;
#[path = "../layer/narrow.rs"]
mod narrow;
mod outlived;
#[path = "../layer/phases.rs"]
mod phases;
#[path = "../layer/plain.rs"]
mod plain;
#[path = "../layer/process.rs"]
mod process;
#[path = "../layer/profiled.rs"]
mod profiled;
#[path = "../layer/soak.rs"]
mod soak;
#[path = "../layer/storm.rs"]
mod storm;
#[path = "../layer/system.rs"]
mod system;
#[path = "../layer/unusual.rs"]
mod unusual;
#[cfg(feature = "fmt")]
#[path = "../layer/with_ids.rs"]
mod with_ids;

/// How the programs record.
const WAY: &str = "root";
