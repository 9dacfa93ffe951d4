//! The record of an ended section: what travels through a thread's ring to the background thread, as 64-bit
//! words. Figures that were not measured take no room. The attached entries (`attrs`) follow it.

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase, SectionKind};

use crate::shared::attrs::LeftOut;

/// An ended section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub trace_id: TraceId,
    pub span_id: u64,
    /// 0 for a root.
    pub parent_span_id: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy_ns: u64,
    pub enters: u32,
    pub kind: SectionKind,
    pub phase: Option<Phase>,
    pub is_error: bool,
    pub callsite: u32,
    pub thread: u64,
    /// Entries that did not fit.
    pub left_out: LeftOut,
    /// On a span of another thread than its root's.
    pub on_foreign_thread: bool,
    pub root: Option<RootRecord>,
    pub memory: Option<MemoryRecord>,
    pub cpu_ns: Option<u64>,
    pub peak_bytes: Option<u64>,
    pub live_bytes: Option<u64>,
    pub rss_bytes: Option<u64>,
    /// Two's complement.
    pub rss_delta_bytes: Option<u64>,
    /// By sample: not in the ring, but added by the background thread.
    pub rss_peak_bytes: Option<u64>,
}

/// What only a root of a trace says. A trace that continues a full one has a root for each section that the
/// full one had no room for; the last of them to end announces the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootRecord {
    pub mode: Mode,
    /// Whether it says how many spans the trace has.
    pub announces: bool,
    /// It belongs to a deep step, or is one.
    pub is_deep: bool,
    pub trace_spans: u32,
    pub trace_dropped: u32,
    /// Traces that continue it, where that is told.
    pub trace_parts: Option<u32>,
    /// Sections left out on purpose, where the run's level does not say it.
    pub left_out: Option<u32>,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    /// Path of the section that the trace continues, and that section's identity.
    pub continues: Option<(u32, TraceId, u64)>,
}

/// Allocations inside the section, nested ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryRecord {
    pub alloc_bytes: u64,
    pub free_bytes: u64,
    pub alloc_count: u64,
    pub free_count: u64,
}

/// Words that every record has.
pub(crate) const WORDS: usize = 10;

/// Words of a record of a section that began and was entered once, on the thread whose ring it is in: without what follows
/// from that. It has no root, and its callsite where others have nothing.
pub(crate) const LIGHT_WORDS: usize = 7;

/// Words of a record that has everything: itself, its root, memory, figures, and the entries that did not fit.
const MAX_WORDS: usize = WORDS + 9 + 4 + 5 + 1;

/// A record as words, without an allocation.
#[derive(Debug)]
pub(crate) struct Packed {
    words: [u64; MAX_WORDS],
    len: usize,
}

impl Packed {
    #[inline]
    fn add<const N: usize>(&mut self, words: [u64; N]) {
        if let Some(slots) = self.words.get_mut(self.len..self.len + N) {
            slots.copy_from_slice(&words);
            self.len += N;
        }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.get(..self.len).unwrap_or_default()
    }
}

const HAS_ROOT: u64 = 1 << 0;
const HAS_STEP: u64 = 1 << 1;
const HAS_EPOCH: u64 = 1 << 2;
const HAS_CONTINUES: u64 = 1 << 3;
pub(crate) const HAS_MEMORY: u64 = 1 << 4;
pub(crate) const IS_ERROR: u64 = 1 << 5;
pub(crate) const ON_FOREIGN_THREAD: u64 = 1 << 6;
/// The optional figures take the bits from here on, in the order of `SectionRecord::optional`.
const FIRST_FIGURE: u32 = 7;
pub(crate) const HAS_PEAK: u64 = 1 << (FIRST_FIGURE + 1);
/// It has [`LIGHT_WORDS`].
pub(crate) const IS_LIGHT: u64 = 1 << 12;
/// Of a light one: one word more says how long it was entered, where that is not all of its time.
pub(crate) const HAS_BUSY: u64 = 1 << 13;
const HAS_LEFT_OUT: u64 = 1 << 14;
const HAS_PARTS: u64 = 1 << 15;

fn id_words(id: &TraceId) -> [u64; 2] {
    let bits = u128::from_be_bytes(*id);
    [(bits >> 64) as u64, bits as u64]
}

/// The trace id in two words, the first one first.
pub(crate) fn id_from(words: [u64; 2]) -> TraceId {
    (u128::from(words[0]) << 64 | u128::from(words[1])).to_be_bytes()
}

