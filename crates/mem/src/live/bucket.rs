//! A few chosen blocks, shared without locks: a slot is taken by a compare and exchange of its address, written, and published by
//! its address. Who frees a block takes it out; who reads them all meanwhile sees each block whole or not at all.

use crate::live::{Context, Stack};
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};

/// Slots of a bucket.
pub(crate) const SLOTS: usize = if cfg!(loom) { 1 } else { 8 };

/// No block is at these addresses: the slot is free, or somebody writes it.
const FREE: usize = 0;
const WRITTEN: usize = 1;

/// A block that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub size: u64,
    pub period: u64,
    pub context: Context,
    pub thread: u32,
    pub stack: Option<Stack>,
}

/// Blocks whose addresses have some bits of their hash in common. All zeros is an empty one.
#[derive(Debug)]
pub(crate) struct Bucket {
    addresses: [AtomicUsize; SLOTS],
    slots: [Slot; SLOTS],
}

#[derive(Debug)]
struct Slot {
    size: AtomicU64,
    period: AtomicU64,
    step: AtomicU64,
    section: AtomicU32,
    thread: AtomicU32,
    /// The stack's number plus 1; 0 for none.
    stack: AtomicU32,
    /// Odd while somebody writes the slot.
    version: AtomicU32,
}

impl Slot {
    fn write(&self, chosen: &Chosen) {
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        self.size.store(chosen.size, Relaxed);
        self.period.store(chosen.period, Relaxed);
        self.step.store(chosen.context.step, Relaxed);
        self.section.store(chosen.context.section, Relaxed);
        self.thread.store(chosen.thread, Relaxed);
        self.stack.store(chosen.stack.map_or(0, |Stack(number)| number.saturating_add(1)), Relaxed);
        self.version.store(version.wrapping_add(2), Release);
    }

    fn read(&self) -> Chosen {
        Chosen {
            size: self.size.load(Relaxed),
            period: self.period.load(Relaxed),
            context: Context { section: self.section.load(Relaxed), step: self.step.load(Relaxed) },
            thread: self.thread.load(Relaxed),
            stack: self.stack.load(Relaxed).checked_sub(1).map(Stack),
        }
    }
}

impl Bucket {
    #[cfg(loom)]
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for the models alone, which build this file by themselves")
    )]
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        let slot = || Slot {
            size: zero(),
            period: zero(),
            step: zero(),
            section: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            stack: AtomicU32::new(0),
            version: AtomicU32::new(0),
        };
        Self {
            addresses: std::array::from_fn(|_| AtomicUsize::new(FREE)),
            slots: std::array::from_fn(|_| slot()),
        }
    }

    /// `false` if all slots are taken.
    pub(crate) fn insert(&self, address: usize, chosen: &Chosen) -> bool {
        for (place, slot) in self.addresses.iter().zip(&self.slots) {
            if place.compare_exchange(FREE, WRITTEN, Acquire, Relaxed).is_ok() {
                slot.write(chosen);
                place.store(address, Release);
                return true;
            }
        }
        false
    }

    /// What was remembered of the block, if it is here. Only the thread that frees a block looks for it: nobody else takes it
    /// out meanwhile.
    pub(crate) fn remove(&self, address: usize) -> Option<Chosen> {
        let at = self.addresses.iter().position(|place| place.load(Relaxed) == address)?;
        let (place, slot) = (self.addresses.get(at)?, self.slots.get(at)?);
        let chosen = slot.read();
        place.store(FREE, Release);
        Some(chosen)
    }

    pub(crate) fn each(&self, mut each: impl FnMut(&Chosen)) {
        for (place, slot) in self.addresses.iter().zip(&self.slots) {
            let address = place.load(Acquire);
            if address == FREE || address == WRITTEN {
                continue;
            }
            let version = slot.version.load(Acquire);
            let chosen = slot.read();
            fence(Acquire);
            // Another block may have come into the slot meanwhile.
            if version % 2 == 0 && slot.version.load(Relaxed) == version && place.load(Relaxed) == address {
                each(&chosen);
            }
        }
    }
}
