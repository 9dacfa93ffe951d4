//! OTLP as stepscope reads and writes it: a hand-written encoder and decoder for traces and metrics, in
//! protobuf and in JSON, without an object tree and without dependencies. Files, framings, compression and
//! transports live elsewhere (`stepscope-model` reads, `stepscope` writes).

mod visit;

pub use visit::*;
