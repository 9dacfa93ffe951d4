//! Loaders, the batches that they make, the waits for them, and whether steps wait for their input.

pub(crate) mod batches;
pub(crate) mod finish;
pub(crate) mod observe;
pub(crate) mod summary;
pub(crate) mod under_demand;
pub(crate) mod worker_lifetimes;
