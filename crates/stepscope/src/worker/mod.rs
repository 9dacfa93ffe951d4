//! The background thread, the one that looks at others during deep steps, the orders that it takes, and what it is asked from outside of the program. How records are encoded
//! and where they go is in `export`.

pub(crate) mod background;
pub(crate) mod capture_requests;
pub(crate) mod control;
pub(crate) mod costs;
pub(crate) mod deep_step_watch;
#[cfg(feature = "mem")]
pub(crate) mod live_memory;
pub(crate) mod own_thread;
pub(crate) mod resident;
pub(crate) mod thread_looks;