#[cfg(test)]
impl Default for SectionRecord {
    fn default() -> Self {
        Self {
            trace_id: [0; 16],
            span_id: 0,
            parent_span_id: 0,
            start_ns: 0,
            end_ns: 0,
            busy_ns: 0,
            enters: 0,
            kind: SectionKind::Section,
            phase: None,
            is_error: false,
            callsite: 0,
            thread: 0,
            left_out: LeftOut::default(),
            on_foreign_thread: false,
            root: None,
            memory: None,
            cpu_ns: None,
            peak_bytes: None,
            live_bytes: None,
            rss_bytes: None,
            rss_delta_bytes: None,
            rss_peak_bytes: None,
        }
    }
}

impl SectionRecord {
    fn optional(&self) -> [Option<u64>; 5] {
        [self.cpu_ns, self.peak_bytes, self.live_bytes, self.rss_bytes, self.rss_delta_bytes]
    }

    /// The record as words.
    pub(crate) fn pack(&self) -> Packed {
        let figures = self.optional();
        let mut flags = 0;
        let mut set = |condition: bool, flag: u64| flags |= if condition { flag } else { 0 };
        if let Some(root) = &self.root {
            set(true, HAS_ROOT);
            set(root.step.is_some(), HAS_STEP);
            set(root.epoch.is_some(), HAS_EPOCH);
            set(root.continues.is_some(), HAS_CONTINUES);
            set(root.trace_parts.is_some(), HAS_PARTS);
        }
        set(self.memory.is_some(), HAS_MEMORY);
        set(self.is_error, IS_ERROR);
        set(self.on_foreign_thread, ON_FOREIGN_THREAD);
        set(self.left_out != LeftOut::default(), HAS_LEFT_OUT);
        for (position, figure) in (FIRST_FIGURE..).zip(&figures) {
            set(figure.is_some(), 1 << position);
        }
        let phase = self.phase.map_or(0, |phase| phase as u64 + 1);
        let [id_high, id_low] = id_words(&self.trace_id);
        let mut packed = Packed { words: [0; MAX_WORDS], len: 0 };
        packed.add([
            id_high,
            id_low,
            flags | (self.kind as u64) << 16 | phase << 24,
            self.span_id,
            self.parent_span_id,
            self.start_ns,
            self.end_ns,
            self.busy_ns,
            u64::from(self.enters) << 32 | u64::from(self.callsite),
            self.thread,
        ]);
        if let Some(root) = &self.root {
            packed.add([
                u64::from(root.trace_spans) << 32 | u64::from(root.trace_dropped),
                root.mode as u64
                    | u64::from(root.announces) << 8
                    | u64::from(root.is_deep) << 9
                    | root.left_out.map_or(0, |count| u64::from(count) + 1) << 16,
            ]);
            let parts = root.trace_parts.map(u64::from);
            let numbers = [root.step, root.epoch, parts];
            numbers.into_iter().flatten().for_each(|number| packed.add([number]));
            if let Some((path, trace, span)) = root.continues {
                let [trace_high, trace_low] = id_words(&trace);
                packed.add([u64::from(path), trace_high, trace_low, span]);
            }
        }
        if let Some(memory) = &self.memory {
            packed.add([memory.alloc_bytes, memory.free_bytes, memory.alloc_count, memory.free_count]);
        }
        figures.into_iter().flatten().for_each(|figure| packed.add([figure]));
        if flags & HAS_LEFT_OUT != 0 {
            packed.add([self.left_out.to_word()]);
        }
        packed
    }

