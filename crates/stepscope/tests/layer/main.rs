//! The layer as its users see it: programs are run as child processes and what they recorded is read back.
//! One binary, because every test file more is a link more. The programs are in `examples/programs`.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod common;

mod asynchronous;
mod bounds;
mod capture;
mod collector;
mod deep;
mod directory;
mod exact;
mod exemplars;
mod family;
mod figures;
mod filter;
#[cfg(feature = "metrics")]
mod gauges;
#[cfg(feature = "grpc")]
mod grpc;
mod levels;
mod live_memory;
mod loader;
mod logs;
mod memory;
mod narrow;
mod phases;
mod plain;
mod process;
mod profiled;
mod registry;
mod soak;
mod storm;
mod system;
#[cfg(feature = "tls")]
mod tls;
mod tracked;
mod transport;
mod unusual;
#[cfg(all(feature = "grpc", feature = "tls"))]
mod variables;
#[cfg(feature = "fmt")]
mod with_ids;

/// How the programs record: through the layer. (Through the root subscriber: `tests/root`.)
const WAY: &str = "layer";
