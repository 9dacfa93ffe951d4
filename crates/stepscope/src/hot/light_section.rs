//! Sections of `section!` that live in their frame alone: how they begin and end, in as few words written as can be, for what
//! they cost is what they write. What needs more (kinds, filters, further levels, fields without end, whatever is told
//! to them later) is in `state` and `finish`.

use stepscope_core::SectionKind;

use crate::hot::finish::{figures_of, rank, record_flags};
use crate::hot::frame::{Form, Frame};
use crate::hot::open::{Parent, Stay, flag};
use crate::hot::recorder::Gate;
use crate::hot::state::{KEPT_FRAMES, ThreadState, collapsed_bits};
use crate::os::clock::now_ns;
use crate::shared::aggregate::Ended;
use crate::shared::attrs::{FieldValue, LeftOut};
use crate::shared::callsite::{Callsite, Source};
use crate::shared::phase_bits::phase_of;
use crate::shared::record::{self, MemoryRecord, SectionRecord};

impl ThreadState {
    /// Enters a section in its frame alone; `None` if it needs more than that, or its place is not known yet.
    #[inline(always)]
    pub(crate) fn enter_light(
        &mut self,
        callsite: &'static Callsite,
        values: &[FieldValue<'_>],
    ) -> Option<u64> {
        let (entered, free) = self.frames.split_at_mut_checked(self.depth)?;
        let (parent, frame) = (&entered.last()?.section, free.first_mut()?);
        if !parent.takes_work() {
            return None;
        }
        let place = self.places.near_ref(parent.path, Source::Section(callsite).address())?;
        let mut bits = collapsed_bits(parent.path, place.path);
        let (mut form, mut span_id) = (Form::Sums, parent.span_id);
        if !self.recorder.is_gate(Gate::Closed) {
            if !self.recorder.is_gate(Gate::Open) || parent.leaving() & flag::EXPORTED == 0 {
                return None;
            }
            frame.light.put(values)?;
            let thread = self.shared.id;
            if self.traces.join_from(&self.recorder.traces, parent.trace, thread)? {
                bits |= flag::ON_FOREIGN_THREAD;
            }
            bits |= callsite.phase_bits | flag::EXPORTED;
            frame.light.parent_span_id = parent.span_id;
            frame.light.callsite = place.callsite;
            (form, span_id) = (Form::Light, self.span_ids.next());
        }
        frame.light.bits = bits;
        let key = self.sections.next();
        let leaving = (bits >> flag::LEAVING) as u8;
        let section = Parent {
            trace: parent.trace,
            span_id,
            path: place.path,
            kind: SectionKind::Section,
            key,
            leaving,
        };
        self.depth += 1;
        let counters = self.recorder.counters();
        frame.begin(section, form, counters);
        frame.enter_ns = now_ns();
        Some(key)
    }

    /// Leaves and ends the section with this key, if it is the innermost one, lives in its frame alone, and no panic may have
    /// ended it.
    #[inline(always)]
    pub(crate) fn end_light(&mut self, key: u64, exit_ns: u64) -> bool {
        let Some([.., outer, frame]) = self.frames.get_mut(..self.depth) else { return false };
        let form = frame.form.get();
        let is_rare = form == Form::Whole || self.depth >= KEPT_FRAMES || std::thread::panicking();
        if frame.section.key != key || is_rare {
            return false;
        }
        let busy_ns = exit_ns.saturating_sub(frame.enter_ns);
        outer.nested_busy_ns = outer.nested_busy_ns.wrapping_add(busy_ns);
        self.depth -= 1;
        let (frame, shared, trace) = (&*frame, &*self.shared, frame.section.trace);
        let bits = frame.light.bits;
        if self.keeps_sums {
            let collapsed = bits & flag::COLLAPSED != 0;
            let self_busy_ns = busy_ns.saturating_sub(frame.nested_busy_ns);
            let ended = Ended { duration_ns: busy_ns, collapsed, self_busy_ns };
            shared.aggregates.record(frame.section.path.0, &ended, None);
        }
        if form == Form::Sums {
            return true;
        }
        let id = self.traces.id_words(&self.recorder.traces, trace);
        let head = head(frame, id, bits, 0, exit_ns);
        if !shared.write_light(head, rank(bits), &[], frame.light.words(), |&word| word) {
            self.write_whole(bits, &Stay { enters: 1, exit_ns, busy_ns, ..Stay::default() });
        }
        self.traces.leave(&self.recorder.traces, trace);
        true
    }

    /// Ends a section that lived in its frame alone and has just been left.
    pub(crate) fn finish_light(&mut self, stay: &Stay) {
        let Some(frame) = self.frames.get(self.depth) else { return };
        let (shared, trace) = (&*self.shared, frame.section.trace);
        let mut bits = frame.light.bits;
        self.sum_up(frame.section.path, frame.enter_ns, bits & flag::COLLAPSED != 0, stay);
        if stay.by_panic {
            bits |= flag::IS_ERROR;
        }
        let id = self.traces.id_words(&self.recorder.traces, trace);
        let (has, figures, len) = figures_of(stay.memory.as_ref(), stay.peak_bytes);
        let head = head(frame, id, bits, has, stay.exit_ns);
        let figures = figures.get(..len).unwrap_or_default();
        if !shared.write_light(head, rank(bits), figures, frame.light.words(), |&word| word) {
            self.write_whole(bits, stay);
        }
        self.traces.leave(&self.recorder.traces, trace);
    }

    /// Writes the record of a light section, which has just been left, in pieces, or counts it as lost.
    #[cold]
    fn write_whole(&self, bits: u64, stay: &Stay) {
        let Some(frame) = self.frames.get(self.depth) else { return };
        let Some(state) = self.recorder.traces.get(frame.section.trace) else { return };
        let record = SectionRecord {
            trace_id: state.id(),
            span_id: frame.section.span_id,
            parent_span_id: frame.light.parent_span_id,
            start_ns: frame.enter_ns,
            end_ns: stay.exit_ns,
            busy_ns: stay.busy_ns,
            enters: stay.enters,
            kind: SectionKind::Section,
            phase: phase_of(bits),
            is_error: bits & flag::IS_ERROR != 0,
            callsite: frame.light.callsite,
            thread: self.shared.id,
            left_out: LeftOut::default(),
            on_foreign_thread: bits & flag::ON_FOREIGN_THREAD != 0,
            root: None,
            memory: stay.memory.map(MemoryRecord::from),
            cpu_ns: None,
            peak_bytes: stay.peak_bytes,
            live_bytes: None,
            rss_bytes: None,
            rss_delta_bytes: None,
            rss_peak_bytes: None,
        };
        self.shared.write(&record, state, frame.light.words());
    }
}

/// What the record of a light section begins with; `has`: the flags of what follows.
#[inline(always)]
fn head(frame: &Frame, id: [u64; 2], bits: u64, has: u64, end_ns: u64) -> [u64; record::LIGHT_WORDS] {
    let about = record_flags(bits) | has | record::IS_LIGHT | u64::from(frame.light.callsite) << 32;
    [id[0], id[1], about, frame.section.span_id, frame.light.parent_span_id, frame.enter_ns, end_ns]
}

#[cfg(test)]
mod tests;
