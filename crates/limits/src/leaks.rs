//! What a watch for leaks in this process has found: told by `stepscope_report::watch_leaks`, published by each exporter that
//! follows the process. Nothing is judged here.

use std::sync::{Mutex, PoisonError};

/// What memory does; without a leak its rate is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Leak {
    /// Growth of a confirmed leak.
    pub bytes_per_step: f64,
    /// Until a limit is reached; absent without a leak or limit.
    pub time_left_s: Option<f64>,
}

static LATEST: Mutex<Option<Leak>> = Mutex::new(None);

/// From the watch: how it is now; `None` where nobody watches any more, or too little is known.
pub fn tell(leak: Option<Leak>) {
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = leak;
}

/// As it was told last.
#[must_use]
pub fn latest() -> Option<Leak> {
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner)
}
