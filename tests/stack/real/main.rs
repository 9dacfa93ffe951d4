//! stepscope with the real OpenTelemetry Collector and the real Jaeger. `cargo xtask test stack` builds all that
//! these tests need and runs them; `scripts/stack` builds and starts the foreign programs.

#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "the measured figures belong into the log of a test run")]

mod boards;
mod configuration;
mod gateway;
mod jaeger;
mod leftovers;
mod monitor;
mod restart;
mod sampled;
mod scale;
mod smoke;
mod training;
mod trouble;
mod ways;
