//! An open section: everything known of it until it ends. Lives in a thread's frame (`section!`) or in the
//! table of open spans (`tracing`), and is reused.
//!
//! It has one owner, the thread that began it, which writes without locks; what other threads add lies apart under
//! a lock. Whoever ends it is ordered behind all of them: the registry closes a span when its last handle is
//! gone, and a `section!` stays on its thread.

pub(crate) mod flag;
mod parent;
mod stays;

use std::sync::{Mutex, MutexGuard, PoisonError};

use stepscope_core::identity::TraceId;
use stepscope_core::{PathId, Phase, SectionKind};

use crate::hot::pending_children::PendingChildren;
use crate::hot::polls::Polls;
use crate::hot::resource_usage::Reading;
use crate::shared::attrs::{Attrs, Before, Declared, Encode, FieldValue};
use crate::shared::phase_bits::{PHASE, phase_bits, phase_of};
use crate::shared::record::id_from;
use crate::shared::relaxed::RelaxedU64;
use crate::shared::trace::TraceRef;
pub(crate) use parent::{Parent, Spec};
use stays::Stays;
pub(crate) use stays::{Stay, Times};

/// What is rare: what other threads than the owner add, entries without room elsewhere, continued traces.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    stays: Stays,
    pub attrs: Attrs,
    phase: Option<Phase>,
    is_error: Option<bool>,
    /// The section around this one whose trace was full: its path, trace and span.
    pub continues: Option<(PathId, TraceId, u64)>,
    /// The trace that takes this section's children since its own is full; held.
    pub continuation: Option<TraceRef>,
}

/// Beside the number in [`Open::inside`]: see [`Open::give_room`].
const HAS_ROOM: u64 = 1 << 63;

/// Words of entries that need no lock.
const WORDS: usize = 48;

/// An open section.
#[derive(Debug)]
pub(crate) struct Open {
    /// Number of the thread that began it.
    owner: RelaxedU64,
    /// Its trace; 0 until it has begun.
    trace: RelaxedU64,
    /// What keeps it from ending where its id is another subscriber's.
    pub pending_children: PendingChildren,
    trace_id: [RelaxedU64; 2],
    span_id: RelaxedU64,
    parent_span_id: RelaxedU64,
    /// Path and callsite.
    place: RelaxedU64,
    start_ns: RelaxedU64,
    rss_start_bytes: RelaxedU64,
    /// The system's id of the owner.
    thread: RelaxedU64,
    /// Kind, phase (plus 1), flags.
    bits: RelaxedU64,
    stays: Stays,
    /// How much of `words` is in use: words, entries in units of [`ENTRY`], [`FULL`].
    used: RelaxedU64,
    words: [RelaxedU64; WORDS],
    /// Of one that may be too small: the key of the section around it, and the sections inside that are open or have
    /// left as spans.
    around: RelaxedU64,
    inside: RelaxedU64,
    /// Of an epoch: its number plus 1, 0 without one.
    epoch: RelaxedU64,
    /// The key of the span that this one keeps from ending; 0 without one.
    pending_parent: RelaxedU64,
    /// Whether anything is in the rest.
    has_rest: RelaxedU64,
    rest: Mutex<Rest>,
    /// Of whichever section has used them last.
    polls: Mutex<Polls>,
    /// What the system had counted for the owner at its begin, and at the end of the owner's first stay.
    readings: Mutex<(Reading, Option<Reading>)>,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            owner: RelaxedU64::default(),
            trace: RelaxedU64::default(),
            pending_children: PendingChildren::default(),
            trace_id: Default::default(),
            span_id: RelaxedU64::default(),
            parent_span_id: RelaxedU64::default(),
            place: RelaxedU64::default(),
            start_ns: RelaxedU64::default(),
            rss_start_bytes: RelaxedU64::default(),
            thread: RelaxedU64::default(),
            bits: RelaxedU64::default(),
            stays: Stays::default(),
            used: RelaxedU64::default(),
            words: std::array::from_fn(|_| RelaxedU64::default()),
            around: RelaxedU64::default(),
            inside: RelaxedU64::default(),
            epoch: RelaxedU64::default(),
            pending_parent: RelaxedU64::default(),
            has_rest: RelaxedU64::default(),
            rest: Mutex::default(),
            polls: Mutex::default(),
            readings: Mutex::default(),
        }
    }
}