    /// Reads a record from the ring of the thread with this id; what follows it is returned with it.
    #[inline]
    pub(crate) fn unpack(words: &[u64], thread: u64) -> Option<(Self, &[u64])> {
        let mut words = Words(words);
        let trace_id = id_from([words.next()?, words.next()?]);
        let flags = words.next()?;
        let has = |flag: u64| flags & flag != 0;
        let mut record = Self {
            trace_id,
            span_id: words.next()?,
            parent_span_id: words.next()?,
            start_ns: words.next()?,
            end_ns: words.next()?,
            busy_ns: 0,
            enters: 1,
            kind: SectionKind::from_index((flags >> 16) as u8)?,
            phase: ((flags >> 24) as u8).checked_sub(1).and_then(Phase::from_index),
            is_error: has(IS_ERROR),
            callsite: (flags >> 32) as u32,
            thread,
            left_out: LeftOut::default(),
            on_foreign_thread: has(ON_FOREIGN_THREAD),
            root: None,
            memory: None,
            cpu_ns: None,
            peak_bytes: None,
            live_bytes: None,
            rss_bytes: None,
            rss_delta_bytes: None,
            rss_peak_bytes: None,
        };
        if has(IS_LIGHT) {
            let all_ns = record.end_ns.saturating_sub(record.start_ns);
            record.busy_ns = words.next_if(has(HAS_BUSY))?.unwrap_or(all_ns);
        } else {
            record.busy_ns = words.next()?;
            let packed = words.next()?;
            (record.enters, record.callsite) = ((packed >> 32) as u32, packed as u32);
            record.thread = words.next()?;
        }
        if has(HAS_ROOT) {
            let (counts, mode) = (words.next()?, words.next()?);
            record.root = Some(RootRecord {
                announces: mode >> 8 & 1 == 1,
                is_deep: mode >> 9 & 1 == 1,
                left_out: (mode >> 16).checked_sub(1).map(|count| count as u32),
                trace_spans: (counts >> 32) as u32,
                trace_dropped: counts as u32,
                mode: Mode::from_index(mode as u8)?,
                step: words.next_if(has(HAS_STEP))?,
                epoch: words.next_if(has(HAS_EPOCH))?,
                trace_parts: words.next_if(has(HAS_PARTS))?.map(|parts| parts as u32),
                continues: if has(HAS_CONTINUES) {
                    Some((words.next()? as u32, id_from([words.next()?, words.next()?]), words.next()?))
                } else {
                    None
                },
            });
        }
        if has(HAS_MEMORY) {
            record.memory = Some(MemoryRecord {
                alloc_bytes: words.next()?,
                free_bytes: words.next()?,
                alloc_count: words.next()?,
                free_count: words.next()?,
            });
        }
        let mut figure = |position: u32| words.next_if(has(1 << (FIRST_FIGURE + position)));
        record.cpu_ns = figure(0)?;
        record.peak_bytes = figure(1)?;
        record.live_bytes = figure(2)?;
        record.rss_bytes = figure(3)?;
        record.rss_delta_bytes = figure(4)?;
        record.left_out = LeftOut::from_word(words.next_if(has(HAS_LEFT_OUT))?.unwrap_or(0));
        Some((record, words.0))
    }
}

struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// The next word if the record has it; the outer `None` means that it is missing.
    fn next_if(&mut self, condition: bool) -> Option<Option<u64>> {
        if condition { self.next().map(Some) } else { Some(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> SectionRecord {
        SectionRecord {
            trace_id: std::array::from_fn(|i| i as u8 + 1),
            span_id: u64::MAX,
            parent_span_id: 3,
            start_ns: 4,
            end_ns: 5,
            busy_ns: 6,
            enters: 7,
            kind: SectionKind::Step,
            phase: Some(Phase::Other),
            is_error: true,
            callsite: 8,
            thread: 9,
            left_out: LeftOut { attributes: 10, events: u16::MAX, links: 1 },
            on_foreign_thread: true,
            root: Some(RootRecord {
                mode: Mode::Inference,
                announces: true,
                is_deep: true,
                trace_spans: 11,
                trace_dropped: 12,
                left_out: Some(u32::MAX),
                step: Some(13),
                epoch: Some(0),
                continues: Some((14, [15; 16], 16)),
                trace_parts: Some(27),
            }),
            memory: Some(MemoryRecord { alloc_bytes: 17, free_bytes: 18, alloc_count: 19, free_count: 20 }),
            cpu_ns: Some(21),
            peak_bytes: Some(22),
            live_bytes: Some(23),
            rss_bytes: Some(24),
            rss_delta_bytes: Some(u64::MAX),
            rss_peak_bytes: None,
        }
    }

    #[test]
    fn every_combination_of_optional_parts_survives() {
        for bits in 0..1u32 << 11 {
            let has = |bit: u32| bits & 1 << bit != 0;
            let mut expected = record();
            if let Some(root) = &mut expected.root {
                root.step = root.step.filter(|_| has(1));
                root.epoch = root.epoch.filter(|_| has(2));
                root.continues = root.continues.filter(|_| has(3));
                root.trace_parts = root.trace_parts.filter(|_| has(3));
                root.announces = has(3);
                root.is_deep = has(1);
                root.left_out = root.left_out.filter(|_| has(2));
            }
            expected.root = expected.root.filter(|_| has(0));
            expected.memory = expected.memory.filter(|_| has(4));
            expected.cpu_ns = expected.cpu_ns.filter(|_| has(5));
            expected.peak_bytes = expected.peak_bytes.filter(|_| has(6));
            expected.live_bytes = expected.live_bytes.filter(|_| has(7));
            expected.rss_bytes = expected.rss_bytes.filter(|_| has(8));
            expected.rss_delta_bytes = expected.rss_delta_bytes.filter(|_| has(9));
            if !has(10) {
                expected.left_out = LeftOut::default();
            }
            let mut words = expected.pack().words().to_vec();
            words.push(99);
            assert_eq!(SectionRecord::unpack(&words, 1), Some((expected, &[99][..])));
            for cut in 0..words.len() - 1 {
                assert_eq!(SectionRecord::unpack(&words[..cut], 1), None, "{cut} of {}", words.len());
            }
        }
    }
}
