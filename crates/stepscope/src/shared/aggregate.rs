//! Exact sums per call path, kept by the thread that ends sections and read by the background thread
//! while it goes on: single-writer atomics under a sequence lock, so nobody ever waits for anybody. Names
//! of paths live in the recorder; this module knows numbers only.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::os::memory::own_call;
use crate::shared::sequence::{ATTEMPTS, Sequence};
use crate::shared::sync::atomic::{AtomicU64, Ordering, fence};

use stepscope_core::histogram::{self, BUCKETS_PER_OCTAVE, OCTAVES};
use stepscope_core::{Histogram, Moments};

/// Most call paths of a run; beyond, sections count under `(other)`.
pub(crate) const MAX_PATHS: usize = 4_096;

const CHUNK: usize = 64;

/// What one ended section adds to its path, beside its allocations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub duration_ns: u64,
    /// Whether it is a part of an enclosing section of the same path: only its self figures count.
    pub collapsed: bool,
    pub self_busy_ns: u64,
}

impl Ended {
    /// Its allocations as they count: inclusive ones not twice.
    fn counted(&self, memory: &MemorySums) -> MemorySums {
        if !self.collapsed {
            return *memory;
        }
        let MemorySums { self_alloc_bytes, self_free_bytes, .. } = *memory;
        MemorySums { self_alloc_bytes, self_free_bytes, ..MemorySums::default() }
    }
}

/// Allocation figures of one section or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemorySums {
    pub alloc_bytes: u64,
    pub free_bytes: u64,
    pub alloc_count: u64,
    pub free_count: u64,
    pub self_alloc_bytes: u64,
    pub self_free_bytes: u64,
}

impl MemorySums {
    /// In the order of the fields.
    #[inline]
    pub(crate) fn words(&self) -> [u64; 6] {
        [
            self.alloc_bytes,
            self.free_bytes,
            self.alloc_count,
            self.free_count,
            self.self_alloc_bytes,
            self.self_free_bytes,
        ]
    }

    /// The inverse of [`words`](Self::words).
    #[inline]
    pub(crate) fn from_words(words: [u64; 6]) -> Self {
        let [alloc_bytes, free_bytes, alloc_count, free_count, self_alloc_bytes, self_free_bytes] = words;
        Self { alloc_bytes, free_bytes, alloc_count, free_count, self_alloc_bytes, self_free_bytes }
    }
}

/// Everything known of one path: the sum over threads of what they hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub moments: Moments,
    pub self_busy_ns: u128,
    pub memory: Option<MemorySums>,
    /// Of the sections counted, those that it is of.
    pub memory_count: u64,
    pub histogram: Histogram,
}

impl Sums {
    #[cfg(test)]
    pub(crate) fn record(&mut self, ended: &Ended, memory: Option<&MemorySums>) {
        if !ended.collapsed {
            self.moments.record(ended.duration_ns);
            self.histogram.record(ended.duration_ns);
        }
        self.self_busy_ns += u128::from(ended.self_busy_ns);
        if let Some(memory) = memory {
            self.add_memory(&ended.counted(memory));
            self.memory_count += u64::from(!ended.collapsed);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
        self.self_busy_ns += other.self_busy_ns;
        self.memory_count += other.memory_count;
        if let Some(memory) = &other.memory {
            self.add_memory(memory);
        }
    }

    /// What came on top of `earlier`, an earlier copy of the same. The extremes are exact where they are new, and
    /// else the middle of the outermost bucket that has grown.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let before: BTreeMap<i32, u64> = earlier.histogram.buckets().collect();
        let mut histogram = Histogram::default();
        histogram.add_zeros(self.histogram.zeros().saturating_sub(earlier.histogram.zeros()));
        for (index, count) in self.histogram.buckets() {
            let grown = count.saturating_sub(before.get(&index).copied().unwrap_or(0));
            if grown > 0 {
                histogram.add_to_bucket(index, grown);
            }
        }
        let (now, then) = (&self.moments, &earlier.moments);
        let is_first = then.count == 0;
        let bound = |value: Option<u64>| value.unwrap_or(0).clamp(now.min, now.max.max(now.min));
        let last = histogram.count().checked_sub(1);
        let moments = Moments {
            count: now.count.saturating_sub(then.count),
            sum: now.sum.saturating_sub(then.sum),
            sum_of_squares: now.sum_of_squares.saturating_sub(then.sum_of_squares),
            min: if is_first || now.min < then.min { now.min } else { bound(histogram.value_at(0)) },
            max: if is_first || now.max > then.max {
                now.max
            } else {
                bound(last.and_then(|last| histogram.value_at(last)))
            },
        };
        let memory = self.memory.map(|memory| {
            let before = earlier.memory.unwrap_or_default().words();
            let mut words = memory.words();
            words.iter_mut().zip(before).for_each(|(word, before)| *word = word.saturating_sub(before));
            MemorySums::from_words(words)
        });
        let self_busy_ns = self.self_busy_ns.saturating_sub(earlier.self_busy_ns);
        let memory_count = self.memory_count.saturating_sub(earlier.memory_count);
        Self { moments, self_busy_ns, memory, memory_count, histogram }
    }

