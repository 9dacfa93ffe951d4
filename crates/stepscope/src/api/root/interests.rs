//! What the inner subscriber of the root said of each callsite when it was asked: a fixed table, read without locks.

use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::Metadata;
use tracing::subscriber::Interest;

/// Callsites that are remembered; of others the inner subscriber is asked each time.
const CAPACITY: usize = 1 << 13;

/// Entries that a callsite may have.
const NEIGHBOURS: usize = 16;

/// Whether something of a callsite is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Never,
    /// To be asked each time.
    Sometimes,
    Always,
}

/// Low bits of an entry, which the address of a callsite's description has not.
const INTEREST: usize = 3;
const _: () = assert!(align_of::<Metadata<'static>>() > INTEREST);

/// See the module. An entry is the address of a callsite's description, and in its low bits the interest: 0 for
/// sometimes, 1 for never, 2 for always.
#[derive(Debug)]
pub(super) struct Interests {
    entries: Box<[AtomicUsize]>,
}

#[inline]
fn neighbours(address: usize) -> impl Iterator<Item = usize> {
    // Descriptions are statics, some dozens of bytes apart.
    let first = (address >> 3) ^ (address >> 13);
    (0..NEIGHBOURS).map(move |offset| first.wrapping_add(offset) % CAPACITY)
}

impl Interests {
    pub(super) fn new() -> Self {
        Self { entries: (0..CAPACITY).map(|_| AtomicUsize::new(0)).collect() }
    }

    #[inline]
    pub(super) fn get(&self, metadata: &Metadata<'_>) -> Wanted {
        let address = std::ptr::from_ref(metadata).addr();
        for index in neighbours(address) {
            let entry = self.entries.get(index).map_or(0, |entry| entry.load(Ordering::Relaxed));
            if entry & !INTEREST == address {
                return match entry & INTEREST {
                    1 => Wanted::Never,
                    2 => Wanted::Always,
                    _ => Wanted::Sometimes,
                };
            }
            if entry == 0 {
                break;
            }
        }
        Wanted::Sometimes
    }

    /// Remembers what was said last, where there is room.
    pub(super) fn set(&self, metadata: &'static Metadata<'static>, interest: &Interest) {
        let address = std::ptr::from_ref(metadata).addr();
        let entry = address
            | match interest {
                interest if interest.is_never() => 1,
                interest if interest.is_always() => 2,
                _ => 0,
            };
        for place in neighbours(address).filter_map(|index| self.entries.get(index)) {
            let ours = |found: usize| (found == 0 || found & !INTEREST == address).then_some(entry);
            if place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, ours).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Descriptions of callsites, as many as wanted; they live as long as the test process.
    fn descriptions(count: usize) -> Vec<&'static Metadata<'static>> {
        struct Place;
        impl tracing::callsite::Callsite for Place {
            fn set_interest(&self, _: Interest) {}
            fn metadata(&self) -> &Metadata<'_> {
                unreachable!("never registered")
            }
        }
        static PLACE: Place = Place;
        let describe = |_| {
            let fields = tracing::field::FieldSet::new(&[], tracing::callsite::Identifier(&PLACE));
            let (level, kind) = (tracing::Level::INFO, tracing::metadata::Kind::SPAN);
            let metadata = Metadata::new("name", "target", level, None, None, None, fields, kind);
            &*Box::leak(Box::new(metadata))
        };
        (0..count).map(describe).collect()
    }

    #[test]
    fn the_last_word_counts_and_what_has_no_room_is_asked_each_time() {
        let (interests, callsites) = (Interests::new(), descriptions(3 * CAPACITY));
        let said = |number: usize| match number % 3 {
            0 => (Interest::never(), Wanted::Never),
            1 => (Interest::always(), Wanted::Always),
            _ => (Interest::sometimes(), Wanted::Sometimes),
        };
        assert_eq!(interests.get(callsites[0]), Wanted::Sometimes);
        for round in 0..2 {
            for (number, metadata) in callsites.iter().enumerate() {
                interests.set(metadata, &said(number + round).0);
            }
        }
        let mut remembered = 0;
        for (number, metadata) in callsites.iter().enumerate() {
            let (got, expected) = (interests.get(metadata), said(number + 1).1);
            assert!(got == expected || got == Wanted::Sometimes, "{number}");
            remembered += usize::from(got == expected);
        }
        assert!((CAPACITY / 2..callsites.len()).contains(&remembered), "{remembered}");
    }
}
