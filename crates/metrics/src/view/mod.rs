//! What the snapshot looks like to others. A view reads the snapshot and never a device.

pub(crate) mod http;
#[cfg(feature = "opentelemetry")]
pub(crate) mod instruments;
pub mod json;
pub(crate) mod names;
pub(crate) mod number;
#[cfg(feature = "otlp")]
pub(crate) mod otlp;
pub mod prometheus;
