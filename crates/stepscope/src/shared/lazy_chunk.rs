//! Chunks of tables that grow.

use std::sync::OnceLock;

/// What is in `chunk`, made if it is not there: one after the other where they stay, for as an array they would be on the stack
/// of whoever needs them, and a thread's may be small.
pub(crate) fn get_or_make<T: Default, const N: usize>(chunk: &OnceLock<Box<[T; N]>>) -> Option<&[T; N]> {
    if chunk.get().is_none() {
        let all: Vec<T> = (0..N).map(|_| T::default()).collect();
        // Another thread may have been quicker.
        let _ = chunk.set(all.try_into().ok()?);
    }
    chunk.get().map(Box::as_ref)
}
