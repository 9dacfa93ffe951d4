//! Bytes allocated so far by section and stack, by sample, without locks: a place is taken by a compare and exchange of its key and
//! kept for ever. Bounded; what finds no place is in the rest. Which blocks are sampled is decided in `trials`.
#![expect(unsafe_code, reason = "the table is mapped once and never unmapped")]

use crate::live::Stack;
use crate::live::mapped::Mapped;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Places of sections and stacks; as many as stacks are kept.
const PLACES: usize = 16_384;
/// Places that are looked at for one of them.
const LOOKED_AT: usize = 64;
/// In each key, so that none is 0.
const TAKEN: u64 = 1 << 63;

/// What was allocated in one section by one stack since sampling began, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocated {
    /// The section, as the [context](crate::live::Context) said; 0 where it did not, and of the rest.
    pub section: u32,
    /// The stack, for [`stack`](crate::live::stack); `None` where there was no room for it, and of the rest.
    pub stack: Option<Stack>,
    /// Bytes; of a block that grows its growth alone.
    pub bytes: u64,
    /// Blocks.
    pub blocks: u64,
}

#[derive(Debug)]
struct Sums {
    bytes: AtomicU64,
    /// In thousandths: a sample stands for no whole number of blocks.
    milliblocks: AtomicU64,
}

impl Sums {
    fn add(&self, bytes: u64, milliblocks: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.milliblocks.fetch_add(milliblocks, Relaxed);
    }

    fn read(&self, section: u32, stack: Option<Stack>) -> Allocated {
        let blocks = self.milliblocks.load(Relaxed).div_ceil(1_000);
        Allocated { section, stack, bytes: self.bytes.load(Relaxed), blocks }
    }
}

#[derive(Debug)]
struct Place {
    /// Section and stack; 0 while it is free.
    key: AtomicU64,
    sums: Sums,
}

// SAFETY: atomic integers, which may all be 0.
static TABLE: Mapped<[Place; PLACES]> = unsafe { Mapped::new() };
static REST: Sums = Sums { bytes: AtomicU64::new(0), milliblocks: AtomicU64::new(0) };

/// Maps the table, if it is not there yet.
pub(crate) fn prepare() -> bool {
    TABLE.prepare()
}

fn table() -> Option<&'static [Place; PLACES]> {
    TABLE.get()
}

fn key(section: u32, stack: Option<Stack>) -> u64 {
    TAKEN | u64::from(section) << 32 | stack.map_or(0, |Stack(number)| u64::from(number) + 1)
}

/// Adds to what a section and stack have allocated.
pub(crate) fn add(section: u32, stack: Option<Stack>, bytes: u64, milliblocks: u64) {
    place(key(section, stack)).unwrap_or(&REST).add(bytes, milliblocks);
}

fn place(key: u64) -> Option<&'static Sums> {
    let table = table()?;
    let first = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    for probe in 0..LOOKED_AT {
        let place = table.get(first.wrapping_add(probe) % PLACES)?;
        let found = match place.key.load(Relaxed) {
            0 => place.key.compare_exchange(0, key, Relaxed, Relaxed).err().unwrap_or(key),
            found => found,
        };
        if found == key {
            return Some(&place.sums);
        }
    }
    None
}

/// Hands over what each section and stack have allocated, and the rest, if there is any.
pub(crate) fn each(mut each: impl FnMut(Allocated)) {
    for place in table().into_iter().flatten() {
        let key = place.key.load(Relaxed);
        if key != 0 {
            #[expect(clippy::cast_possible_truncation, reason = "its two halves")]
            let (section, stack) = (((key & !TAKEN) >> 32) as u32, key as u32);
            each(place.sums.read(section, stack.checked_sub(1).map(Stack)));
        }
    }
    let rest = REST.read(0, None);
    if rest.bytes > 0 {
        each(rest);
    }
}
