//! The independent side of the tests: visitor calls into `opentelemetry-proto`'s types and back, and random
//! messages of these types.

pub(crate) mod from_visitor;
pub(crate) mod generate;
pub(crate) mod to_visitor;

pub(crate) use from_visitor::{Metrics, Traces};