    fn add_memory(&mut self, other: &MemorySums) {
        let sums = self.memory.get_or_insert_default();
        sums.alloc_bytes += other.alloc_bytes;
        sums.free_bytes += other.free_bytes;
        sums.alloc_count += other.alloc_count;
        sums.free_count += other.free_count;
        sums.self_alloc_bytes += other.self_alloc_bytes;
        sums.self_free_bytes += other.self_free_bytes;
    }
}

/// The cells of one path, in the order of the fields of [`Cells`].
#[derive(Debug)]
struct PathCells {
    sequence: Sequence,
    count: AtomicU64,
    sum_ns: AtomicU64,
    self_busy_ns: AtomicU64,
    squares_low: AtomicU64,
    squares_high: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    /// Twice the number of sections that `memory` is of, and 1 where it is of any.
    has_memory: AtomicU64,
    memory: [AtomicU64; 6],
    zeros: AtomicU64,
    /// The last duration, which is in no bucket yet; 0 without one. Its bucket is found when the next one comes: from a clock
    /// that was just read it is a long way to there, on which a processor cannot go ahead.
    pending_ns: AtomicU64,
    octaves: [OnceLock<Octave>; OCTAVES],
}

type Octave = Box<[AtomicU64; BUCKETS_PER_OCTAVE]>;

/// A first use.
#[cold]
fn make(octave: &OnceLock<Octave>) -> &Octave {
    let _own = own_call();
    octave.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))))
}

impl PathCells {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            sequence: Sequence::new(),
            count: zero(),
            sum_ns: zero(),
            self_busy_ns: zero(),
            squares_low: zero(),
            squares_high: zero(),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: zero(),
            has_memory: zero(),
            memory: std::array::from_fn(|_| zero()),
            zeros: zero(),
            pending_ns: zero(),
            octaves: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// Owner only.
    #[inline(always)]
    fn record(&self, ended: &Ended, memory: Option<&MemorySums>) {
        let begun = self.sequence.begin();
        if !ended.collapsed {
            self.record_duration(ended.duration_ns);
        }
        add(&self.self_busy_ns, ended.self_busy_ns);
        if let Some(memory) = memory {
            self.record_memory(&ended.counted(memory), ended.collapsed);
        }
        self.sequence.end(begun);
    }

    fn record_memory(&self, memory: &MemorySums, is_collapsed: bool) {
        let before = self.has_memory.load(Ordering::Relaxed);
        self.has_memory.store((before | 1) + if is_collapsed { 0 } else { 2 }, Ordering::Relaxed);
        for (cell, value) in self.memory.iter().zip(memory.words()) {
            add(cell, value);
        }
    }

