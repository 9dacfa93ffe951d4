//! What a thread keeps while it records: the stack of entered sections and its ids, without locks and, once warm, without
//! allocation. How sections begin is in `begin` and `roots`, how they are entered and left in `stack`, how they end in `finish`.

mod batch_waits;
mod begin;
mod roots;
mod stack;

use std::sync::Arc;

use stepscope_core::{Mode, PathId, PathTable, SectionKind};

use crate::hot::frame::Frame;
use crate::hot::open::{Open, Parent, flag};
use crate::hot::path_cache::PathCache;
use crate::hot::recorder::Recorder;
use crate::hot::resource_usage::Reader;
use crate::hot::span_ids::SpanIds;
use crate::hot::span_key::{self, SectionKeys};
use crate::hot::span_slab::Slots;
use crate::shared::callsite::Source;
use crate::shared::thread_shared::ThreadShared;
use crate::shared::trace::TracePool;
use batch_waits::BatchWaits;

/// The state of one thread for one recorder.
#[derive(Debug)]
pub(crate) struct ThreadState {
    /// The recorder's.
    pub(crate) id: u64,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) shared: Arc<ThreadShared>,
    /// Of this thread, in this recorder.
    pub(crate) number: u64,
    /// Steps that have begun on this thread, and the mode of the last one.
    pub(crate) steps: (u64, Mode),
    /// For how long it has waited for batches.
    pub(crate) batch_waits: BatchWaits,
    /// Whether ended sections are summed up.
    pub(crate) keeps_sums: bool,
    /// The first `depth` are entered.
    pub(crate) frames: Vec<Frame>,
    pub(crate) depth: usize,
    pub(crate) places: PathCache,
    /// Callsites by their numbers, as far as this thread was asked for them.
    sources: Vec<Source>,
    pub(crate) traces: TracePool,
    pub(crate) slots: Slots,
    /// Spans of another subscriber that are entered here and not recorded, each with the number of frames below it.
    strangers: Vec<(u64, usize)>,
    /// For the run's own spans; the program's sections are in the frames.
    pub(crate) spare: Option<Box<Open>>,
    /// For the entries of what is written.
    pub(crate) scratch: Vec<u64>,
    /// What the system counts for this thread.
    pub(crate) reader: Reader,
    pub(crate) span_ids: SpanIds,
    pub(crate) sections: SectionKeys,
}

/// Frames kept for further sections; those of deeper ones are given back.
pub(crate) const KEPT_FRAMES: usize = 64;

/// Frames that wait for others to be given back together: a loop may be as deep as that.
pub(crate) const SPARE_FRAMES: usize = 32;

/// Frames at once, at most: guards that are forgotten (`std::mem::forget`) leave theirs for good.
pub(crate) const MAX_FRAMES: usize = 4_096;

/// The open section with this key, of a frame of `owner` (see [`Frame::open`]) or a span.
fn find_open<'a>(
    frames: &'a [Frame],
    owner: (u64, u64),
    recorder: &'a Recorder,
    key: u64,
) -> Option<&'a Open> {
    if !span_key::is_section(key) {
        return recorder.kept_span(key);
    }
    let frame = frames.iter().rfind(|frame| frame.section.key == key)?;
    frame.open(owner, recorder)
}

