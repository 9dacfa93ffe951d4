//! What the stays inside of a section measured: one, and all of them together.

use crate::shared::aggregate::MemorySums;
use crate::shared::relaxed::RelaxedU64;

/// What one stay inside a section (from enter to exit, on one thread) measured, or several as if they had been one: sums,
/// the highest peak, the last exit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stay {
    pub enters: u32,
    pub exit_ns: u64,
    pub busy_ns: u64,
    pub self_busy_ns: u64,
    /// A panic ended it.
    pub by_panic: bool,
    pub memory: Option<MemorySums>,
    pub peak_bytes: Option<u64>,
    pub cpu_ns: Option<u64>,
}

impl Stay {
    /// With its peak above what stays on its own thread and on others have left live, where that is known.
    pub(super) fn above(&self, left_bytes: Option<(i64, i64)>) -> Self {
        let left_bytes = left_bytes.map_or(0, |(own, other)| own.wrapping_add(other));
        let peak_bytes = self.peak_bytes.map(|peak_bytes| peak_bytes.saturating_add_signed(left_bytes));
        Self { peak_bytes, ..*self }
    }
}

/// What a stay measured that measured its time only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub exit_ns: u64,
    pub busy_ns: u64,
    pub self_busy_ns: u64,
}

impl From<Times> for Stay {
    fn from(Times { exit_ns, busy_ns, self_busy_ns }: Times) -> Self {
        Self { enters: 1, exit_ns, busy_ns, self_busy_ns, ..Self::default() }
    }
}

/// What all stays measured together.
#[derive(Debug, Default)]
pub(super) struct Stays {
    pub(super) enters: RelaxedU64,
    pub(super) last_exit_ns: RelaxedU64,
    pub(super) busy_ns: RelaxedU64,
    pub(super) self_busy_ns: RelaxedU64,
    /// Which of the figures below there are.
    pub(super) has: RelaxedU64,
    memory: [RelaxedU64; 6],
    peak_bytes: RelaxedU64,
    cpu_ns: RelaxedU64,
    /// Stays with CPU time: the level may have changed between two.
    cpu_stays: RelaxedU64,
}

const HAS_MEMORY: u64 = 1;
const HAS_PEAK: u64 = 1 << 1;
const HAS_CPU: u64 = 1 << 2;

impl Stays {
    /// The other figures are not read before they are set.
    #[inline]
    pub(super) fn reset(&self) {
        self.enters.set(0);
        self.has.set(0);
    }

    #[inline]
    pub(super) fn add(&self, stay: &Stay) {
        let before = self.enters.get();
        self.enters.set(before.saturating_add(u64::from(stay.enters)));
        if before == 0 {
            self.busy_ns.set(stay.busy_ns);
            self.self_busy_ns.set(stay.self_busy_ns);
            self.last_exit_ns.set(stay.exit_ns);
        } else {
            self.busy_ns.add(stay.busy_ns);
            self.self_busy_ns.add(stay.self_busy_ns);
            self.last_exit_ns.set(self.last_exit_ns.get().max(stay.exit_ns));
        }
        if stay.memory.is_some() || stay.peak_bytes.is_some() || stay.cpu_ns.is_some() {
            self.add_figures(stay);
        }
    }

    fn add_figures(&self, stay: &Stay) {
        let has = self.has.get();
        if let Some(memory) = &stay.memory {
            let pairs = self.memory.iter().zip(memory.words());
            if has & HAS_MEMORY == 0 {
                pairs.for_each(|(word, value)| word.set(value));
            } else {
                pairs.for_each(|(word, value)| word.add_wrapping(value));
            }
        }
        if let Some(peak_bytes) = stay.peak_bytes {
            let before = if has & HAS_PEAK == 0 { 0 } else { self.peak_bytes.get() };
            self.peak_bytes.set(before.max(peak_bytes));
        }
        if let Some(cpu_ns) = stay.cpu_ns {
            let word = |word: &RelaxedU64| if has & HAS_CPU == 0 { 0 } else { word.get() };
            self.cpu_ns.set(word(&self.cpu_ns).saturating_add(cpu_ns));
            self.cpu_stays.set(word(&self.cpu_stays).saturating_add(u64::from(stay.enters)));
        }
        let flag = |is_there: bool, flag: u64| if is_there { flag } else { 0 };
        let now = has
            | flag(stay.memory.is_some(), HAS_MEMORY)
            | flag(stay.peak_bytes.is_some(), HAS_PEAK)
            | flag(stay.cpu_ns.is_some(), HAS_CPU);
        self.has.set(now);
    }

    /// What all stays together had left live when `next` began; `None` where one of them was still going on, as then nobody
    /// knows.
    #[cold]
    pub(super) fn left_bytes(&self, next: &Stay) -> Option<i64> {
        if self.enters.get() == 0 || self.has.get() & HAS_MEMORY == 0 {
            return Some(0);
        }
        let [alloc_bytes, free_bytes, ..] = self.memory.each_ref().map(RelaxedU64::get);
        let left = alloc_bytes.wrapping_sub(free_bytes).cast_signed();
        (self.last_exit_ns.get() <= next.exit_ns.saturating_sub(next.busy_ns)).then_some(left)
    }

    /// Whether CPU time, where there is one, is that of all stays.
    pub(super) fn are_timed(&self) -> bool {
        self.cpu_stays.get() == self.enters.get()
    }

    /// As if all stays had been one; nothing without any.
    #[inline]
    pub(super) fn total(&self) -> Stay {
        let mut stay = Stay::default();
        let enters = self.enters.get();
        if enters > 0 {
            stay.enters = enters.min(u64::from(u32::MAX)) as u32;
            (stay.exit_ns, stay.busy_ns) = (self.last_exit_ns.get(), self.busy_ns.get());
            stay.self_busy_ns = self.self_busy_ns.get();
        }
        if self.has.get() != 0 {
            self.put_figures(&mut stay);
        }
        stay
    }

    fn put_figures(&self, stay: &mut Stay) {
        let has = |flag: u64| self.has.get() & flag != 0;
        stay.memory =
            has(HAS_MEMORY).then(|| MemorySums::from_words(self.memory.each_ref().map(RelaxedU64::get)));
        stay.peak_bytes = has(HAS_PEAK).then(|| self.peak_bytes.get());
        stay.cpu_ns = has(HAS_CPU).then(|| self.cpu_ns.get());
    }
}