    #[inline(always)]
    fn record_duration(&self, value: u64) {
        add(&self.count, 1);
        add(&self.sum_ns, value);
        let square = u128::from(value) * u128::from(value);
        let (low, carry) = self.squares_low.load(Ordering::Relaxed).overflowing_add(square as u64);
        self.squares_low.store(low, Ordering::Relaxed);
        add(&self.squares_high, (square >> 64) as u64 + u64::from(carry));
        if value < self.min_ns.load(Ordering::Relaxed) {
            self.min_ns.store(value, Ordering::Relaxed);
        }
        if value > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.store(value, Ordering::Relaxed);
        }
        let pending = self.pending_ns.load(Ordering::Relaxed);
        self.pending_ns.store(value, Ordering::Relaxed);
        if value == 0 {
            add(&self.zeros, 1);
        }
        if let Some(index) = histogram::bucket(pending) {
            let (octave, position) = histogram::slot(index);
            let counts = self.octaves.get(octave).map(|lock| lock.get().unwrap_or_else(|| make(lock)));
            if let Some(cell) = counts.and_then(|counts| counts.get(position)) {
                add(cell, 1);
            }
        }
    }

    /// A consistent copy; `None` when the owner kept writing during every attempt.
    fn snapshot(&self) -> Option<Sums> {
        let whole = || {
            let mut histogram = self.buckets();
            if let Some(index) = histogram::bucket(self.pending_ns.load(Ordering::Relaxed)) {
                histogram.add_to_bucket(index, 1);
            }
            Sums { histogram, ..self.numbers() }
        };
        self.sequence.read(whole)
    }

    /// As [`snapshot`](Self::snapshot), of an owner that hardly pauses, too: its numbers are of one moment, its
    /// buckets of the time right after it, and so hold at least what the numbers count.
    fn near_snapshot(&self) -> Option<Sums> {
        let numbers = self.sequence.read(|| self.numbers())?;
        // What was pending then is in its bucket once the owner has counted another duration, and begun with the one behind it.
        for _ in 0..ATTEMPTS {
            if self.count.load(Ordering::Relaxed).wrapping_sub(numbers.moments.count) >= 2 {
                fence(Ordering::Acquire);
                return Some(Sums { histogram: self.buckets(), ..numbers });
            }
            crate::shared::sync::spin_loop();
        }
        None
    }

    /// The histogram without what is pending.
    fn buckets(&self) -> Histogram {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let mut histogram = Histogram::default();
        histogram.add_zeros(get(&self.zeros));
        for (octave, counts) in self.octaves.iter().enumerate() {
            for (position, cell) in counts.get().into_iter().flat_map(|counts| counts.iter().enumerate()) {
                let hits = get(cell);
                if hits > 0 {
                    histogram.add_to_bucket(histogram::index(octave, position), hits);
                }
            }
        }
        histogram
    }

    /// All but the histogram.
    fn numbers(&self) -> Sums {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let count = get(&self.count);
        let memory = self.memory.each_ref().map(get);
        Sums {
            moments: Moments {
                count,
                sum: u128::from(get(&self.sum_ns)),
                sum_of_squares: u128::from(get(&self.squares_high)) << 64
                    | u128::from(get(&self.squares_low)),
                min: if count == 0 { 0 } else { get(&self.min_ns) },
                max: get(&self.max_ns),
            },
            self_busy_ns: u128::from(get(&self.self_busy_ns)),
            memory: (get(&self.has_memory) > 0).then(|| MemorySums::from_words(memory)),
            memory_count: get(&self.has_memory) / 2,
            histogram: Histogram::default(),
        }
    }
}

fn add(cell: &AtomicU64, value: u64) {
    // Single writer: a load and a store are enough, and cheaper than a read-modify-write.
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(value), Ordering::Relaxed);
}

type Chunk = Box<[OnceLock<Box<PathCells>>; CHUNK]>;

/// The aggregates of one thread, by path.
#[derive(Debug)]
pub(crate) struct Aggregates {
    chunks: Box<[OnceLock<Chunk>]>,
}

impl Aggregates {
    pub(crate) fn new() -> Self {
        Self { chunks: (0..MAX_PATHS / CHUNK).map(|_| OnceLock::new()).collect() }
    }

    /// Adds an ended section with its allocations, where they are known. Owner only.
    #[inline(always)]
    pub(crate) fn record(&self, path: u32, ended: &Ended, memory: Option<&MemorySums>) {
        let path = path as usize;
        if let Some(cells) = self.cells(path).or_else(|| self.make_cells(path)) {
            cells.record(ended, memory);
        }
    }

    #[inline]
    fn cells(&self, path: usize) -> Option<&PathCells> {
        self.chunks.get(path / CHUNK)?.get()?.get(path % CHUNK)?.get().map(Box::as_ref)
    }

    /// A first use.
    #[cold]
    fn make_cells(&self, path: usize) -> Option<&PathCells> {
        let _own = own_call();
        let new_chunk = || Box::new(std::array::from_fn(|_| OnceLock::new()));
        let chunk = self.chunks.get(path / CHUNK)?.get_or_init(new_chunk);
        Some(chunk.get(path % CHUNK)?.get_or_init(|| Box::new(PathCells::new())))
    }