impl ThreadState {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let (shared, number) = recorder.register_thread();
        let id = recorder.id;
        Self {
            id,
            span_ids: recorder.span_ids.take(),
            keeps_sums: recorder.config.sums,
            recorder,
            shared,
            number,
            steps: (0, Mode::Train),
            batch_waits: BatchWaits::default(),
            frames: Vec::with_capacity(KEPT_FRAMES),
            depth: 0,
            places: PathCache::default(),
            sources: Vec::new(),
            traces: TracePool::default(),
            slots: Slots::default(),
            strangers: Vec::new(),
            spare: None,
            scratch: Vec::new(),
            reader: Reader::default(),
            sections: SectionKeys::new(id),
        }
    }

    fn entered_frames(&self) -> &[Frame] {
        self.frames.get(..self.depth).unwrap_or_default()
    }

    /// The innermost section entered on this thread.
    #[inline]
    pub(crate) fn current(&self) -> Option<&Parent> {
        Some(&self.frames.get(self.depth.checked_sub(1)?)?.section)
    }

    /// Keys of the entered sections, innermost first, with their kinds.
    pub(crate) fn entered(&self) -> impl Iterator<Item = (u64, SectionKind)> + '_ {
        self.entered_frames().iter().rev().map(|frame| (frame.section.key, frame.section.kind))
    }

    /// Whether a step is entered on this thread.
    pub(crate) fn is_in_step(&self) -> bool {
        self.entered().any(|(_, kind)| kind == SectionKind::Step)
    }

    /// The key of the innermost section, 0 outside of all.
    pub(crate) fn around(&self) -> u64 {
        self.current().map_or(0, |section| section.key)
    }

    /// The key of the innermost section entered on this thread that leaves a span.
    pub(crate) fn innermost_leaving(&self) -> Option<u64> {
        let frame = self.entered_frames().iter().rfind(|frame| frame.section.leaves())?;
        Some(frame.section.key)
    }

    /// A span of another subscriber that is not recorded is entered here.
    pub(crate) fn enter_stranger(&mut self, key: u64) {
        self.strangers.push((key, self.depth));
    }

    /// As [`enter_stranger`](Self::enter_stranger): it is left.
    #[cold]
    pub(crate) fn leave_stranger(&mut self, key: u64) {
        if let Some(position) = self.strangers.iter().rposition(|&(stranger, _)| stranger == key) {
            self.strangers.remove(position);
        }
    }

    /// The key of the span entered last of those that are not left, sections aside; `None` where that one is not
    /// recorded.
    pub(crate) fn innermost_span(&self) -> Option<u64> {
        let position = self.innermost_position()?;
        let is_above = |&(_, below): &(u64, usize)| below > position;
        if self.strangers.last().is_some_and(is_above) {
            return None;
        }
        self.entered_frames().get(position).map(|frame| frame.section.key)
    }

    /// The key of the innermost span entered on this thread, whatever that is not recorded is entered inside of it.
    pub(crate) fn innermost_recorded_span(&self) -> Option<u64> {
        self.entered_frames().get(self.innermost_position()?).map(|frame| frame.section.key)
    }

    fn innermost_position(&self) -> Option<usize> {
        self.entered_frames().iter().rposition(|frame| !span_key::is_section(frame.section.key))
    }

    /// The open section with this key, and whether this thread is its owner.
    pub(crate) fn open(&self, key: u64) -> Option<(&Open, bool)> {
        // The key of nothing; in the table of spans it stands for a free place.
        if key == 0 {
            return None;
        }
        let owner = (self.number, self.shared.id);
        let open = find_open(self.entered_frames(), owner, &self.recorder, key)?;
        Some((open, open.is_owned_by(self.number)))
    }

    /// The callsite with this number.
    pub(crate) fn source(&mut self, callsite: u32) -> Option<Source> {
        if self.sources.len() <= callsite as usize {
            self.sources.extend(self.recorder.sources_from(self.sources.len()));
        }
        self.sources.get(callsite as usize).copied()
    }

    #[inline]
    pub(crate) fn next_span_id(&mut self) -> u64 {
        self.span_ids.next()
    }

    /// The open section with this key, if it still is the one with this id: keys of spans come back.
    pub(crate) fn find_around(&self, key: u64, span_id: u64) -> Option<&Open> {
        let (open, _) = self.open(key)?;
        (open.span_id() == span_id).then_some(open)
    }

    /// The id of the span that stands for what is inside of a section: of those that may turn out too small, that of the one around
    /// them that does not. `None` where all of them may.
    pub(crate) fn sure_span_id(&self, section: &Parent) -> Option<u64> {
        let is_it = |frame: &&Frame| frame.section.span_id == section.span_id && frame.section.leaves();
        let leaving = match section.leaves() {
            true => section,
            false => self.entered_frames().iter().rfind(is_it).map_or(section, |frame| &frame.section),
        };
        let (mut key, mut span_id) = (leaving.key, leaving.span_id);
        if leaving.leaving() & flag::MAY_BE_SMALL != 0 {
            let may_go = |open: &&Open| open.has(flag::MAY_BE_SMALL) && !open.has_room();
            while let Some(small) = self.find_around(key, span_id).filter(may_go) {
                (key, span_id) = (small.around(), small.parent_span_id());
            }
        }
        (span_id != 0).then_some(span_id)
    }
}

/// The flag of a section inside of `parent` that has its path.
#[inline(always)]
pub(crate) fn collapsed_bits(parent: PathId, path: PathId) -> u64 {
    if PathTable::is_collapsed(parent, path) { flag::COLLAPSED } else { 0 }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        // In a forked child nothing is current, and no lock of the parent's is taken.
        let is_current = self.recorder.is_current();
        if is_current {
            self.traces.give_back(&self.recorder.traces);
            self.slots.give_back(&self.recorder.own_spans);
            self.recorder.span_ids.give_back(&self.span_ids);
        }
        self.shared.retired.store(true, std::sync::atomic::Ordering::SeqCst);
        if is_current {
            self.recorder.part_with(&self.shared);
        }
    }
}

#[cfg(test)]
mod tests;
