//! What a thread keeps while it records: the stack of entered sections and its ids. Begins, enters and leaves
//! sections, without locks and, once warm, without allocation. How roots of traces begin is in `roots`, how sections end in
//! `finish`.

mod batch_waits;
mod roots;

use std::cell::OnceCell;
use std::sync::Arc;

use stepscope_core::{Level, LossReason, Mode, PathId, PathTable, Phase, SectionKind};
use tracing::Metadata;

use crate::hot::field_visitor;
use crate::hot::frame::{Form, Frame};
use crate::hot::open::{Open, Parent, Spec, Start, Stay, Times, flag};
use crate::hot::path_cache::{Fit, PathCache, Place};
use crate::hot::recorder::{Gate, Recorder};
use crate::hot::resource_usage::{Asked, Reader};
use crate::hot::span_ids::SpanIds;
use crate::hot::span_key::{self, SectionKeys};
use crate::hot::span_slab::Slots;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::os::sys;
use crate::shared::attrs::FieldValue;
use crate::shared::callsite::{Callsite, Source};
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

    /// The place of a section of `source` inside of a section of path `parent`.
    #[inline]
    fn place(&mut self, parent: PathId, source: Source, spec: impl FnOnce() -> Spec) -> Place {
        match self.places.near(parent, source.address()) {
            Some(place) => place,
            None => self.far_place(parent, source, spec),
        }
    }

    #[cold]
    fn far_place(&mut self, parent: PathId, source: Source, spec: impl FnOnce() -> Spec) -> Place {
        let recorder = &self.recorder;
        self.places.get(parent, source.address(), || recorder.place(parent, source, source.name(), &spec()))
    }

    /// As [`place`](Self::place), for a span of a callsite that may be plain; not known of one that is not.
    #[inline]
    pub(crate) fn plain_place(
        &mut self,
        parent: PathId,
        metadata: &'static Metadata<'static>,
    ) -> Option<Place> {
        // Next to its address, which is even: what is not plain has both places.
        let address = Source::Span(metadata).address() | 1;
        let place = match self.places.near(parent, address) {
            Some(place) => place,
            None => self.far_plain_place(parent, metadata, address),
        };
        (place.fit == Fit::Plain).then_some(place)
    }

    #[cold]
    fn far_plain_place(
        &mut self,
        parent: PathId,
        metadata: &'static Metadata<'static>,
        address: usize,
    ) -> Place {
        let (recorder, source) = (&self.recorder, Source::Span(metadata));
        self.places.get(parent, address, || match field_visitor::is_plain(metadata, &recorder.config) {
            true => recorder.place(parent, source, source.name(), &Spec::default()),
            false => Place { path: parent, callsite: 0, fit: Fit::Special, one_in: 1 },
        })
    }

    /// Gives `open` its identity and its place: trace, parent, path. `name` overrides the callsite's. `false`
    /// when there is no room for its trace.
    pub(crate) fn begin(
        &mut self,
        open: &Open,
        source: Source,
        name: Option<&str>,
        spec: &Spec,
        parent: Option<Parent>,
    ) -> bool {
        if spec.kind() == SectionKind::Step {
            self.recorder.captures.step_begins(&self.recorder);
        }
        let parent = match spec.kind() {
            SectionKind::Section | SectionKind::MicroStep => parent.filter(Parent::takes_work),
            // The run and its epochs are no parents of work: it has traces of its own, linked to the run.
            SectionKind::Epoch => Some(self.recorder.run_parent()),
            kind if kind.starts_trace() => None,
            _ => parent.filter(Parent::takes_work),
        };
        let path = parent.map_or(PathId::ROOT, |parent| parent.path);
        let place = match name {
            None => self.place(path, source, || *spec),
            Some(name) => self.recorder.place(path, source, name, spec),
        };
        match spec.kind() {
            SectionKind::Epoch => self.begin_epoch(open, place, spec, parent),
            _ => self.begin_at(open, place, spec, parent),
        }
    }

    /// As [`begin`](Self::begin), where the place is known and the section's parent can be one.
    pub(crate) fn begin_at(
        &mut self,
        open: &Open,
        place: Place,
        spec: &Spec,
        parent: Option<Parent>,
    ) -> bool {
        let leaving = match (spec.kind(), parent) {
            (SectionKind::Section, _) => self.leaving(open, place, spec.phase, parent),
            // It leaves wherever what is around it does.
            (SectionKind::MicroStep, Some(around)) if !around.leaves() => {
                self.leaving_less(open, place, spec.phase, around.leaving(), parent)
            }
            _ => {
                self.count_inside(parent);
                flag::EXPORTED
            }
        };
        match parent {
            Some(parent) => self.begin_inside(open, place, spec.kind(), spec.phase, parent, leaving),
            None => self.begin_root(open, place, spec, None, leaving),
        }
    }

    /// As [`begin`](Self::begin) for a section of no particular kind inside `parent`, where the place is known.
    #[inline]
    pub(crate) fn begin_plain(
        &mut self,
        open: &Open,
        place: Place,
        phase: Option<Phase>,
        parent: Parent,
    ) -> bool {
        let leaving = self.leaving(open, place, phase, Some(parent));
        self.begin_inside(open, place, SectionKind::Section, phase, parent, leaving)
    }

    /// Whether a section inside of `parent` leaves as a span, or why not: flags.
    #[inline]
    fn leaving(&self, open: &Open, place: Place, phase: Option<Phase>, parent: Option<Parent>) -> u64 {
        let around = parent.map_or(flag::EXPORTED, |parent| parent.leaving());
        match self.recorder.gate() {
            Gate::Open | Gate::Full if around & flag::EXPORTED != 0 => flag::EXPORTED,
            Gate::Closed => 0,
            _ => self.leaving_less(open, place, phase, around, parent),
        }
    }

    #[cold]
    fn leaving_less(
        &self,
        open: &Open,
        place: Place,
        phase: Option<Phase>,
        around: u64,
        parent: Option<Parent>,
    ) -> u64 {
        let leaving = if around & flag::EXPORTED == 0 { around } else { self.recorder.leaving(place, phase) };
        if leaving & flag::EXPORTED != 0 {
            self.count_inside(parent);
        }
        if leaving & flag::MAY_BE_SMALL != 0 {
            open.may_be_small(parent.map_or(0, |parent| parent.key));
        }
        if leaving & flag::LEFT_OUT != 0
            && let Some(trace) = parent.and_then(|parent| self.recorder.traces.get(parent.trace))
        {
            trace.leave_one_out();
        }
        leaving
    }

    /// Counts one more section inside of `parent`, which leaves as a span for that alone.
    fn count_inside(&self, parent: Option<Parent>) {
        if let Some(parent) = parent.filter(|parent| parent.leaving() & flag::MAY_BE_SMALL != 0)
            && let Some(open) = self.find_around(parent.key, parent.span_id)
        {
            open.count_inside(true);
        }
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

    #[inline]
    fn begin_inside(
        &mut self,
        open: &Open,
        place: Place,
        kind: SectionKind,
        phase: Option<Phase>,
        parent: Parent,
        leaving: u64,
    ) -> bool {
        let mut flags = leaving | collapsed_bits(parent.path, place.path);
        // Whatever is exported inside of one that is not belongs to the innermost span that is there.
        let (mut span_id, mut trace_id) = (parent.span_id, [0; 2]);
        if leaving & flag::EXPORTED != 0 {
            let Some(trace) = self.traces.join(&self.recorder.traces, parent.trace) else {
                let spec = Spec { kind: Some(kind), phase, ..Spec::default() };
                return self.begin_elsewhere(open, place, &spec, parent);
            };
            if trace.root_thread() != self.shared.id {
                flags |= flag::ON_FOREIGN_THREAD;
            }
            trace_id = trace.id_words();
            span_id = self.next_span_id();
        }
        open.begin(&Start {
            trace: parent.trace,
            trace_id,
            span_id,
            parent_span_id: parent.span_id,
            path: place.path,
            callsite: place.callsite,
            kind,
            phase,
            flags,
        });
        self.read_at_begin(open, kind, flags);
        open.set_start(now_ns());
        true
    }

    /// Reads what the end of a section is compared with: of coarse sections, and of all at `comprehensive`.
    #[inline]
    fn read_at_begin(&mut self, open: &Open, kind: SectionKind, flags: u64) {
        let is_coarse = kind != SectionKind::Section;
        if is_coarse && self.recorder.tracked().has_memory() {
            open.set_rss_start(memory::rss_bytes());
        }
        let is_full = self.recorder.is_at(Level::Comprehensive);
        let is_asked = is_full || is_coarse && self.recorder.is_at(Level::Detailed);
        if is_asked && flags & flag::EXPORTED != 0 && kind != SectionKind::Run {
            self.read(open, is_coarse, is_full);
        }
    }

    #[cold]
    fn read(&mut self, open: &Open, is_coarse: bool, is_full: bool) {
        let tracked = self.recorder.tracked();
        let asked = Asked {
            usage: tracked.has_cpu(),
            io: is_full && tracked.has_io(),
            traffic: is_full && is_coarse && tracked.has_network(),
        };
        if asked != Asked::NOTHING {
            open.set_reading(self.reader.read(asked));
        }
    }

    /// Whether a section of this kind that begins now, or is entered, has CPU time.
    #[inline]
    fn has_cpu_time(&self, kind: SectionKind) -> bool {
        (kind != SectionKind::Section || self.recorder.is_at(Level::Comprehensive))
            && self.recorder.tracked().has_cpu()
    }

    /// Enters a `tracing` span on this thread.
    #[inline]
    pub(crate) fn enter_span(&mut self, section: Parent) {
        let timed_by_system_call = self.has_cpu_time(section.kind);
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
        let timed_by_system_call = self.has_cpu_time(kind);
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

/// The flag of a section inside of `parent` that has its path.
#[inline(always)]
pub(crate) fn collapsed_bits(parent: PathId, path: PathId) -> u64 {
    if PathTable::is_collapsed(parent, path) { flag::COLLAPSED } else { 0 }
}

/// A first use.
#[cold]
fn fresh() -> Box<Open> {
    Box::default()
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
