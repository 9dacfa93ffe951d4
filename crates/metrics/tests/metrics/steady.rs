//! In the steady state a pass and its publication allocate nothing, but for one pass in ten that also lists folders. On a
//! recorded machine: a live one gains and loses interfaces and disks meanwhile, which are new series.
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stepscope_metrics::view::prometheus::{Format, Renderer};
use stepscope_metrics::{Sampler, Snapshot};

use crate::common::{lay, tree};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_pass_and_a_copy_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    tree("v2").iter().for_each(|files| lay(folder.path(), files));
    let mut sampler = Sampler::of_files(folder.path(), 42);
    let mut copy = Snapshot::default();
    // Past the first of everything.
    for _ in 0..3 {
        copy.clone_from(sampler.pass());
    }
    let mut renderer = Renderer::new(Format::Text);
    let mut text = String::with_capacity(1 << 20);
    renderer.render(&copy, 2_000, &[], &mut text);
    let mut allocating = Vec::new();
    for pass in 0..25 {
        let before = ALLOCATIONS.get();
        copy.clone_from(sampler.pass());
        text.clear();
        renderer.render(&copy, 2_000, &[], &mut text);
        if ALLOCATIONS.get() > before {
            allocating.push(pass);
        }
    }
    assert!(allocating.windows(2).all(|pair| pair[1] - pair[0] == 10), "{allocating:?}");
    assert!(allocating.len() <= 3, "{allocating:?}");
    assert!(copy.host.memory.is_some() && copy.process.is_some());
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(ALLOCATIONS.get() - before, 1, "the allocator counts");
}
