//! OTLP as stepscope reads and writes it: a hand-written encoder and decoder for traces and metrics, in
//! protobuf and in JSON, without an object tree and without dependencies. Files, framings, compression and
//! transports live elsewhere (`stepscope-model` reads, `stepscope` writes).

mod detect;
mod error;
pub mod json;
mod keys;
mod node;
mod prepared;
pub mod proto;
mod rows;
mod seen;
mod visit;

pub use detect::{Detected, Encoding, Signal, detect};
pub use error::{DecodeError, DecodeErrorKind, DecodeStats, LeftOut};
pub use prepared::{Constants, Key};
pub use visit::*;
