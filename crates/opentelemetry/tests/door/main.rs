//! Whole runs beside the SDK. One run at a time in this process; each also writes a directory, which is what the exporters
//! are compared with, read by OpenTelemetry's own types.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod account;
mod context;
mod equal;
mod everything;
mod support;