/// How a section begins: what does not change any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub trace: TraceRef,
    pub trace_id: [u64; 2],
    pub span_id: u64,
    pub parent_span_id: u64,
    pub path: PathId,
    pub callsite: u32,
    pub kind: SectionKind,
    pub phase: Option<Phase>,
    pub flags: u64,
}

impl Open {
    /// Makes it fit for the next section, of a thread with this number and system's id.
    #[inline]
    pub(crate) fn reset(&self, owner: u64, thread: u64) {
        self.owner.set(owner);
        self.thread.set(thread);
        self.trace.set(0);
        self.bits.set(0);
        self.used.set(0);
        self.pending_parent.set(0);
        self.stays.reset();
        if self.has_rest.get() != 0 {
            self.reset_rest();
        }
    }

    #[cold]
    fn reset_rest(&self) {
        let mut rest = self.rest();
        rest.attrs.clear();
        rest.stays.reset();
        (rest.phase, rest.is_error, rest.continues, rest.continuation) = (None, None, None, None);
        self.has_rest.set(0);
    }

    #[inline]
    pub(crate) fn begin(&self, start: &Start) {
        let [high, low] = &self.trace_id;
        high.set(start.trace_id[0]);
        low.set(start.trace_id[1]);
        self.span_id.set(start.span_id);
        self.parent_span_id.set(start.parent_span_id);
        self.place.set(u64::from(start.path.0) << 32 | u64::from(start.callsite));
        // An error may have been noted before, with the fields.
        self.bits.set(self.bits.get() | start.kind as u64 | phase_bits(start.phase) | start.flags);
        self.trace.set(start.trace.to_word());
    }

    /// Notes that the record of span `key` does not end before this one.
    #[inline]
    pub(crate) fn set_pending_parent(&self, key: u64) {
        self.pending_parent.set(key);
    }

    /// The key of the span whose record does not end before this one; 0 without one.
    #[inline]
    pub(crate) fn pending_parent(&self) -> u64 {
        self.pending_parent.get()
    }

    /// Of an epoch: its number.
    pub(crate) fn set_epoch(&self, epoch: Option<u64>) {
        self.epoch.set(epoch.map_or(0, |epoch| epoch.saturating_add(1)));
    }

    /// The number of an epoch, if it has one.
    pub(crate) fn epoch(&self) -> Option<u64> {
        self.epoch.get().checked_sub(1)
    }

    /// Prepares for the case that it turns out too small, inside of the section with key `around`.
    pub(crate) fn may_be_small(&self, around: u64) {
        self.around.set(around);
        self.inside.set(0);
    }

    /// Another key of the section around, for one that may be too small.
    pub(crate) fn set_around(&self, key: u64) {
        self.around.set(key);
    }

    /// The key of the section around one that may be too small.
    pub(crate) fn around(&self) -> u64 {
        self.around.get()
    }

    /// Of one that may be too small: counts a section inside, or one less. On any thread.
    pub(crate) fn count_inside(&self, is_more: bool) {
        self.inside.count(is_more);
    }

    /// Whether nothing inside of one that may be too small needs it.
    pub(crate) fn is_hollow(&self) -> bool {
        self.inside.get() & !HAS_ROOM == 0
    }

    /// Of one that may be too small: there is room for it in the rate of spans, for what is inside. On any thread.
    pub(crate) fn give_room(&self) {
        self.inside.set_bits(HAS_ROOM);
    }

    /// Whether there is room for it.
    pub(crate) fn has_room(&self) -> bool {
        self.inside.get() & HAS_ROOM != 0
    }

    #[inline]
    pub(crate) fn set_start(&self, start_ns: u64) {
        self.start_ns.set(start_ns);
    }