    /// Hands a consistent copy of every path that has values to `visit`; `None` for a path that its owner updates
    /// too fast to be copied.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u32, Option<Sums>)) {
        self.each(|path, cells| visit(path, cells.snapshot()));
    }

    /// Hands what [`PathCells::near_snapshot`] reads of every path to `visit`.
    #[cfg(loom)]
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for the models alone, which build this file by themselves")
    )]
    pub(crate) fn for_each_nearly(&self, mut visit: impl FnMut(Option<Sums>)) {
        self.each(|_, cells| visit(cells.near_snapshot()));
    }

    /// As [`for_each`](Self::for_each), trying again while `wait` says so: it is told how often it was asked.
    pub(crate) fn for_each_patiently(
        &self,
        wait: impl Fn(usize) -> bool,
        mut visit: impl FnMut(u32, Option<Sums>),
    ) {
        self.each(|path, cells| {
            let (mut sums, mut rounds) = (cells.snapshot(), 0);
            while sums.is_none() && wait(rounds) {
                sums = cells.snapshot().or_else(|| cells.near_snapshot());
                rounds += 1;
            }
            visit(path, sums);
        });
    }

    /// Hands the longest duration of every path to `visit`, in nanoseconds: that of a moment, and nothing beside it.
    #[cfg(all(feature = "metrics", not(loom)))]
    pub(crate) fn for_each_longest(&self, mut visit: impl FnMut(u32, u64)) {
        self.each(|path, cells| visit(path, cells.max_ns.load(Ordering::Relaxed)));
    }

    /// A consistent copy of one path; absent where it has no values, and within where its owner updates it too fast to be copied.
    #[cfg(all(feature = "metrics", not(loom)))]
    pub(crate) fn sums(&self, path: u32) -> Option<Option<Sums>> {
        Some(self.cells(path as usize)?.snapshot())
    }

    fn each(&self, mut visit: impl FnMut(u32, &PathCells)) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            for (offset, cells) in chunk.get().into_iter().flat_map(|chunk| chunk.iter().enumerate()) {
                if let Some(cells) = cells.get() {
                    visit((number * CHUNK + offset) as u32, cells);
                }
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn ended(duration_ns: u64) -> Ended {
        Ended { duration_ns, collapsed: duration_ns.is_multiple_of(3), self_busy_ns: duration_ns / 2 }
    }

    fn memory(duration_ns: u64) -> Option<MemorySums> {
        duration_ns.is_multiple_of(2).then_some(MemorySums {
            alloc_bytes: duration_ns,
            free_bytes: 1,
            alloc_count: 2,
            free_count: 1,
            self_alloc_bytes: 3,
            self_free_bytes: 4,
        })
    }

    #[test]
    fn cells_hold_what_a_plain_sum_holds() {
        let aggregates = Aggregates::new();
        let mut expected = Sums::default();
        for value in (0..5_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 50 + 10)) {
            aggregates.record(4_095, &ended(value), memory(value).as_ref());
            expected.record(&ended(value), memory(value).as_ref());
        }
        let mut seen = Vec::new();
        aggregates.for_each(|path, sums| seen.push((path, sums)));
        assert_eq!(seen, [(4_095, Some(expected))]);
    }

    #[test]
    fn what_came_since_is_what_was_recorded_since() {
        let (mut whole, mut later) = (Sums::default(), Sums::default());
        let value = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 50 + 10);
        let record = |sums: &mut Sums, value: u64| sums.record(&ended(value), memory(value).as_ref());
        (0..1_000).for_each(|i| record(&mut whole, value(i)));
        let earlier = whole.clone();
        for i in 1_000..3_000 {
            record(&mut whole, value(i));
            record(&mut later, value(i));
        }
        let mut since = whole.since(&earlier);
        let near = |a: u64, b: u64| (a as f64 - b as f64).abs() <= b as f64 * histogram::RELATIVE_ERROR + 1.0;
        assert!(near(since.moments.min, later.moments.min), "{since:?}");
        assert!(near(since.moments.max, later.moments.max), "{since:?}");
        (since.moments.min, since.moments.max) = (later.moments.min, later.moments.max);
        assert_eq!(since, later);
        assert_eq!(whole.since(&Sums::default()), whole);
        assert_eq!(whole.since(&whole).moments.count, 0);
        // Whatever is new and beyond what was is known exactly.
        let mut beyond = whole.clone();
        record(&mut beyond, u64::MAX - 2);
        assert_eq!(beyond.since(&whole).moments.max, u64::MAX - 2);
    }

    #[test]
    fn a_reader_sees_whole_records_only() {
        let aggregates = Arc::new(Aggregates::new());
        let writer = {
            let aggregates = Arc::clone(&aggregates);
            std::thread::Builder::new()
                .name("writer".into())
                .spawn(move || {
                    (0..300_000).for_each(|_| aggregates.record(7, &ended(10), memory(10).as_ref()))
                })
                .unwrap()
        };
        while !writer.is_finished() {
            if let Some(near) = aggregates.cells(7).and_then(PathCells::near_snapshot) {
                assert!(near.histogram.count() >= near.moments.count);
                assert_eq!(near.moments.sum, u128::from(near.moments.count) * 10);
            }
            aggregates.for_each(|_, sums| {
                let Some(sums) = sums else { return };
                let count = u128::from(sums.moments.count);
                assert_eq!(sums.moments.sum, count * 10);
                assert_eq!(sums.moments.sum_of_squares, count * 100);
                assert_eq!(u128::from(sums.histogram.count()), count);
                assert_eq!(sums.memory.map(|memory| u128::from(memory.alloc_count)), Some(count * 2));
            });
        }
        writer.join().unwrap();
    }
}
