//! Who a process is, and where it stands in a trace that others began: run id, rank, W3C trace context. Nothing of sections.

pub(crate) mod identity;
pub(crate) mod ids;
pub(crate) mod propagation;
pub(crate) mod text;