    /// The resident memory at its start.
    pub(crate) fn set_rss_start(&self, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.rss_start_bytes.set(bytes);
            self.set_flag(flag::HAS_RSS);
        }
    }

    /// What the system had counted for the owner at its begin.
    pub(crate) fn set_reading(&self, reading: Reading) {
        *self.readings.lock().unwrap_or_else(PoisonError::into_inner) = (reading, None);
        self.set_flag(flag::READ);
    }

    pub(crate) fn readings(&self) -> Option<(Reading, Option<Reading>)> {
        self.has(flag::READ).then(|| *self.readings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Owner only: what the system has counted at the end of its first stay.
    pub(crate) fn set_last_reading(&self, end: Reading) {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(end);
    }

    #[inline]
    pub(crate) fn has(&self, flag: u64) -> bool {
        self.bits.get() & flag != 0
    }

    /// Owner only.
    pub(crate) fn set_flag(&self, flag: u64) {
        self.bits.set(self.bits.get() | flag);
    }

    pub(crate) fn clear_flag(&self, flag: u64) {
        self.bits.set(self.bits.get() & !flag);
    }

    #[inline]
    pub(crate) fn bits(&self) -> u64 {
        self.bits.get()
    }

    #[inline]
    pub(crate) fn kind(&self) -> SectionKind {
        SectionKind::from_index(self.bits.get() as u8).unwrap_or(SectionKind::Section)
    }

    /// Turns it into a plain section.
    pub(crate) fn make_plain(&self) {
        self.bits.set(self.bits.get() & !0xff | SectionKind::Section as u64);
    }

    pub(crate) fn phase(&self) -> Option<Phase> {
        phase_of(self.bits.get())
    }

    #[inline]
    pub(crate) fn is_owned_by(&self, thread: u64) -> bool {
        self.owner.get() == thread
    }

    #[inline]
    pub(crate) fn trace(&self) -> Option<TraceRef> {
        TraceRef::from_word(self.trace.get())
    }

    #[inline]
    pub(crate) fn trace_id_words(&self) -> [u64; 2] {
        self.trace_id.each_ref().map(RelaxedU64::get)
    }

    pub(crate) fn trace_id(&self) -> TraceId {
        id_from(self.trace_id_words())
    }

    #[inline]
    pub(crate) fn span_id(&self) -> u64 {
        self.span_id.get()
    }

    #[inline]
    pub(crate) fn parent_span_id(&self) -> u64 {
        self.parent_span_id.get()
    }

    #[inline]
    pub(crate) fn path(&self) -> PathId {
        PathId((self.place.get() >> 32) as u32)
    }

    #[inline]
    pub(crate) fn callsite(&self) -> u32 {
        self.place.get() as u32
    }

    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns.get()
    }

    #[inline]
    pub(crate) fn thread(&self) -> u64 {
        self.thread.get()
    }

    pub(crate) fn rss_start_bytes(&self) -> Option<u64> {
        self.has(flag::HAS_RSS).then(|| self.rss_start_bytes.get())
    }

    /// As the section around others; `None` before it has begun.
    #[inline]
    pub(crate) fn as_parent(&self, key: u64) -> Option<Parent> {
        self.as_parent_of_kind(key, self.kind())
    }

    /// As [`as_parent`](Self::as_parent), of a kind that is known.
    #[inline]
    pub(crate) fn as_parent_of_kind(&self, key: u64, kind: SectionKind) -> Option<Parent> {
        let trace = self.trace()?;
        Some(Parent {
            trace,
            span_id: self.span_id(),
            path: self.path(),
            kind,
            key,
            leaving: (self.bits.get() >> flag::LEAVING) as u8,
        })
    }

    /// What is rare; from the first look on it is there.
    pub(crate) fn rest(&self) -> MutexGuard<'_, Rest> {
        self.has_rest.set(1);
        // A panic while a span was being recorded leaves figures that are still worth having.
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn polls(&self) -> MutexGuard<'_, Polls> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its owner was in it before.
    #[inline]
    pub(crate) fn was_entered(&self) -> bool {
        self.stays.enters.get() != 0
    }

    /// Makes the first stay of the owner a poll interval, as long as it is the only one.
    pub(crate) fn note_first_poll(&self) {
        if self.stays.enters.get() == 1 {
            let (exit_ns, busy_ns) = (self.stays.last_exit_ns.get(), self.stays.busy_ns.get());
            self.polls().add(self.span_id(), self.thread(), exit_ns, busy_ns);
        }
    }

    #[inline]
    pub(crate) fn has_rest(&self) -> bool {
        self.has_rest.get() != 0
    }

    /// Attaches something; `owned` says whether the calling thread is the owner.
    pub(crate) fn push(&self, owned: bool, entry: impl Encode) {
        let used = self.used.get();
        let mut end = (used & WORDS_USED) as usize;
        // Behind what went to the rest, of this thread or of others, everything goes there: the order stays.
        if owned && used & FULL == 0 && !self.has_rest() {
            entry.encode(|word| {
                if let Some(slot) = self.words.get(end) {
                    slot.set(word);
                }
                end += 1;
            });
            if end <= WORDS {
                self.used.set((used & !WORDS_USED) + ENTRY + end as u64);
                return;
            }
        }
        self.push_to_rest(owned, entry);
    }

    /// As [`push`](Self::push) by the owner, for a field that the callsite declares, before anybody else knows of it.
    #[inline]
    pub(crate) fn push_declared(&self, number: usize, value: FieldValue<'_>) {
        let used = self.used.get();
        self.used.set(self.put_declared(used, number, value));
    }

    /// As [`push_declared`](Self::push_declared), for all fields that the callsite declares.
    #[inline]
    pub(crate) fn push_all_declared(&self, values: &[FieldValue<'_>]) {
        if values.is_empty() {
            return;
        }
        let fields = values.iter().enumerate();
        let used = self.used.get();
        self.used.set(fields.fold(used, |used, (number, &value)| self.put_declared(used, number, value)));
    }

    /// Puts a declared field behind what is in use: what is in use then.
    #[inline(always)]
    fn put_declared(&self, used: u64, number: usize, value: FieldValue<'_>) -> u64 {
        // (With [`FULL`], too, it is beyond the last one.)
        let free = self.words.get((used & (WORDS_USED | FULL)) as usize..);
        match free.and_then(|free| Declared(number, value).write(free)) {
            Some(words) => used + ENTRY + words as u64,
            None => self.put_declared_elsewhere(used, number, value),
        }
    }

    #[cold]
    fn put_declared_elsewhere(&self, used: u64, number: usize, value: FieldValue<'_>) -> u64 {
        self.used.set(used);
        self.push(true, Declared(number, value));
        self.used.get()
    }

    #[cold]
    fn push_to_rest(&self, owned: bool, entry: impl Encode) {
        let used = self.used.get();
        if owned {
            self.used.set(used | FULL);
        }
        // (Of what the owner adds at the same time another thread may see a part: it looks at names alone, and which of the
        // two is the later one nobody knows.)
        let words = self.words.get(..Self::words_in(used)).unwrap_or_default();
        self.rest().attrs.push(Before { entries: ((used & !FULL) / ENTRY) as u16, words }, entry);
    }

    /// How much is in use of so many words with so many entries.
    #[inline]
    pub(crate) fn used(words: usize, entries: usize) -> u64 {
        ENTRY * entries as u64 + words as u64
    }

    /// The number of words that [`used`](Self::used) told.
    #[inline]
    pub(crate) fn words_in(used: u64) -> usize {
        (used & WORDS_USED) as usize
    }

    /// Takes the entries of one that was kept elsewhere so far.
    pub(crate) fn take_words(&self, used: u64, words: &[u64]) {
        self.words.iter().zip(words).for_each(|(slot, &word)| slot.set(word));
        self.used.set(used);
    }

    /// The words of the entries that are not in the rest.
    #[inline]
    pub(crate) fn words(&self) -> &[RelaxedU64] {
        self.words.get(..Self::words_in(self.used.get())).unwrap_or_default()
    }

    /// Marks it as failed, or not. The last word counts, whoever says it.
    pub(crate) fn set_error(&self, owned: bool, is_error: bool) {
        if owned && !self.has_rest() {
            self.put_error(is_error);
        } else {
            self.rest().is_error = Some(is_error);
        }
    }

    fn put_error(&self, is_error: bool) {
        let others = self.bits.get() & !flag::IS_ERROR;
        self.bits.set(if is_error { others | flag::IS_ERROR } else { others });
    }

    /// Says what it works at after it has begun. The last word counts, whoever says it.
    pub(crate) fn set_phase(&self, owned: bool, phase: Option<Phase>) {
        if owned && !self.has_rest() {
            self.put_phase(phase);
        } else {
            self.rest().phase = phase;
        }
    }

    fn put_phase(&self, phase: Option<Phase>) {
        self.bits.set(self.bits.get() & !PHASE | phase_bits(phase));
    }

    /// Adds what one stay inside the section measured.
    #[inline]
    pub(crate) fn add(&self, owned: bool, stay: &Stay) {
        if stay.peak_bytes.is_some() && (self.was_entered() || self.has_rest()) {
            let elsewhere = if self.has_rest() { self.rest().stays.left_bytes(stay) } else { Some(0) };
            self.put(owned, &stay.above(self.stays.left_bytes(stay).zip(elsewhere)));
        } else {
            self.put(owned, stay);
        }
    }

    #[inline]
    fn put(&self, owned: bool, stay: &Stay) {
        if owned {
            self.stays.add(stay);
        } else {
            self.rest().stays.add(stay);
        }
    }

    /// Takes in what other threads have added. For the one that ends it.
    pub(crate) fn fold_rest(&self) -> Option<TraceRef> {
        let mut rest = self.rest();
        let mut total = rest.stays.total();
        if total.enters > 0 {
            if self.polls().are_of(self.span_id()) {
                self.note_first_poll();
            }
            total.cpu_ns = total.cpu_ns.filter(|_| rest.stays.are_timed());
            // What is counted is that of the owner's thread.
            self.clear_flag(flag::READ);
            self.stays.add(&total);
            rest.stays.reset();
        }
        if let Some(is_error) = rest.is_error {
            self.put_error(is_error);
        }
        if let Some(phase) = rest.phase {
            self.put_phase(Some(phase));
        }
        rest.continuation.take()
    }

    /// Whether CPU time, where there is one, is that of all stays: the level may have changed between two.
    pub(crate) fn is_timed(&self) -> bool {
        self.stays.enters.get() == 0 || self.stays.are_timed()
    }

    /// Adds the owner's first stay.
    #[inline(always)]
    pub(crate) fn add_first(&self, times: Times) {
        self.stays.enters.set(1);
        self.stays.last_exit_ns.set(times.exit_ns);
        self.stays.busy_ns.set(times.busy_ns);
        self.stays.self_busy_ns.set(times.self_busy_ns);
    }

    /// What the owner's only stay measured, if there was one and it measured nothing else.
    #[inline(always)]
    pub(crate) fn only_times(&self) -> Option<Times> {
        let stays = &self.stays;
        (stays.enters.get() == 1 && stays.has.get() == 0).then(|| Times {
            exit_ns: stays.last_exit_ns.get(),
            busy_ns: stays.busy_ns.get(),
            self_busy_ns: stays.self_busy_ns.get(),
        })
    }

    /// What all stays of the owner measured, and after [`fold_rest`](Self::fold_rest) those of others.
    #[inline]
    pub(crate) fn total(&self) -> Stay {
        self.stays.total()
    }
}

const WORDS_USED: u64 = 0xffff;
const ENTRY: u64 = 1 << 16;
/// An entry had no room.
const FULL: u64 = 1 << 32;

#[cfg(test)]
mod tests;
