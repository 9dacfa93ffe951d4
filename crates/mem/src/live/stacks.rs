//! Stacks by number, each kept once, without locks: an index from hashes to numbers, and the frames of each number. Bounded;
//! nothing is forgotten, and nothing allocated after the start.
#![expect(unsafe_code, reason = "the tables are mapped once and never unmapped")]

use crate::live::mapped::Mapped;
use crate::live::{MAX_FRAMES, Stack};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// So many different stacks are kept.
const MAX_STACKS: usize = 16_384;
/// Places of the index: twice as many, so that looking for one ends soon.
const INDEX: usize = 2 * MAX_STACKS;
/// Places that are looked at for one stack.
const LOOKED_AT: usize = 64;

/// All zeros is an empty one.
#[derive(Debug)]
struct Tables {
    index: [Place; INDEX],
    stacks: [Frames; MAX_STACKS],
    /// Numbers that are taken.
    used: AtomicU32,
}

#[derive(Debug)]
struct Place {
    /// The stack's hash; 0 for none.
    hash: AtomicU64,
    /// Its number plus 1; 0 while it is being written, and for ever if there was no number left.
    number: AtomicU32,
}

#[derive(Debug)]
struct Frames {
    addresses: [AtomicUsize; MAX_FRAMES],
    /// How many there are; published last.
    length: AtomicUsize,
}

// SAFETY: atomic integers, which may all be 0.
static TABLES: Mapped<Tables> = unsafe { Mapped::new() };

pub(crate) fn prepare() -> bool {
    TABLES.prepare()
}

fn tables() -> Option<&'static Tables> {
    TABLES.get()
}

/// The number of a stack; `None` if it is new and there is no room.
pub(crate) fn intern(frames: &[usize]) -> Option<Stack> {
    let tables = tables()?;
    let hash = hash(frames);
    for probe in 0..LOOKED_AT {
        #[expect(clippy::cast_possible_truncation, reason = "only its low bits are used")]
        let place = tables.index.get((hash as usize).wrapping_add(probe) % INDEX)?;
        let found = match place.hash.load(Acquire) {
            0 => match place.hash.compare_exchange(0, hash, AcqRel, Acquire) {
                Ok(_) => return tables.write(place, frames),
                Err(other) => other,
            },
            other => other,
        };
        if found == hash {
            // 0 while another thread writes it: this one goes without.
            return place.number.load(Acquire).checked_sub(1).map(Stack);
        }
    }
    None
}

impl Tables {
    fn write(&self, place: &Place, frames: &[usize]) -> Option<Stack> {
        let number = self.used.fetch_add(1, Relaxed);
        let Some(kept) = usize::try_from(number).ok().and_then(|at| self.stacks.get(at)) else {
            self.used.fetch_sub(1, Relaxed);
            return None;
        };
        for (to, &from) in kept.addresses.iter().zip(frames) {
            to.store(from, Relaxed);
        }
        kept.length.store(frames.len(), Release);
        place.number.store(number + 1, Release);
        Some(Stack(number))
    }
}

pub(crate) fn get(Stack(number): Stack, into: &mut [usize; MAX_FRAMES]) -> &[usize] {
    let kept = tables().zip(usize::try_from(number).ok()).and_then(|(tables, at)| tables.stacks.get(at));
    let length = kept.map_or(0, |kept| {
        for (to, from) in into.iter_mut().zip(&kept.addresses) {
            *to = from.load(Relaxed);
        }
        kept.length.load(Acquire)
    });
    into.get(..length).unwrap_or(&[])
}

/// FNV-1a by words, mixed at the end, never 0.
fn hash(frames: &[usize]) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64 ^ frames.len() as u64;
    for &frame in frames {
        hash = (hash ^ frame as u64).wrapping_mul(0x0000_0100_0000_01B3);
        hash ^= hash >> 29;
    }
    (hash ^ (hash >> 32)).max(1)
}
