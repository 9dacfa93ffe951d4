//! When a section was entered that was entered more than once: a bounded number of intervals, written down as they
//! end. One that is entered once leaves nothing here, and costs nothing.
//!
//! Each stay is an interval of its own until there is one too many: then the two neighbours with the least time
//! between them become one, the earlier ones where it is the same. So what is left apart is parted by the
//! longest pauses. A record has at most 33 more words for it, as an entry of its own.

use stepscope_core::Level;

use crate::hot::open::{Open, Stay, flag};
use crate::hot::state::ThreadState;
use crate::shared::attrs::Entry;

/// Intervals of one section.
pub(crate) const MAX_INTERVALS: usize = 8;
/// Numbers of an interval.
pub(crate) const NUMBERS: usize = 4;
/// Its bytes in an entry.
pub(crate) const BYTES: usize = 8 * NUMBERS;

/// From an entry to an exit, perhaps with others between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Interval {
    start_ns: u64,
    end_ns: u64,
    /// The system's id; 0 for several.
    thread: u64,
    /// Entries.
    count: u64,
}

/// The intervals of one section, by their starts.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// Whose they are: what another section has left here counts for nothing.
    span_id: u64,
    len: usize,
    intervals: [Interval; MAX_INTERVALS + 1],
}

impl Polls {
    /// Whether there are some of this section.
    pub(crate) fn are_of(&self, span_id: u64) -> bool {
        self.span_id == span_id && self.len > 0
    }

    /// Adds a stay of the section on a thread.
    pub(crate) fn add(&mut self, span_id: u64, thread: u64, exit_ns: u64, busy_ns: u64) {
        if self.span_id != span_id {
            (self.span_id, self.len) = (span_id, 0);
        }
        let start_ns = exit_ns.saturating_sub(busy_ns);
        let stays = self.intervals.get(..self.len).unwrap_or_default();
        // Nearly always the last one.
        let at = stays.iter().rposition(|other| other.start_ns <= start_ns).map_or(0, |before| before + 1);
        let Some(behind) = self.intervals.get_mut(at..=self.len) else { return };
        behind.rotate_right(1);
        if let Some(slot) = behind.first_mut() {
            *slot = Interval { start_ns, end_ns: exit_ns, thread, count: 1 };
        }
        self.len += 1;
        if self.len > MAX_INTERVALS {
            self.merge();
        }
    }

    /// Makes the two that are closest to each other one.
    fn merge(&mut self) {
        let pairs = self.intervals.iter().zip(self.intervals.iter().skip(1)).enumerate();
        let closest = pairs.min_by_key(|(_, (before, after))| after.start_ns.saturating_sub(before.end_ns));
        let Some((at, (&before, &after))) = closest else { return };
        let merged = Interval {
            start_ns: before.start_ns,
            end_ns: before.end_ns.max(after.end_ns),
            thread: if before.thread == after.thread { before.thread } else { 0 },
            count: before.count + after.count,
        };
        if let Some(behind) = self.intervals.get_mut(at..) {
            behind.rotate_left(1);
            if let Some(slot) = behind.first_mut() {
                *slot = merged;
            }
        }
        self.len -= 1;
    }

    /// As an entry, where all of a section's entries are in them: the level may have changed between two.
    pub(crate) fn with_entry(&self, span_id: u64, enters: u32, f: impl FnOnce(Entry<'_>)) {
        let intervals = self.intervals.get(..self.len).unwrap_or_default();
        let count: u64 = intervals.iter().map(|interval| interval.count).sum();
        if self.span_id != span_id || enters < 2 || count != u64::from(enters) {
            return;
        }
        let mut bytes = [[0; BYTES]; MAX_INTERVALS];
        for (slot, interval) in bytes.iter_mut().zip(intervals) {
            let Interval { start_ns, end_ns, thread, count } = *interval;
            for (word, number) in slot.as_chunks_mut().0.iter_mut().zip([thread, start_ns, end_ns, count]) {
                *word = number.to_le_bytes();
            }
        }
        f(Entry::Polls(bytes.get(..self.len).unwrap_or_default().as_flattened()));
    }
}

impl ThreadState {
    /// Adds what a stay inside a section has measured.
    #[inline]
    pub(crate) fn add_stay(&self, open: &Open, stay: &Stay) {
        let owned = open.is_owned_by(self.number);
        if !owned || open.was_entered() {
            self.note_poll(open, owned, stay);
        }
        open.add(owned, stay);
    }

    /// Notes a stay that is not the owner's first one.
    #[cold]
    fn note_poll(&self, open: &Open, owned: bool, stay: &Stay) {
        if !open.has(flag::EXPORTED) || !(open.has(flag::DEEP) || self.recorder.is_at(Level::Detailed)) {
            return;
        }
        if owned {
            open.note_first_poll();
            open.set_flag(flag::POLLED);
        }
        open.polls().add(open.span_id(), self.shared.id, stay.exit_ns, stay.busy_ns);
    }
}

#[cfg(test)]
mod tests;
