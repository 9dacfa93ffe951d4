//! What all tests of the layer share: running a program, reading what it recorded, checking what must hold of
//! any recording, and a collector that answers as it is told.

pub(crate) mod check;
pub(crate) mod collector;
#[cfg(feature = "grpc")]
pub(crate) mod grpc;
pub(crate) mod program;
pub(crate) mod recording;
pub(crate) mod terminal;
#[cfg(feature = "tls")]
pub(crate) mod tls;

pub(crate) use program::{Ended, Program};
pub(crate) use recording::{Attribute, Recording, Span};
