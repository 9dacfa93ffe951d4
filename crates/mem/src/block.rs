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
//! A thread can set aside what it does for a while (a profiler its own work): it counts in another part of its block then,
//! which is in no total, peak or live figure of the program.
#![expect(unsafe_code, reason = "thread blocks are leaked and reached through raw pointers")]

use crate::hot::{Counts, Frees, Hot};
use crate::live::{self, Trials};
use crate::sys;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};

/// One thread's counters. Whole pairs of cache lines, so that prefetching neighbours does not make them shared.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Block {
    /// Of all threads that ever owned the block.
    pub(crate) program: Hot,
    /// What owners did while it was set aside; not part of `program`.
    pub(crate) aside: Hot,
    /// What `program` had counted when the present owner took the block; written by the owner.
    pub(crate) base: Counts,
    pub(crate) trials: Trials,
    /// Where the owner's stack begins and ends, and its id; 0 where nobody has asked yet.
    stack: [AtomicUsize; 2],
    /// The outermost frame of the owner that was ever found.
    pub(crate) outermost: AtomicUsize,
    thread: AtomicU32,
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
            program: Hot::new(),
            aside: Hot::new(),
            base: Counts::zero(),
            trials: Trials::new(),
            stack: [AtomicUsize::new(0), AtomicUsize::new(0)],
            outermost: AtomicUsize::new(0),
            thread: AtomicU32::new(0),
            owned: AtomicBool::new(true),
            next: ptr::null(),
        }
    }

    /// The first address of the owner's stack and the one behind it; room for nothing where they are not known. For the owner.
    pub(crate) fn stack_bounds(&self) -> (usize, usize) {
        let [start, end] = &self.stack;
        if end.load(Relaxed) == 0 {
            let bounds = sys::stack_bounds();
            start.store(bounds.0, Relaxed);
            // Where nobody knows, nobody is asked again: no frame fits in there.
            end.store(bounds.1.max(1), Relaxed);
        }
        (start.load(Relaxed), end.load(Relaxed))
    }

    /// The operating system's id of the owner; 0 where it is not known. For the owner.
    pub(crate) fn thread(&self) -> u32 {
        let mut thread = self.thread.load(Relaxed);
        if thread == 0 {
            thread = sys::thread_id();
            self.thread.store(thread, Relaxed);
        }
        thread
    }

    /// For any thread: frees of the owner look at what is chosen, for ever.
    fn watch(&self) {
        self.program.set_frees(Frees::Watch);
        self.aside.set_frees(Frees::Watch);
    }

    /// Starts a new owner's account.
    fn open(&self) {
        let counts = &self.program.counts;
        let pairs = [
            (&self.base.allocated_bytes, &counts.allocated_bytes),
            (&self.base.freed_bytes, &counts.freed_bytes),
            (&self.base.allocs, &counts.allocs),
            (&self.base.frees, &counts.frees),
        ];
        for (base, count) in pairs {
            base.store(count.load(Relaxed), Relaxed);
        }
        self.program.lower_peak();
        self.stack.iter().chain([&self.outermost]).for_each(|address| address.store(0, Relaxed));
        self.thread.store(0, Relaxed);
        self.trials.open(&self.program);
    }
}

/// The youngest block; the list grows here and never shrinks.
static HEAD: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());

/// For threads without a block: written by many, so with read-modify-write operations. Its peak is unused.
static SHARED: Block = Block::new();

/// Where a thread without a block believes to count. Each of its allocations is an alarm and each of its frees is asked for more, so
/// that what stands here is never read, and those with a block have no question to answer.
static NOBODY: Hot = Hot::with(Frees::AreNobodys);

/// Whether anything was ever to be chosen.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// From now on, frees look whether their block is a chosen one. To be called before any is.
pub(crate) fn watch() {
    WATCHED.store(true, SeqCst);
    // Either the new blocks of `take` are among these, or `take` sees the store.
    fence(SeqCst);
    blocks().for_each(Block::watch);
}

thread_local! {
    /// The part of the thread's block where it counts now, [`NOBODY`] before its first allocation and after its exit began.
    /// Constant and without destructor: a plain thread-local word that is there from the thread's first to its last instruction.
    static CURRENT: Cell<*const Hot> = const { Cell::new(&raw const NOBODY) };
    /// The thread's block, null before its first allocation and after its exit began.
    static OWNED: Cell<*const Block> = const { Cell::new(ptr::null()) };
    /// Whether the thread gave its block back.
    static EXITED: Cell<bool> = const { Cell::new(false) };
}

