//! Where the allocator counts: one block of counters a thread, written by that thread alone, readable by all.
//! No lock, no shared cache line, no allocation through the global allocator, nothing that can fail.
//!
//! Blocks are leaked into a list that only grows, and recycled: a thread that exits gives its block back with
//! the counts left in it, and the next thread goes on counting from there. So the sum over the list is the
//! process' total, exited threads included, and the list is as long as the largest number of threads that
//! ever lived at the same time. The exit is noticed by a destructor of the C library (see [`crate::sys`]):
//! a Rust thread-local with a destructor must not be used here, because registering one may allocate and,
//! during teardown, abort. What a thread allocates after that destructor (in destructors of other C
//! libraries), and what it allocates if no block can be had, is counted in one block shared by all threads.
//!
//! A thread can set aside what it does for a while (a profiler its own work): that is counted apart, and is
//! in no total, peak or live figure of the program.
#![expect(unsafe_code, reason = "thread blocks are leaked and reached through raw pointers")]

use crate::sys;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64};

/// Four cumulative counts. Frees are stored with release, so that whoever reads them with acquire and then
/// reads allocations sees the allocation of every block whose free it saw.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) allocated_bytes: AtomicU64,
    pub(crate) freed_bytes: AtomicU64,
    pub(crate) allocs: AtomicU64,
    pub(crate) frees: AtomicU64,
}

impl Counts {
    const fn zero() -> Self {
        Self {
            allocated_bytes: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            allocs: AtomicU64::new(0),
            frees: AtomicU64::new(0),
        }
    }
}

/// One thread's counters. Two cache lines, so that prefetching neighbours does not make them shared.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Block {
    /// Of all threads that ever owned the block.
    pub(crate) counts: Counts,
    /// What `counts` was when the present owner took the block; written by the owner.
    pub(crate) base: Counts,
    /// What owners did while it was set aside; not part of `counts`.
    pub(crate) aside: Counts,
    /// Whether the owner's doings are set aside now; used by the owner alone.
    is_aside: AtomicBool,
    /// Highest value of [`Block::net_bytes`] since the owner last lowered it.
    pub(crate) peak_bytes: AtomicI64,
    owned: AtomicBool,
    /// The next older block; fixed before the block is published.
    next: *const Block,
}

// SAFETY: all fields but `next` are atomics, and `next` is written before other threads can see the block and
// points to a block that is never freed.
unsafe impl Sync for Block {}

impl Block {
    const fn new() -> Self {
        Self {
            counts: Counts::zero(),
            base: Counts::zero(),
            aside: Counts::zero(),
            is_aside: AtomicBool::new(false),
            peak_bytes: AtomicI64::new(0),
            owned: AtomicBool::new(true),
            next: ptr::null(),
        }
    }

    /// Bytes allocated minus bytes freed by the block's owners; negative where they freed what others
    /// allocated. For the owner.
    #[inline]
    pub(crate) fn net_bytes(&self) -> i64 {
        let allocated = self.counts.allocated_bytes.load(Relaxed);
        allocated.wrapping_sub(self.counts.freed_bytes.load(Relaxed)).cast_signed()
    }

    #[inline]
    fn alloc(&self, size: u64) {
        if self.is_aside.load(Relaxed) {
            add(&self.aside.allocated_bytes, size, Relaxed);
            add(&self.aside.allocs, 1, Relaxed);
            return;
        }
        add(&self.counts.allocated_bytes, size, Relaxed);
        add(&self.counts.allocs, 1, Relaxed);
        let net = self.net_bytes();
        if net > self.peak_bytes.load(Relaxed) {
            self.peak_bytes.store(net, Relaxed);
        }
    }

    #[inline]
    fn free(&self, size: u64) {
        let counts = if self.is_aside.load(Relaxed) { &self.aside } else { &self.counts };
        add(&counts.freed_bytes, size, Release);
        add(&counts.frees, 1, Release);
    }

    /// Sets aside what the owner does from now on, or no more; returns how it was before. For the owner.
    #[inline]
    pub(crate) fn set_aside(&self, yes: bool) -> bool {
        let before = self.is_aside.load(Relaxed);
        self.is_aside.store(yes, Relaxed);
        before
    }

    /// Starts a new owner's account.
    fn open(&self) {
        let pairs = [
            (&self.base.allocated_bytes, &self.counts.allocated_bytes),
            (&self.base.freed_bytes, &self.counts.freed_bytes),
            (&self.base.allocs, &self.counts.allocs),
            (&self.base.frees, &self.counts.frees),
        ];
        for (base, count) in pairs {
            base.store(count.load(Relaxed), Relaxed);
        }
        self.peak_bytes.store(self.net_bytes(), Relaxed);
        self.is_aside.store(false, Relaxed);
    }
}

