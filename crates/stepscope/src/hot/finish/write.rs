//! How records get into a thread's ring: in one piece where they are light, else packed. Which they are is decided in `finish`.

use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_core::{LossReason, SectionKind};

use crate::hot::open::{Open, flag};
use crate::shared::aggregate::MemorySums;
use crate::shared::phase_bits::PHASE;
use crate::shared::record::{self, MemoryRecord, SectionRecord};
use crate::shared::ring::Rank;
use crate::shared::thread_shared::ThreadShared;
use crate::shared::trace::TraceState;

impl ThreadShared {
    /// Counts a span that is to be exported.
    #[inline]
    pub(crate) fn emit(&self) {
        // Single writer: a load and a store are enough.
        let emitted = self.emitted.load(Ordering::Relaxed);
        self.emitted.store(emitted + 1, Ordering::Relaxed);
    }

    /// Counts a section that leaves no span on purpose.
    #[cold]
    pub(super) fn leave_out(&self, reason: LossReason) {
        if let Some(count) = self.left_out.get(reason as usize) {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Writes a record and what is attached to it into the ring.
    pub(crate) fn write(&self, record: &SectionRecord, trace: &TraceState, attached: &[u64]) {
        self.emit();
        let is_part = record.kind == SectionKind::Section && record.phase.is_none();
        let rank = match record.root {
            Some(root) if root.announces => Rank::Urgent,
            _ if is_part => Rank::Plain,
            _ => Rank::Kept,
        };
        if self.ring.overwrites() {
            self.write_over(record, trace, attached);
        } else if !self.ring.push(record.pack().words(), attached, rank) {
            self.ring_full.fetch_add(1, Ordering::Relaxed);
            trace.lose_one();
        }
    }

    /// Writes a light record straight into the ring, with `more` figures and the words of its entries; `false` if it does not
    /// fit in there in one piece.
    #[inline(always)]
    pub(crate) fn write_light<W>(
        &self,
        head: [u64; record::LIGHT_WORDS],
        rank: Rank,
        more: &[u64],
        entries: &[W],
        word: impl Fn(&W) -> u64,
    ) -> bool {
        let len = record::LIGHT_WORDS + more.len() + entries.len();
        let Some((slots, reserved)) = self.ring.reserve(len, rank) else { return false };
        let Some((first, slots)) = slots.split_first_chunk::<{ record::LIGHT_WORDS }>() else { return false };
        let Some((figures, slots)) = slots.split_at_checked(more.len()) else { return false };
        // (One by one: as a loop it takes ten instructions a word.)
        let set = |slot: &AtomicU64, word: u64| slot.store(word, Ordering::Relaxed);
        let [id_high, id_low, about, span, parent, start, end] = first;
        set(id_high, head[0]);
        set(id_low, head[1]);
        set(about, head[2]);
        set(span, head[3]);
        set(parent, head[4]);
        set(start, head[5]);
        set(end, head[6]);
        figures.iter().zip(more).for_each(|(slot, &word)| slot.store(word, Ordering::Relaxed));
        // Most entries are two words.
        let ((slots, odd_slot), (entries, odd_entry)) = (slots.as_chunks::<2>(), entries.as_chunks::<2>());
        for ([first_slot, second_slot], [first, second]) in slots.iter().zip(entries) {
            first_slot.store(word(first), Ordering::Relaxed);
            second_slot.store(word(second), Ordering::Relaxed);
        }
        odd_slot.iter().zip(odd_entry).for_each(|(slot, entry)| slot.store(word(entry), Ordering::Relaxed));
        // First: whoever takes it finds it counted.
        self.emit();
        self.ring.publish(reserved);
        true
    }

    /// Writes a record in the place of older ones, where there is no room. What became of those is found out by the
    /// background thread (`overwritten`).
    fn write_over(&self, record: &SectionRecord, trace: &TraceState, attached: &[u64]) {
        let before = u32::try_from(trace.written_by(self.id)).unwrap_or(u32::MAX);
        match self.ring.push_over(before, record.pack().words(), attached) {
            Some(dropped) => {
                trace.count_written(self.id);
                self.ring_full.fetch_add(dropped, Ordering::Relaxed);
            }
            None => {
                self.ring_full.fetch_add(1, Ordering::Relaxed);
                trace.lose_one();
            }
        }
    }
}

impl From<MemorySums> for MemoryRecord {
    fn from(memory: MemorySums) -> Self {
        let MemorySums { alloc_bytes, free_bytes, alloc_count, free_count, .. } = memory;
        Self { alloc_bytes, free_bytes, alloc_count, free_count }
    }
}

/// The flags of a record of a section with these bits.
#[inline(always)]
pub(crate) fn record_flags(bits: u64) -> u64 {
    // Kind and phase are where the record has them, two bytes further down.
    let mut flags = (bits & 0xffff) << 16;
    if bits & (flag::IS_ERROR | flag::ON_FOREIGN_THREAD) != 0 {
        flags |= if bits & flag::IS_ERROR != 0 { record::IS_ERROR } else { 0 };
        flags |= if bits & flag::ON_FOREIGN_THREAD != 0 { record::ON_FOREIGN_THREAD } else { 0 };
    }
    flags
}

/// What a record says of memory: its flags, words, and how many.
#[inline]
pub(crate) fn figures_of(memory: Option<&MemorySums>, peak_bytes: Option<u64>) -> (u64, [u64; 5], usize) {
    let (mut has, mut figures, mut len) = (0, [0; 5], 0);
    if let Some(memory) = memory {
        let [alloc_bytes, free_bytes, alloc_count, free_count, ..] = memory.words();
        has |= record::HAS_MEMORY;
        (figures, len) = ([alloc_bytes, free_bytes, alloc_count, free_count, 0], 4);
    }
    if let (Some(peak_bytes), Some(figure)) = (peak_bytes, figures.get_mut(len)) {
        has |= record::HAS_PEAK;
        *figure = peak_bytes;
        len += 1;
    }
    (has, figures, len)
}

/// What the record of a section that is light in the ring of this thread begins with; `has`: the flags of further figures.
#[inline(always)]
pub(super) fn light_head(open: &Open, bits: u64, has: u64, end_ns: u64) -> [u64; record::LIGHT_WORDS] {
    let [id_high, id_low] = open.trace_id_words();
    let has = has | record::IS_LIGHT | record::HAS_BUSY;
    let about = record_flags(bits) | has | u64::from(open.callsite()) << 32;
    [id_high, id_low, about, open.span_id(), open.parent_span_id(), open.start_ns(), end_ns]
}

/// What may be left out of a full ring.
#[inline(always)]
pub(crate) fn rank(bits: u64) -> Rank {
    if bits & PHASE == 0 { Rank::Plain } else { Rank::Kept }
}
