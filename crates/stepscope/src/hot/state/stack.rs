//! The stack of a thread's entered sections: how they are entered and left. How they begin is in `begin` and `roots`, how they end
//! in `finish` and `light_section`.

use std::cell::OnceCell;

use stepscope_core::{LossReason, SectionKind};

use super::{KEPT_FRAMES, MAX_FRAMES, SPARE_FRAMES, ThreadState, collapsed_bits};
use crate::hot::frame::{Form, Frame};
use crate::hot::open::{Open, Parent, Spec, Stay, Times, flag};
use crate::hot::path_cache::Place;
use crate::hot::recorder::Gate;
use crate::os::clock::now_ns;
use crate::os::{memory, sys};
use crate::shared::attrs::FieldValue;
use crate::shared::callsite::{Callsite, Source};

impl ThreadState {
    /// Enters a `tracing` span on this thread.
    #[inline]
    pub(crate) fn enter_span(&mut self, section: Parent) {
        let timed_by_system_call = self.has_cpu_time(&section);
        if let Some(frame) = self.push(section, timed_by_system_call) {
            frame.enter_ns = now_ns();
        }
    }

    /// Begins and enters a section that lives on the stack; returns its key, or `None` when it is not recorded.
    pub(crate) fn enter_section(
        &mut self,
        source: Source,
        spec: &Spec,
        values: &[FieldValue<'_>],
        more: impl FnOnce(&Open),
    ) -> Option<u64> {
        self.has_room()?;
        let open = self.new_section(values);
        more(&open);
        let parent = self.current().copied();
        let begun = self.begin(&open, source, None, spec, parent);
        self.enter_begun(open, begun, spec.kind())
    }

    /// As [`enter_section`](Self::enter_section) for a section of no particular kind.
    #[inline(always)]
    pub(crate) fn enter_plain(
        &mut self,
        callsite: &'static Callsite,
        values: &[FieldValue<'_>],
    ) -> Option<u64> {
        match self.enter_light(callsite, values) {
            Some(key) => Some(key),
            None => self.enter_any(callsite, values),
        }
    }

    #[inline(never)]
    fn enter_any(&mut self, callsite: &'static Callsite, values: &[FieldValue<'_>]) -> Option<u64> {
        let _own = memory::own_call();
        self.has_room()?;
        let source = Source::Section(callsite);
        let spec = || Spec { phase: callsite.phase, ..Spec::default() };
        let Some(&parent) = self.current().filter(|parent| parent.takes_work()) else {
            return self.enter_section(source, &spec(), values, |_| ());
        };
        // Known from here on, so that the next one like this may be light.
        let place = self.place(parent.path, source, spec);
        if self.recorder.is_gate(Gate::Closed) {
            return self.enter_bare(place, parent);
        }
        let open = self.new_section(values);
        let begun = self.begin_plain(&open, place, callsite.phase, parent);
        self.enter_begun(open, begun, SectionKind::Section)
    }

    /// Whether one more section can be entered; one that cannot is lost.
    #[inline]
    fn has_room(&self) -> Option<()> {
        if self.depth >= MAX_FRAMES {
            self.recorder.lose(LossReason::OpenSpans, 1);
            return None;
        }
        Some(())
    }

    /// Enters a section that leaves nothing but its part in the sums: neither span, nor fields, nor a reason why not.
    fn enter_bare(&mut self, place: Place, parent: Parent) -> Option<u64> {
        let key = self.sections.next();
        // Whatever leaves a span in here belongs to the innermost one that is there.
        let section = Parent { path: place.path, kind: SectionKind::Section, key, leaving: 0, ..parent };
        let counters = self.recorder.counters();
        let frame = self.top_frame(section)?;
        frame.light.bits = collapsed_bits(parent.path, place.path);
        frame.begin(section, Form::Sums, counters);
        frame.enter_ns = now_ns();
        Some(key)
    }

    #[inline(always)]
    fn new_section(&mut self, values: &[FieldValue<'_>]) -> Box<Open> {
        let spare = self.frames.get_mut(self.depth).and_then(|frame| frame.open.take());
        let open = spare.unwrap_or_else(fresh);
        open.reset(self.number, self.shared.id);
        open.push_all_declared(values);
        open
    }

    #[inline]
    fn enter_begun(&mut self, open: Box<Open>, begun: bool, kind: SectionKind) -> Option<u64> {
        if !begun {
            self.recorder.lose(LossReason::OpenSpans, 1);
            return None;
        }
        let key = self.sections.next();
        let section = open.as_parent_of_kind(key, kind)?;
        let timed_by_system_call = self.has_cpu_time(&section);
        // One clock read serves as start and as entry.
        let start_ns = open.start_ns();
        if open.has(flag::IS_ROOT) && open.has(flag::EXPORTED) {
            self.traces.adopt(&self.recorder.traces, section.trace);
        }
        let frame = self.push(section, timed_by_system_call)?;
        frame.enter_ns = start_ns;
        frame.open = OnceCell::from(open);
        Some(key)
    }

    #[inline(always)]
    fn push(&mut self, section: Parent, timed_by_system_call: bool) -> Option<&mut Frame> {
        let cpu_ns = if timed_by_system_call { sys::thread_cpu_ns() } else { None };
        let counters = self.recorder.counters();
        let frame = self.top_frame(section)?;
        frame.cpu_ns.set(cpu_ns);
        frame.begin(section, Form::Whole, counters);
        Some(frame)
    }

    /// The next frame, made for `section` where there is none yet; `None` where there are as many as may be.
    #[inline(always)]
    fn top_frame(&mut self, section: Parent) -> Option<&mut Frame> {
        if self.depth >= self.frames.len() {
            if self.depth >= MAX_FRAMES {
                return None;
            }
            self.frames.push(Frame::new(section));
        }
        let frame = self.frames.get_mut(self.depth)?;
        self.depth += 1;
        Some(frame)
    }

    /// Leaves the span `key`; `false` if it is not entered here.
    #[inline(always)]
    pub(crate) fn leave(&mut self, key: u64) -> bool {
        let (exit_ns, counters) = (now_ns(), memory::thread_counters());
        let times = if counters.is_none() { self.leave_top(key, exit_ns) } else { None };
        let Some(times) = times else { return self.leave_any(key, exit_ns, counters) };
        match self.recorder.open_span(key) {
            Some(open) if open.is_owned_by(self.number) && !open.was_entered() => open.add_first(times),
            Some(open) => self.add_stay(open, &times.into()),
            None => {}
        }
        true
    }

    /// Leaves the innermost section, if it is that of span `key`, measured its time only, and no panic may have ended it.
    #[inline(always)]
    fn leave_top(&mut self, key: u64, exit_ns: u64) -> Option<Times> {
        let (frame, entered) = self.frames.get_mut(..self.depth)?.split_last_mut()?;
        if frame.section.key != key || frame.cpu_ns.get().is_some() || std::thread::panicking() {
            return None;
        }
        self.depth -= 1;
        let busy_ns = exit_ns.saturating_sub(frame.enter_ns);
        let self_busy_ns = busy_ns.saturating_sub(frame.nested_busy_ns);
        if let Some(outer) = entered.last_mut() {
            outer.nested_busy_ns = outer.nested_busy_ns.wrapping_add(busy_ns);
        }
        Some(Times { exit_ns, busy_ns, self_busy_ns })
    }

    #[inline(never)]
    fn leave_any(&mut self, key: u64, exit_ns: u64, counters: Option<memory::Counters>) -> bool {
        let mut stay = Stay::default();
        self.leave_frame(key, exit_ns, counters, &mut stay);
        if stay.enters == 0 {
            return false;
        }
        if let Some(open) = self.recorder.open_span(key) {
            let is_owned = open.is_owned_by(self.number);
            if stay.by_panic {
                open.set_error(is_owned, true);
            }
            // What comes after, should a handle be kept for longer, is not inside of it.
            if is_owned
                && !open.was_entered()
                && let Some((start, _)) = open.readings()
            {
                open.set_last_reading(self.reader.read_again(start));
            }
            self.add_stay(open, &stay);
        }
        true
    }

    /// Leaves section `key` at this time and with these counts: what it measured is in `stay`. Returns its frame, which is the
    /// first that is free from now on.
    #[inline]
    fn leave_frame(
        &mut self,
        key: u64,
        exit_ns: u64,
        counters: Option<memory::Counters>,
        stay: &mut Stay,
    ) -> Option<&mut Frame> {
        let depth = self.depth;
        let position = self.bring_to_top(key, exit_ns, counters)?;
        let [entered @ .., frame] = self.frames.get_mut(..depth)? else { return None };
        self.depth = depth - 1;
        let busy_ns = exit_ns.saturating_sub(frame.enter_ns);
        (stay.enters, stay.exit_ns, stay.busy_ns) = (1, exit_ns, busy_ns);
        stay.self_busy_ns = busy_ns.saturating_sub(frame.nested_busy_ns);
        stay.by_panic = frame.is_left_by_panic();
        let mut outer = entered.get_mut(position.wrapping_sub(1));
        if let Some(outer) = &mut outer {
            outer.nested_busy_ns = outer.nested_busy_ns.wrapping_add(busy_ns);
        }
        if frame.cpu_ns.get().is_some() || counters.is_some() {
            frame.measure(counters, outer, stay);
        }
        Some(frame)
    }

    /// Makes the frame of section `key`, which is left now, the innermost one; returns where it was.
    #[inline]
    fn bring_to_top(&mut self, key: u64, exit_ns: u64, counters: Option<memory::Counters>) -> Option<usize> {
        // Guards may be dropped out of order; the one asked for leaves, the others stay.
        match self.current()?.key == key {
            true => Some(self.depth - 1),
            false => self.bring_up(key, exit_ns, counters),
        }
    }

    #[cold]
    fn bring_up(&mut self, key: u64, exit_ns: u64, counters: Option<memory::Counters>) -> Option<usize> {
        let entered = self.frames.get_mut(..self.depth)?;
        let position = entered.iter().rposition(|frame| frame.section.key == key)?;
        let (around, from_here) = entered.split_at_mut_checked(position)?;
        if let [frame, above, ..] = from_here {
            frame.leave_below(above, around.last_mut(), exit_ns, counters);
        }
        from_here.rotate_left(1);
        Some(position)
    }

    /// Leaves the section `key` of the stack and ends it.
    #[inline(always)]
    pub(crate) fn end_section(&mut self, key: u64) {
        let (exit_ns, counters) = (now_ns(), memory::thread_counters());
        if counters.is_some() || !self.end_light(key, exit_ns) {
            self.end_any(key, exit_ns, counters);
        }
    }

    #[inline(never)]
    fn end_any(&mut self, key: u64, exit_ns: u64, counters: Option<memory::Counters>) {
        let _own = memory::own_call();
        let mut stay = Stay::default();
        let Some(frame) = self.leave_frame(key, exit_ns, counters, &mut stay) else { return };
        match frame.form.get() {
            Form::Light => self.finish_light(&stay),
            Form::Sums => {
                let is_collapsed = frame.light.bits & flag::COLLAPSED != 0;
                let (path, start_ns) = (frame.section.path, frame.enter_ns);
                self.sum_up(path, start_ns, is_collapsed, &stay);
            }
            Form::Whole => {
                let Some(open) = frame.open.take() else { return };
                self.finish_whole(open, &stay);
            }
        }
        if self.frames.len() > self.depth.max(KEPT_FRAMES) + SPARE_FRAMES {
            self.frames.truncate(self.depth.max(KEPT_FRAMES));
        }
    }

    fn finish_whole(&mut self, open: Box<Open>, stay: &Stay) {
        if stay.by_panic {
            open.set_error(true, true);
        }
        self.finish_stay(&open, stay);
        if let Some(frame) = self.frames.get_mut(self.depth) {
            frame.open = OnceCell::from(open);
        }
    }
}

/// A first use.
#[cold]
fn fresh() -> Box<Open> {
    Box::default()
}