/// Where the calling thread counts.
#[inline]
fn present() -> &'static Hot {
    let hot = CURRENT.try_with(Cell::get).unwrap_or(&raw const NOBODY);
    // SAFETY: a part of a block, and blocks are never freed, or the static.
    unsafe { &*hot }
}

/// The calling thread's block, if it has one.
#[inline]
pub(crate) fn owned() -> Option<&'static Block> {
    let block = OWNED.try_with(Cell::get).unwrap_or(ptr::null());
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
    owned().or_else(take)
}

/// Sets aside what the calling thread, owner of the block, does from now on, or no more; returns how it was before.
#[inline]
pub(crate) fn set_aside(block: &'static Block, yes: bool) -> bool {
    let hot = if yes { &block.aside } else { &block.program };
    CURRENT.try_with(|current| ptr::eq(current.replace(hot), &raw const block.aside)).unwrap_or(yes)
}

/// Whether the calling thread, owner of the block, sets aside what it does.
pub(crate) fn is_aside(block: &'static Block) -> bool {
    CURRENT.try_with(|current| ptr::eq(current.get(), &raw const block.aside)).unwrap_or(true)
}

/// Counts a block that the calling thread was given, and returns it.
#[inline]
pub(crate) fn allocated(pointer: *mut u8, size: u64) -> *mut u8 {
    // What happens seldom ends with what this ends with: the callers keep nothing for after it.
    if present().alloc(size) { alarmed(pointer, size) } else { pointer }
}

#[cold]
#[inline(never)]
fn alarmed(pointer: *mut u8, size: u64) -> *mut u8 {
    if alarm(size) {
        live::allocated(pointer.addr(), size, size);
    }
    pointer
}

/// No more instructions than these are in [`alarmed`], in bytes.
const ALARMED_BYTES: usize = 128;

/// Return addresses without that in [`alarmed`], which says nothing: where a program has no symbols, nobody could tell.
pub(crate) fn callers(frames: &[usize]) -> &[usize] {
    let own = alarmed as fn(*mut u8, u64) -> *mut u8 as usize;
    match frames {
        [first, callers @ ..] if (own..own + ALARMED_BYTES).contains(first) => callers,
        all => all,
    }
}

/// Counts an allocation of the calling thread; returns whether [`live::allocated`] is to be told.
#[inline]
pub(crate) fn count_alloc(size: u64) -> bool {
    present().alloc(size) && alarm(size)
}

/// An allocation was counted, and that was not all; returns as above.
#[cold]
fn alarm(size: u64) -> bool {
    let hot = present();
    if !ptr::eq(hot, &raw const NOBODY) {
        return hot.is_look_due();
    }
    if let Some(block) = take() {
        return block.program.alloc(size) && block.program.is_look_due();
    }
    SHARED.program.counts.allocated_bytes.fetch_add(size, Relaxed);
    SHARED.program.counts.allocs.fetch_add(1, Relaxed);
    false
}

/// Counts a deallocation by the calling thread; returns whether that is not all, and [`freed`] is to be told.
#[inline]
pub(crate) fn count_free(address: usize, size: u64) -> bool {
    let frees = present().free(size);
    frees != Frees::Count as u8 && (frees != Frees::Watch as u8 || live::may_be_chosen(address))
}

/// Counts the deallocation of a block that is none of the chosen ones.
#[inline]
pub(crate) fn count_unwatched_free(size: u64) {
    let hot = present();
    if ptr::eq(hot, &raw const NOBODY) {
        free_without_block(size);
    } else {
        hot.free(size);
    }
}

/// A block is about to be freed, as [`count_free`] has counted or could not count.
pub(crate) fn freed(address: usize, size: u64) {
    if ptr::eq(present(), &raw const NOBODY) {
        free_without_block(size);
    }
    if live::may_be_chosen(address) {
        live::forget(address);
    }
}

#[cold]
fn free_without_block(size: u64) {
    if let Some(block) = take() {
        block.program.free(size);
    } else {
        SHARED.program.counts.freed_bytes.fetch_add(size, Release);
        SHARED.program.counts.frees.fetch_add(1, Release);
    }
}

/// Of the allocation that the calling thread is about to count, so many bytes are no new ones.
#[inline]
pub(crate) fn skip(bytes: u64) {
    if let Some(block) = owned() {
        block.trials.skip(present(), bytes);
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
    // See `watch`.
    fence(SeqCst);
    if WATCHED.load(Relaxed) {
        block.watch();
    }
    OWNED.try_with(|owned| owned.set(block)).ok()?;
    CURRENT.try_with(|current| current.set(&raw const block.program)).ok()?;
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
    let _gone = CURRENT.try_with(|current| current.set(&raw const NOBODY));
    let _gone = OWNED.try_with(|owned| owned.set(ptr::null()));
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
