//! What the wrapper asks of the allocator inside it, and that failures are not counted. The wrapper is not
//! the global allocator here: the test calls it.
#![expect(unsafe_code, reason = "calls an allocator directly")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::ptr;
use stepscope_mem::{Alloc, is_installed, live_bytes, peak_enter, peak_exit, thread_counters};

thread_local! {
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Writes every call down; fails those of 13 bytes.
struct Recorder;

impl Recorder {
    fn note(call: String) {
        CALLS.with_borrow_mut(|calls| calls.push(call));
    }
}

// SAFETY: forwards to the system's allocator, or fails.
unsafe impl GlobalAlloc for Recorder {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note(format!("alloc {}", layout.size()));
        // SAFETY: the caller's obligations are the same.
        if layout.size() == 13 { ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::note(format!("alloc_zeroed {}", layout.size()));
        // SAFETY: the caller's obligations are the same.
        if layout.size() == 13 { ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::note(format!("dealloc {}", layout.size()));
        // SAFETY: the caller's obligations are the same.
        unsafe { System.dealloc(pointer, layout) };
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        Self::note(format!("realloc {} {new_size}", layout.size()));
        // SAFETY: the caller's obligations are the same.
        if new_size == 13 { ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, new_size) } }
    }
}

#[test]
fn every_method_is_forwarded_and_failures_count_nothing() {
    // Before the first call nothing is known, and nothing pretends to be zero.
    assert!(!is_installed());
    assert_eq!((thread_counters(), live_bytes(), peak_exit(peak_enter())), (None, None, None));

    let alloc = Alloc::new(Recorder);
    let layout = |size| Layout::from_size_align(size, 8).unwrap();
    // SAFETY: sizes are not 0, each pointer is used with the layout it has.
    let before = unsafe {
        let first = alloc.alloc(layout(10));
        let before = thread_counters().unwrap();
        assert_eq!((before.allocated_bytes, before.allocs), (10, 1));
        assert!(alloc.alloc(layout(13)).is_null());
        assert!(alloc.alloc_zeroed(layout(13)).is_null());
        assert!(alloc.realloc(first, layout(10), 13).is_null());
        assert_eq!(thread_counters(), Some(before));
        let second = alloc.realloc(first, layout(10), 30);
        let zeroed = alloc.alloc_zeroed(layout(20));
        assert_eq!(std::slice::from_raw_parts(zeroed, 20), [0; 20]);
        alloc.dealloc(second, layout(30));
        alloc.dealloc(zeroed, layout(20));
        before
    };
    let after = thread_counters().unwrap().since(&before);
    assert_eq!((after.allocated_bytes, after.freed_bytes), (30 + 20, 10 + 30 + 20));
    assert_eq!((after.allocs, after.frees), (2, 3));
    let calls = CALLS.take();
    let expected = [
        "alloc 10",
        "alloc 13",
        "alloc_zeroed 13",
        "realloc 10 13",
        "realloc 10 30",
        "alloc_zeroed 20",
        "dealloc 30",
        "dealloc 20",
    ];
    assert_eq!(calls, expected);
    assert!(is_installed());
}