/// Adds to a counter that only the calling thread writes.
#[inline]
fn add(counter: &AtomicU64, value: u64, order: std::sync::atomic::Ordering) {
    counter.store(counter.load(Relaxed).wrapping_add(value), order);
}

/// The youngest block; the list grows here and never shrinks.
static HEAD: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());

/// For threads without a block: written by many, so with read-modify-write operations. Its peak is unused.
static SHARED: Block = Block::new();

thread_local! {
    /// The thread's block, null before its first allocation and after its exit began. Constant and without
    /// destructor: a plain thread-local word that is there from the thread's first to its last instruction.
    static CURRENT: Cell<*const Block> = const { Cell::new(ptr::null()) };
    /// Whether the thread gave its block back.
    static EXITED: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread's block, if it has one.
#[inline]
pub(crate) fn present() -> Option<&'static Block> {
    let block = CURRENT.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: null, or a block, and blocks are never freed.
    unsafe { block.as_ref() }
}

/// The calling thread's block, taken now if it has none; `None` while the thread exits, if memory is short,
/// or if nothing in the process was counted yet.
#[inline]
pub(crate) fn current() -> Option<&'static Block> {
    // Cheaper than a look for the thread's own, which nobody has where nothing was counted.
    if HEAD.load(Relaxed).is_null() {
        return None;
    }
    present().or_else(take)
}

/// Counts an allocation of the calling thread.
#[inline]
pub(crate) fn count_alloc(size: u64) {
    match present() {
        Some(block) => block.alloc(size),
        None => count_alloc_without_block(size),
    }
}

/// Counts a deallocation by the calling thread.
#[inline]
pub(crate) fn count_free(size: u64) {
    match present() {
        Some(block) => block.free(size),
        None => count_free_without_block(size),
    }
}

#[cold]
fn count_alloc_without_block(size: u64) {
    if let Some(block) = take() {
        block.alloc(size);
    } else {
        SHARED.counts.allocated_bytes.fetch_add(size, Relaxed);
        SHARED.counts.allocs.fetch_add(1, Relaxed);
    }
}

#[cold]
fn count_free_without_block(size: u64) {
    if let Some(block) = take() {
        block.free(size);
    } else {
        SHARED.counts.freed_bytes.fetch_add(size, Release);
        SHARED.counts.frees.fetch_add(1, Release);
    }
}

/// Gives the calling thread a block: a returned one, else a new one.
#[cold]
fn take() -> Option<&'static Block> {
    if EXITED.try_with(Cell::get).unwrap_or(true) {
        return None;
    }
    let block = blocks().find(|block| claim(block)).or_else(grow)?;
    block.open();
    CURRENT.try_with(|current| current.set(block)).ok()?;
    // Where the exit cannot be watched, the block stays with the thread that has gone.
    sys::at_thread_exit(release, ptr::from_ref(block).cast());
    Some(block)
}

fn claim(block: &Block) -> bool {
    // Looking first keeps the lines of busy blocks where they are.
    !block.owned.load(Relaxed) && block.owned.compare_exchange(false, true, Acquire, Relaxed).is_ok()
}

/// A new block at the head of the list, straight from the system: the global allocator would come back here.
fn grow() -> Option<&'static Block> {
    // SAFETY: the layout's size is not 0.
    let memory = unsafe { System.alloc(Layout::new::<Block>()) }.cast::<Block>();
    if memory.is_null() {
        return None;
    }
    let mut head = HEAD.load(Relaxed);
    loop {
        // SAFETY: not null, of the right layout, and seen by no other thread until the exchange succeeds.
        unsafe { memory.write(Block { next: head, ..Block::new() }) };
        match HEAD.compare_exchange_weak(head, memory, AcqRel, Relaxed) {
            // SAFETY: initialised above, and never freed.
            Ok(_) => return Some(unsafe { &*memory }),
            Err(now) => head = now,
        }
    }
}

/// Takes the block back from a thread that exits. Runs on that thread, which counts in `SHARED` from here on.
extern "C" fn release(block: *mut std::ffi::c_void) {
    let _gone = EXITED.try_with(|exited| exited.set(true));
    let _gone = CURRENT.try_with(|current| current.set(ptr::null()));
    // SAFETY: `take` passed a block, and blocks are never freed.
    if let Some(block) = unsafe { block.cast::<Block>().as_ref() } {
        block.owned.store(false, Release);
    }
}

/// Every block but the shared one.
pub(crate) fn blocks() -> impl Iterator<Item = &'static Block> {
    let mut next = HEAD.load(Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null, or a published block, and blocks are never freed.
        let block = unsafe { next.as_ref() }?;
        next = block.next;
        Some(block)
    })
}

/// Every block, the shared one included: what their counts add up to is the process' total.
pub(crate) fn all_blocks() -> impl Iterator<Item = &'static Block> {
    blocks().chain(std::iter::once(&SHARED))
}
