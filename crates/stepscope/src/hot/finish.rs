//! How a section ends: into the thread's aggregates first, then into its ring. How records are written there is in `write`, the
//! run's own spans are in `run`.

mod run;
mod write;

use stepscope_core::{LossReason, PathId, SectionKind};

use crate::hot::open::{Open, Stay, flag};
use crate::hot::rate::Rate;
use crate::hot::resource_usage::Counted;
use crate::hot::state::ThreadState;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::aggregate;
use crate::shared::attrs::{Encode, Entry, LeftOut, for_each_event};
use crate::shared::callsite::Source;
use crate::shared::record::{MemoryRecord, RootRecord, SectionRecord};
use crate::shared::relaxed::RelaxedU64;
use crate::shared::step_work;
use crate::shared::trace::{Ended, TraceRef, TraceState};
use write::light_head;
pub(crate) use write::{figures_of, rank, record_flags};

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
        if open.has(flag::DEEP) && open.has(flag::IS_ROOT) && open.kind() == SectionKind::Section {
            self.stand_beside(open);
        }
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
        if open.has(flag::DEEP) && open.has(flag::IS_ROOT) {
            self.end_deep(open, total, step.is_some());
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
            is_deep: open.has(flag::DEEP),
            trace_spans: 0,
            trace_dropped: 0,
            trace_parts: None,
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
            rss_peak_bytes: None,
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
            root.trace_parts = state.close_parts(root.continues.is_some());
            // What lasts for longer than the deep step has sections that leave no span.
            let is_whole = root.is_deep && (step.is_some() || self.recorder.deep_steps.is_open());
            let left_out = self.recorder.left_out(state, open.start_ns(), is_whole);
            root.left_out = left_out.filter(|_| !is_of_run);
        }
        self.shared.write(&record, state, words);
    }

    /// A root ends that was recorded as a part of a deep step: as that one, or beside it.
    #[cold]
    fn end_deep(&self, open: &Open, total: &Stay, is_step: bool) {
        if self.recorder.deep_steps.is_it(open.span_id()) {
            self.recorder.end_deep_step();
        }
        if is_step && self.keeps_sums {
            let duration_ns = total.exit_ns.saturating_sub(open.start_ns());
            let ended = aggregate::Ended { duration_ns, ..aggregate::Ended::default() };
            self.shared.deep_steps.record(open.path().0, &ended, None);
        }
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
            root.left_out = self.recorder.left_out(state, 0, root.is_deep);
        }
        self.shared.write(&ended.0, state, &ended.1);
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
