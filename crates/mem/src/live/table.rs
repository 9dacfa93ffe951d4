//! Chosen blocks by address, without locks: buckets of slots, and for each group of addresses a count of the chosen ones among
//! them, which is all that a free of another block looks at. Bounded; nothing is allocated after the start.
#![expect(unsafe_code, reason = "the tables are mapped once and never unmapped")]

use crate::live::bucket::{Bucket, Chosen};
use crate::live::{Sample, trials};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32};

/// So many samples are kept at once.
pub const MAX_SAMPLES: u32 = 65_536;

const BUCKET_BITS: u32 = 14;
/// Buckets begin at cache lines.
const LINE_BYTES: usize = 64;
/// Groups are parts of buckets, so that a count of 8 bits holds all samples of a group.
const GROUP_BITS: u32 = 17;

/// Chosen blocks by groups of addresses.
static GROUPS: [AtomicU8; 1 << GROUP_BITS] = [const { AtomicU8::new(0) }; 1 << GROUP_BITS];
static BUCKETS: AtomicPtr<Bucket> = AtomicPtr::new(ptr::null_mut());
/// Samples that are in the table.
static FILLED: AtomicU32 = AtomicU32::new(0);

/// Multiplication spreads the bits of addresses that are alike (Knuth, 6.4) over the upper ones.
#[inline(always)]
const fn hash(address: usize) -> u64 {
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline(always)]
const fn group_of(hash: u64) -> usize {
    (hash >> (64 - GROUP_BITS)) as usize
}

const fn bucket_of(hash: u64) -> usize {
    (hash >> (64 - BUCKET_BITS)) as usize
}

#[inline(always)]
pub(crate) fn may_contain(address: usize) -> bool {
    // The index is in range by the shift in `group_of`.
    GROUPS[group_of(hash(address))].load(Relaxed) != 0
}

/// Maps the table, if it is not there yet.
pub(crate) fn prepare() -> bool {
    if !BUCKETS.load(Acquire).is_null() {
        return true;
    }
    // With no more alignment than the system gives anyway: for more, the standard library writes the zeros itself.
    let bytes = (size_of::<Bucket>() << BUCKET_BITS) + LINE_BYTES;
    let Ok(layout) = Layout::from_size_align(bytes, align_of::<Bucket>()) else { return false };
    // SAFETY: the layout's size is not 0. From the system: pages that nobody writes cost nothing.
    let memory = unsafe { System.alloc_zeroed(layout) };
    if memory.is_null() {
        return false;
    }
    // SAFETY: there is a line more than the buckets need.
    let aligned = unsafe { memory.add(memory.addr().wrapping_neg() % LINE_BYTES) }.cast::<Bucket>();
    if BUCKETS.compare_exchange(ptr::null_mut(), aligned, AcqRel, Acquire).is_err() {
        // SAFETY: allocated above with this layout, and nobody else has seen it.
        unsafe { System.dealloc(memory, layout) };
    }
    true
}

fn bucket(hash: u64) -> Option<&'static Bucket> {
    let buckets = BUCKETS.load(Acquire);
    if buckets.is_null() {
        return None;
    }
    // SAFETY: as many buckets as the index has values were mapped, zeroed, and stay.
    Some(unsafe { &*buckets.add(bucket_of(hash)) })
}

/// Remembers a block; `false` if there is no room.
pub(crate) fn insert(address: usize, chosen: &Chosen) -> bool {
    let hash = hash(address);
    let Some(bucket) = bucket(hash) else { return false };
    if FILLED.fetch_add(1, Relaxed) < MAX_SAMPLES && bucket.insert(address, chosen) {
        GROUPS[group_of(hash)].fetch_add(1, Relaxed);
        return true;
    }
    FILLED.fetch_sub(1, Relaxed);
    false
}

/// Forgets a block, if it is a chosen one.
pub(crate) fn remove(address: usize) -> Option<Chosen> {
    let hash = hash(address);
    let chosen = bucket(hash)?.remove(address)?;
    GROUPS[group_of(hash)].fetch_sub(1, Relaxed);
    FILLED.fetch_sub(1, Relaxed);
    Some(chosen)
}

pub(crate) fn each(mut each: impl FnMut(Sample)) {
    let buckets = BUCKETS.load(Acquire);
    if buckets.is_null() {
        return;
    }
    for index in 0..1 << BUCKET_BITS {
        // SAFETY: as in `bucket`.
        unsafe { &*buckets.add(index) }.each(|chosen| {
            each(Sample {
                size_bytes: chosen.size,
                weight_bytes: trials::weight_bytes(chosen.size, chosen.period),
                context: chosen.context,
                thread: chosen.thread,
                stack: chosen.stack,
            });
        });
    }
}
