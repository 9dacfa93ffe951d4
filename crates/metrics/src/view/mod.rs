//! What the snapshot looks like to others. A view reads the snapshot and never a device.

pub(crate) mod http;
pub mod json;
pub(crate) mod names;
pub mod prometheus;
