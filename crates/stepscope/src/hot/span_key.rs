//! Keys of open sections: a span has the id that its subscriber gave it, a `section!` and a span of the root subscriber
//! have keys of ours, and so has a slot of the table of spans whose span is gone elsewhere, or may be. They are told apart
//! by the bits in which a registry's ids have the number of a thread, of which it has at most 4,096: ours have larger
//! ones. (Its ids have all other bits in use, the highest ones, too.)

/// What ours have, and no id of a registry.
const OURS: u64 = 1 << 50;
/// Beside that, what those of `section!` have.
const SECTION: u64 = 1 << 49;
/// Beside that, what those of slots have.
const SLOT: u64 = 1 << 48;
/// All bits of a thread's number.
const THREAD: u64 = 0x1fff << THREAD_SHIFT;
const THREAD_SHIFT: u32 = 38;
const THREAD_BITS: u32 = 13;

/// The keys of a thread's `section!`s, one after the other.
#[derive(Debug)]
pub(crate) struct SectionKeys {
    last: u64,
}

impl SectionKeys {
    /// They begin elsewhere in each recorder, so that a guard that outlives the run ends nothing in the next one.
    pub(crate) fn new(recorder_id: u64) -> Self {
        Self { last: of_section(recorder_id << THREAD_SHIFT) }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.last += 1;
        if self.last & LOW == 0 {
            self.last = of_section(next_block(self.last));
        }
        self.last
    }
}

/// The number of the first section in the block behind a key that has run over into the bits of a thread.
#[cold]
fn next_block(key: u64) -> u64 {
    (key.wrapping_sub(1) >> (THREAD_SHIFT + THREAD_BITS)).wrapping_add(1) << THREAD_SHIFT
}

/// The key of a thread's `section!` with this number.
fn of_section(number: u64) -> u64 {
    spread(number) | OURS | SECTION
}

/// The bits of a number below a thread's.
const LOW: u64 = (1 << THREAD_SHIFT) - 1;

/// The key of a span of the root subscriber with this number, of 51 bits.
#[inline]
pub(crate) fn of_own_span(number: u64) -> u64 {
    spread(number) | OURS
}

/// The key of a slot of the table of spans, for a span that keeps what is in there.
pub(crate) fn of_slot(number: usize) -> u64 {
    spread(number as u64) | OURS | SLOT
}

/// In the place of a span's id, once nobody is to find it by that any more.
pub(crate) const DETACHED: u64 = OURS | SLOT | SECTION;

/// Whether it is a key of ours, whatever for: no registry gives such an id.
pub(crate) fn is_ours(key: u64) -> bool {
    key & OURS != 0
}

/// The number of the slot that it is the key of.
pub(crate) fn slot(key: u64) -> Option<usize> {
    (key & THREAD == OURS | SLOT).then(|| number(key) as usize)
}

#[inline]
pub(crate) fn is_section(key: u64) -> bool {
    key & THREAD == OURS | SECTION
}

#[inline]
pub(crate) fn is_own_span(key: u64) -> bool {
    key & THREAD == OURS
}

/// The number behind a key.
#[inline]
pub(crate) fn number(key: u64) -> u64 {
    let low = key & ((1 << THREAD_SHIFT) - 1);
    low | key >> (THREAD_SHIFT + THREAD_BITS) << THREAD_SHIFT
}

/// A number in the bits that are not a thread's; without those that have no room.
#[inline]
fn spread(number: u64) -> u64 {
    let low = number & ((1 << THREAD_SHIFT) - 1);
    low | number >> THREAD_SHIFT << (THREAD_SHIFT + THREAD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_and_lead_back() {
        for number in [0, 1, 77, (1 << 38) - 1, 1 << 38, (1 << 51) - 1] {
            let keys = [of_section(number), of_own_span(number), of_slot(number as usize)];
            // Each is of one class, and no other.
            let classes = keys.map(|key| [is_section(key), is_own_span(key), slot(key).is_some()]);
            assert_eq!(classes, [[true, false, false], [false, true, false], [false, false, true]]);
            assert_eq!(keys.map(self::number), [number; 3]);
            assert_eq!(slot(keys[2]), Some(number as usize));
            assert!(keys.iter().all(|&key| is_ours(key) && key != DETACHED));
        }
        assert!(!is_section(DETACHED) && !is_own_span(DETACHED) && slot(DETACHED).is_none());
        let firsts = [1, 2, 8_191].map(|recorder| SectionKeys::new(recorder).next());
        assert!(firsts.iter().all(|&key| is_section(key)) && firsts.is_sorted() && firsts[0] != firsts[1]);
        // Beyond the bits below a thread's they go on above.
        let mut keys = SectionKeys { last: of_section((7 << 38) + (1 << 38) - 2) };
        assert_eq!(
            [keys.next(), keys.next(), keys.next()],
            [-1, 0, 1].map(|n| of_section((8u64 << 38).wrapping_add_signed(n)))
        );
        // The largest id of a registry: its last thread, and all other bits.
        let largest = !THREAD | 4_095 << THREAD_SHIFT;
        for id in [0, largest] {
            assert!(!is_ours(id) && !is_section(id) && !is_own_span(id) && slot(id).is_none());
        }
    }
}
