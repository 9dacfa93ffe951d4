//! The counting global allocator: forwards every call to an inner allocator and counts what succeeded. What
//! is counted and where it is kept is in [`crate::block`].
#![expect(unsafe_code, reason = "implements GlobalAlloc, an unsafe trait, by forwarding")]

use crate::{block, live};
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator that counts on behalf of the calling thread and leaves the work to `A`.
///
/// What counts:
/// - `alloc` and `alloc_zeroed`: `layout.size()` bytes allocated, one allocation. Alignment and the
///   allocator's own overhead do not count.
/// - `dealloc`: `layout.size()` bytes freed, one deallocation, on the thread that frees, whichever thread
///   allocated.
/// - `realloc`: as if the old block were freed and then the new one allocated: old size freed, new size
///   allocated, one deallocation and one allocation, whether or not the block moved. The peak therefore
///   never sees both sizes at once, although a block that moves is there twice for a moment.
/// - A call that fails (null) counts nothing.
///
/// ```
/// #[global_allocator]
/// static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();
/// ```
#[derive(Debug, Default, Clone, Copy)]
pub struct Alloc<A = System> {
    inner: A,
}

impl Alloc<System> {
    /// Counts in front of the system's allocator.
    #[must_use]
    pub const fn system() -> Self {
        Self { inner: System }
    }
}

impl<A> Alloc<A> {
    /// Counts in front of `inner`.
    #[must_use]
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

/// The rest of `dealloc`, seldom, and with all that it takes, so that the other way keeps nothing for after it.
#[cold]
#[inline(never)]
unsafe fn dealloc_watched<A: GlobalAlloc>(pointer: *mut u8, layout: Layout, inner: &A) {
    block::freed(pointer.addr(), bytes(layout.size()));
    // SAFETY: the caller's obligations are those of the inner allocator.
    unsafe { inner.dealloc(pointer, layout) };
}

/// Sizes are at most `isize::MAX`, so nothing is lost.
#[inline]
const fn bytes(size: usize) -> u64 {
    size as u64
}

// SAFETY: every call goes to `inner` with the caller's own arguments and its answer is returned unchanged;
// the bookkeeping neither unwinds nor touches the memory handed out.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are those of the inner allocator.
        let pointer = unsafe { self.inner.alloc(layout) };
        if pointer.is_null() { pointer } else { block::allocated(pointer, bytes(layout.size())) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`. Forwarded and not left to the default, which would write every page.
        let pointer = unsafe { self.inner.alloc_zeroed(layout) };
        if pointer.is_null() { pointer } else { block::allocated(pointer, bytes(layout.size())) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if block::count_free(pointer.addr(), bytes(layout.size())) {
            // SAFETY: as for `alloc`.
            return unsafe { dealloc_watched(pointer, layout, &self.inner) };
        }
        // SAFETY: as for `alloc`.
        unsafe { self.inner.dealloc(pointer, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let chosen = if live::may_be_chosen(pointer.addr()) { live::forget(pointer.addr()) } else { None };
        // SAFETY: as for `alloc`. Forwarded and not left to the default, which would copy every time.
        let moved = unsafe { self.inner.realloc(pointer, layout, new_size) };
        let (old_size, new_size) = (bytes(layout.size()), bytes(new_size));
        if moved.is_null() {
            if let Some(chosen) = chosen {
                live::moved(pointer.addr(), chosen, old_size);
            }
            return moved;
        }
        block::count_unwatched_free(old_size);
        block::skip(if chosen.is_some() { new_size } else { old_size.min(new_size) });
        let is_due = block::count_alloc(new_size);
        match chosen {
            Some(chosen) => live::moved(moved.addr(), chosen, new_size),
            None if is_due || live::is_whole_period(new_size) => {
                live::allocated(moved.addr(), new_size, new_size.saturating_sub(old_size));
            }
            None => {}
        }
        moved
    }
}
