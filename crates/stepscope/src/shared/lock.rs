//! Locks that a panic does not close.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What `mutex` guards, whatever happened to who had it before: figures are still worth having.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
