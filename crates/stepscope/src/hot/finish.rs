//! How a section ends: into the thread's aggregates first, then into its ring. Also the spans that no section of
//! the program is behind: the run's, and the markers that a run or an epoch has started.

use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_core::{LossReason, PathId, SectionKind, attr};

use crate::hot::open::{Open, Parent, Spec, Start, Stay, flag};
use crate::hot::rate::Rate;
use crate::hot::resource_usage::Counted;
use crate::hot::state::ThreadState;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::os::sys;
use crate::shared::aggregate::{self, MemorySums};
use crate::shared::attrs::{Encode, Entry, LeftOut, for_each_event};
use crate::shared::callsite::Source;
use crate::shared::phase_bits::PHASE;
use crate::shared::record::{self, MemoryRecord, RootRecord, SectionRecord};
use crate::shared::relaxed::RelaxedU64;
use crate::shared::ring::Rank;
use crate::shared::step_work;
use crate::shared::thread_shared::ThreadShared;
use crate::shared::trace::{Ended, TraceRef, TraceState};

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
    fn leave_out(&self, reason: LossReason) {
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

impl ThreadState {
    /// Ends the section of a span.
    #[inline]
    pub(crate) fn finish(&mut self, open: &Open) {
        if !self.finish_simple(open) {
            self.finish_any(open);
        }
    }

    /// Ends the section of a span of this thread that was entered once, measured nothing but time, and leaves; `false` if it is
    /// none.
    #[inline(always)]
    fn finish_simple(&mut self, open: &Open) -> bool {
        let bits = open.bits();
        let is_plain = bits & NOT_SIMPLE == flag::EXPORTED | SectionKind::Section as u64;
        if !is_plain || open.has_rest() || open.thread() != self.shared.id {
            return false;
        }
        let (Some(times), Some(trace)) = (open.only_times(), open.trace()) else { return false };
        if self.keeps_sums {
            let ended = aggregate::Ended {
                duration_ns: times.exit_ns.saturating_sub(open.start_ns()),
                collapsed: bits & flag::COLLAPSED != 0,
                self_busy_ns: times.self_busy_ns,
            };
            self.shared.aggregates.record(open.path().0, &ended, None);
        }
        let head = light_head(open, bits, 0, times.exit_ns);
        if !self.shared.write_light(head, rank(bits), &[times.busy_ns], open.words(), RelaxedU64::get) {
            self.export(open, trace, &Stay::from(times));
        }
        self.traces.leave(&self.recorder.traces, trace);
        true
    }

    #[inline(never)]
    fn finish_any(&mut self, open: &Open) {
        if open.has_rest() {
            self.fold_rest(open);
        }
        // An entered section ends at its last exit: a handle kept for longer does not make it longer.
        let mut total = open.total();
        if total.enters == 0 {
            total.exit_ns = now_ns();
        }
        self.finish_with(open, &total);
    }

    #[cold]
    fn fold_rest(&mut self, open: &Open) {
        if let Some(continuation) = open.fold_rest() {
            self.end_continuation(continuation);
        }
    }

    /// Whether all of a section's figures are in the words that [`write_simple`](Self::write_simple) writes.
    fn is_simple(&self, open: &Open, bits: u64, total: &Stay) -> bool {
        let has_more = bits & (flag::IS_ROOT | flag::IS_PART | flag::POLLED | flag::READ) != 0;
        let is_plain = bits & 0xff == SectionKind::Section as u64;
        let is_whole = total.enters == 1 && open.thread() == self.shared.id;
        !has_more && is_plain && is_whole && !open.has_rest() && total.cpu_ns.is_none()
    }

    /// Ends a section of the stack, which was entered once.
    #[inline]
    pub(crate) fn finish_stay(&mut self, open: &Open, stay: &Stay) {
        if open.has_rest() {
            self.fold_rest(open);
        }
        self.finish_with(open, stay);
    }

    /// Ends a section that ends at the exit of `total`.
    #[inline]
    fn finish_with(&mut self, open: &Open, total: &Stay) {
        let Some(trace) = open.trace() else { return };
        let mut bits = open.bits();
        if bits & flag::DISCARDED != 0 {
            open.make_plain();
            bits = open.bits();
        }
        if bits & flag::IS_ROOT != 0 {
            self.traces.settle(&self.recorder.traces, trace);
        }
        self.sum_up(open.path(), open.start_ns(), bits & flag::COLLAPSED != 0, total);
        let left_out = if bits & flag::MAY_BE_SMALL != 0 { self.left_out(open, trace, total) } else { None };
        if let Some(reason) = left_out {
            self.shared.leave_out(reason);
            self.hand_over(open);
        } else if bits & flag::EXPORTED != 0 {
            let is_written = self.is_simple(open, bits, total) && self.write_simple(open, bits, total);
            if !is_written {
                self.export(open, trace, total);
            }
        } else if bits & flag::LEFT_OUT != 0 {
            self.shared.leave_out(match bits & flag::LEFT_OUT {
                flag::BY_FILTER => LossReason::Filtered,
                flag::BY_SAMPLING => LossReason::SampledOut,
                _ => LossReason::Level,
            });
        }
        if bits & (flag::EXPORTED | flag::IS_ROOT) != 0 {
            self.traces.leave(&self.recorder.traces, trace);
        }
    }

    /// Adds an ended section to the sums of its path.
    #[inline(always)]
    pub(crate) fn sum_up(&self, path: PathId, start_ns: u64, collapsed: bool, total: &Stay) {
        if self.keeps_sums {
            let duration_ns = total.exit_ns.saturating_sub(start_ns);
            let ended = aggregate::Ended { duration_ns, collapsed, self_busy_ns: total.self_busy_ns };
            self.shared.aggregates.record(path.0, &ended, total.memory.as_ref());
        }
    }

    /// Why a section that might be too small leaves no span, if it leaves none: it is so, or has no room in the rate of spans,
    /// and nothing inside needs it, and no count that includes it was given. What failed is not too small.
    #[cold]
    fn left_out(&self, open: &Open, trace: TraceRef, total: &Stay) -> Option<LossReason> {
        let span_filter = self.recorder.span_filter.as_ref()?;
        let is_needed = open.has(flag::IS_PART) || !open.is_hollow();
        let duration_ns = total.exit_ns.saturating_sub(open.start_ns());
        let alloc_bytes = total.memory.map(|memory| memory.alloc_bytes);
        let is_small = !open.has(flag::IS_ERROR) && span_filter.is_small(duration_ns, alloc_bytes);
        let reason = match span_filter.rate() {
            _ if is_small && !is_needed => LossReason::Filtered,
            Some(rate) if !self.finds_room(rate, open, is_needed) => LossReason::SampledOut,
            _ => return None,
        };
        self.take_back(open, trace).then_some(reason)
    }

    /// Whether there is room in the rate of spans for a section that ends. Those around it that would not leave without it
    /// have room with it, or there is none for it.
    fn finds_room(&self, rate: &Rate, open: &Open, is_needed: bool) -> bool {
        if open.has_room() {
            rate.count(open.path());
            return true;
        }
        if is_needed {
            rate.count_beyond(open.path(), now_ns());
            return true;
        }
        let around = || std::iter::successors(self.small_around(open), |open| self.small_around(open));
        let lacking = || around().take_while(|open| !open.has_room());
        let more = u32::try_from(1 + lacking().count()).unwrap_or(u32::MAX);
        let is_admitted = rate.admits(open.path(), more, now_ns);
        if is_admitted {
            // As far as it is not another's doing meanwhile.
            lacking().for_each(Open::give_room);
        }
        is_admitted
    }

    /// The section around one that may be too small, if it may be so, too.
    fn small_around(&self, open: &Open) -> Option<&Open> {
        let around = self.find_around(open.around(), open.parent_span_id())?;
        around.has(flag::MAY_BE_SMALL).then_some(around)
    }

    /// Takes back that a section is to leave as a span, as far as no count that includes it was given.
    fn take_back(&self, open: &Open, trace: TraceRef) -> bool {
        let Some(state) = self.recorder.traces.get(trace) else { return false };
        if open.has(flag::IS_ROOT) {
            // Alone in its trace, which is closed before anybody else joins.
            let (spans, dropped) = state.close();
            return spans == 1 && dropped == 0;
        }
        let is_left_out = state.take_back_one();
        if is_left_out && let Some(around) = self.small_around(open) {
            around.count_inside(false);
        }
        is_left_out
    }

    /// The events of a section that leaves no span are those of the one around it, or of the run.
    #[cold]
    fn hand_over(&mut self, open: &Open) {
        if open.words().is_empty() && !open.has_rest() {
            return;
        }
        let mut words = std::mem::take(&mut self.scratch);
        words.extend(open.words().iter().map(RelaxedU64::get));
        if open.has_rest() {
            words.extend(open.rest().attrs.words());
        }
        // (Most have none: who is around is asked only where one is.)
        for_each_event(&words, |time_ns, is_error, text| {
            match self.find_around(open.around(), open.parent_span_id()) {
                Some(around) => {
                    let owned = around.is_owned_by(self.number);
                    around.push(owned, Entry::Event(time_ns, is_error, text));
                    if is_error {
                        around.set_error(owned, true);
                    }
                }
                None => self.recorder.orphan_events.keep(time_ns, is_error, text.to_owned()),
            }
        });
        words.clear();
        self.scratch = words;
    }

    /// Writes the record of a simple section straight into the ring; `false` if it does not fit in there in one piece.
    fn write_simple(&self, open: &Open, bits: u64, stay: &Stay) -> bool {
        let (has, figures, len) = figures_of(stay.memory.as_ref(), stay.peak_bytes);
        let mut more = [stay.busy_ns, 0, 0, 0, 0, 0];
        if let Some(slots) = more.get_mut(1..) {
            slots.copy_from_slice(&figures);
        }
        let head = light_head(open, bits, has, stay.exit_ns);
        let more = more.get(..1 + len).unwrap_or_default();
        self.shared.write_light(head, rank(bits), more, open.words(), RelaxedU64::get)
    }

    #[cold]
    fn export(&mut self, open: &Open, trace: TraceRef, total: &Stay) {
        let mut words = std::mem::take(&mut self.scratch);
        if let Some((start, end)) = open.readings().filter(|_| total.enters == 1)
            && let Some(end) =
                end.or_else(|| open.is_owned_by(self.number).then(|| self.reader.read_again(start)))
        {
            let counted = Counted { start, end };
            let duration_ns = total.exit_ns.saturating_sub(open.start_ns());
            let off_cpu_ns = duration_ns.saturating_sub(total.cpu_ns.unwrap_or(0));
            counted.encode(off_cpu_ns, |word| words.push(word));
        }
        // What only a step has.
        let step = if open.kind() == SectionKind::Step { self.source(open.callsite()) } else { None };
        self.export_with(&mut words, open, trace, total, step);
        words.clear();
        self.scratch = words;
    }

    /// As [`export`](Self::export), with room for words. `step`: the callsite of a step.
    fn export_with(
        &self,
        words: &mut Vec<u64>,
        open: &Open,
        trace: TraceRef,
        total: &Stay,
        step: Option<Source>,
    ) {
        let Some(state) = self.recorder.traces.get(trace) else { return };
        let Some(about) = self.recorder.traces.about(trace) else { return };
        let is_of_run = about.root_kind == SectionKind::Run;
        if is_of_run {
            state.end_one();
        }
        let said = words.len();
        words.extend(open.words().iter().map(RelaxedU64::get));
        if total.enters > 1 {
            open.polls()
                .with_entry(open.span_id(), total.enters, |entry| entry.encode(|word| words.push(word)));
        }
        let (mut left_out, mut continues) = (LeftOut::default(), None);
        if open.has_rest() {
            let rest = open.rest();
            words.extend(rest.attrs.words());
            left_out = rest.attrs.left_out();
            continues = rest.continues;
        }
        if let Some(source) = step {
            let duration_ns = total.exit_ns.saturating_sub(open.start_ns());
            let said = words.get(said..).unwrap_or_default();
            self.shared.work.add(about.mode, duration_ns, step_work::amounts(said, source));
        }
        let is_coarse = open.kind() != SectionKind::Section;
        let has_memory =
            is_coarse && self.recorder.tracked().has_memory() && !is_kept_for_longer(open, total.exit_ns);
        let rss_bytes = if has_memory { memory::rss_bytes() } else { None };
        let (is_root, is_part) = (open.has(flag::IS_ROOT), open.has(flag::IS_PART));
        let root = (is_root || is_part).then(|| RootRecord {
            mode: about.mode,
            announces: is_root,
            trace_spans: 0,
            trace_dropped: 0,
            left_out: None,
            step: about.step.filter(|_| !open.has(flag::DISCARDED)),
            epoch: about.epoch,
            continues: continues.map(|(path, trace, span)| (path.0, trace, span)),
        });
        let mut record = SectionRecord {
            trace_id: about.id,
            span_id: open.span_id(),
            parent_span_id: open.parent_span_id(),
            start_ns: open.start_ns(),
            end_ns: total.exit_ns,
            busy_ns: total.busy_ns,
            enters: total.enters,
            kind: open.kind(),
            phase: open.phase(),
            is_error: open.has(flag::IS_ERROR),
            callsite: open.callsite(),
            thread: open.thread(),
            left_out,
            on_foreign_thread: open.has(flag::ON_FOREIGN_THREAD),
            root,
            memory: total.memory.map(MemoryRecord::from),
            // Of a part of the stays it would pass for that of all.
            cpu_ns: total.cpu_ns.filter(|_| open.is_timed()),
            peak_bytes: total.peak_bytes,
            live_bytes: if has_memory { memory::live_bytes() } else { None },
            rss_bytes,
            rss_delta_bytes: rss_bytes
                .zip(open.rss_start_bytes())
                .map(|(end, start)| end.wrapping_sub(start)),
        };
        if is_part {
            if let Some(ended) = state.end_root(Box::new((record, words.clone()))) {
                self.write_part(state, ended);
            }
            if self.recorder.is_orphaned() {
                // At its end nobody is there who would.
                self.release(std::slice::from_ref(state));
            }
            return;
        }
        if let Some(root) = record.root.as_mut() {
            (root.trace_spans, root.trace_dropped) =
                if is_of_run { state.close_run() } else { state.close() };
            root.left_out = self.recorder.left_out(state, open.start_ns()).filter(|_| !is_of_run);
        }
        self.shared.write(&record, state, words);
    }

    /// Nothing joins a continuing trace any more, and the section that it continues does not hold it any longer.
    #[cold]
    pub(crate) fn end_continuation(&mut self, trace: TraceRef) {
        if let Some(state) = self.recorder.traces.get(trace)
            && let Some(ended) = state.end_continuation()
        {
            self.write_part(state, ended);
        }
        self.traces.leave(&self.recorder.traces, trace);
    }

    /// Writes what waits in these places for a section to end: the run ends, whether it does or not.
    pub(crate) fn release(&self, places: &[TraceState]) {
        for place in places {
            if let Some(ended) = place.release() {
                self.write_part(place, ended);
            }
        }
    }

    /// Writes a root of a continuing trace.
    fn write_part(&self, state: &TraceState, mut ended: Ended) {
        if let Some(root) = ended.0.root.as_mut().filter(|root| root.announces) {
            // When the trace began is not known: a level that was low at any time counts.
            root.left_out = self.recorder.left_out(state, 0);
        }
        self.shared.write(&ended.0, state, &ended.1);
    }

    /// Writes a zero-length span of the run's trace: it says that a run or an epoch has started, should the
    /// real span never come. Not part of the aggregates.
    pub(crate) fn mark(&mut self, source: Source, kind: SectionKind, epoch: Option<u64>) {
        let run = self.recorder.run_parent();
        let spec = Spec { kind: Some(kind), ..Spec::default() };
        let open = if self.recorder.traces.join(run.trace).is_some() {
            let span_id = self.next_span_id();
            self.section_of_run(source, &spec, run, span_id, run.span_id)
        } else {
            let Some(open) = self.mark_elsewhere(source, &spec, run) else { return };
            open
        };
        if let Some(epoch) = epoch {
            open.push(true, Entry::Own(attr::EPOCH, epoch.into()));
        }
        let trace = open.trace();
        if let Some(trace) = trace {
            self.export(&open, trace, &Stay { exit_ns: open.start_ns(), ..Stay::default() });
            self.traces.leave(&self.recorder.traces, trace);
        }
        self.spare = Some(open);
    }

    /// A mark in a trace of its own, which continues that of the run: it has no room for more. `None` where it has ended.
    #[cold]
    fn mark_elsewhere(&mut self, source: Source, spec: &Spec, run: Parent) -> Option<Box<Open>> {
        self.recorder.traces.about(run.trace)?;
        let open = self.spare.take().unwrap_or_default();
        open.reset(self.number, self.shared.id);
        let place = self.recorder.place(run.path, source, source.name(), spec);
        self.begin_elsewhere(&open, place, spec, run).then_some(open)
    }

    /// A section of the run's trace, which somebody has joined for it.
    fn section_of_run(
        &mut self,
        source: Source,
        spec: &Spec,
        run: Parent,
        span_id: u64,
        parent_span_id: u64,
    ) -> Box<Open> {
        let open = self.spare.take().unwrap_or_default();
        let parent = if parent_span_id == 0 { PathId::ROOT } else { run.path };
        let (path, callsite) = self.recorder.path(parent, source, source.name(), spec);
        let root_thread = self.recorder.traces.get(run.trace).map(TraceState::root_thread);
        let is_foreign = root_thread != Some(self.shared.id);
        open.reset(self.number, self.shared.id);
        open.begin(&Start {
            trace: run.trace,
            trace_id: [0; 2],
            span_id,
            parent_span_id,
            path,
            callsite,
            kind: spec.kind(),
            phase: None,
            flags: flag::EXPORTED | if is_foreign { flag::ON_FOREIGN_THREAD } else { 0 },
        });
        open.set_start(now_ns());
        open
    }

    /// Marks the start of the run.
    pub(crate) fn mark_run(&mut self) {
        self.mark(Source::Section(&crate::hot::recorder::RUN_STARTED), SectionKind::Run, None);
    }

    /// Ends the run: its span, and what it adds to the aggregates. A signal that ended it makes it failed.
    pub(crate) fn finish_run(&mut self, signal: Option<i32>) {
        let run = self.recorder.run_parent();
        let source = Source::Section(&crate::hot::recorder::RUN);
        let spec = Spec { kind: Some(SectionKind::Run), ..Spec::default() };
        let open = self.section_of_run(source, &spec, run, run.span_id, 0);
        open.set_flag(flag::IS_ROOT);
        open.set_start(self.recorder.run_start_ns);
        self.recorder.orphan_events.give_to(&open);
        if let Some(signal) = signal {
            open.set_error(true, true);
            open.push(true, Entry::Own(attr::ERROR_TYPE, sys::signal_name(signal).into()));
        }
        self.finish(&open);
        self.spare = Some(open);
    }
}

/// Whether a section is closed so long after its last exit, since somebody kept a handle of its span, that what the process
/// has at its close says nothing of it.
fn is_kept_for_longer(open: &Open, exit_ns: u64) -> bool {
    let duration_ns = exit_ns.saturating_sub(open.start_ns());
    now_ns().saturating_sub(exit_ns) > MAX_KEPT_NS.max(duration_ns / 10)
}

/// What passes between a last exit and a close that follow each other, on a busy machine.
const MAX_KEPT_NS: u64 = 10_000_000;

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
fn light_head(open: &Open, bits: u64, has: u64, end_ns: u64) -> [u64; record::LIGHT_WORDS] {
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

/// Of the bits of a section those that decide how it ends.
const NOT_SIMPLE: u64 = 0xff
    | flag::POLLED
    | flag::IS_ROOT
    | flag::DISCARDED
    | flag::IS_PART
    | flag::EXPORTED
    | flag::LEFT_OUT
    | flag::MAY_BE_SMALL
    | flag::READ;

#[cfg(test)]
mod tests;
