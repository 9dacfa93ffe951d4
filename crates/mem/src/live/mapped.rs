//! A table that is mapped once, when it is first wanted, and stays.
#![expect(unsafe_code, reason = "memory that is mapped once and never unmapped")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// Where the table is; null before it is mapped.
pub(super) struct Mapped<T>(AtomicPtr<T>);

impl<T: Sync> Mapped<T> {
    /// # Safety
    ///
    /// All zeros must be a `T`, and `T` must not be of size 0.
    pub(super) const unsafe fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Maps the table, if it is not there yet; `false` if there is no memory for it.
    pub(super) fn prepare(&self) -> bool {
        if self.get().is_some() {
            return true;
        }
        let layout = Layout::new::<T>();
        // SAFETY: the layout's size is not 0, by `new`. From the system: pages that nobody writes cost nothing.
        let memory = unsafe { System.alloc_zeroed(layout) }.cast::<T>();
        if memory.is_null() {
            return false;
        }
        if self.0.compare_exchange(ptr::null_mut(), memory, AcqRel, Acquire).is_err() {
            // SAFETY: allocated above with this layout, and nobody else has seen it.
            unsafe { System.dealloc(memory.cast(), layout) };
        }
        true
    }

    pub(super) fn get(&self) -> Option<&T> {
        // SAFETY: null, or zeros that are a `T`, by `new`, and that stay.
        unsafe { self.0.load(Acquire).as_ref() }
    }
}
