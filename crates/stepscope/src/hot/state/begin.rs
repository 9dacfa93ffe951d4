//! How a section begins inside of another one: its place, whether it leaves as a span, its trace and parent, and what its end is
//! compared with. Roots of traces are in `roots`.

use std::sync::Arc;

use stepscope_core::{Level, Mode, PathId, Phase, SectionKind};
use tracing::Metadata;

use super::{ThreadState, collapsed_bits};
use crate::hot::deep_steps::UnderWay;
use crate::hot::field_visitor;
use crate::hot::open::{Open, Parent, Spec, Start, flag};
use crate::hot::path_cache::{Fit, Place};
use crate::hot::recorder::Gate;
use crate::hot::resource_usage::Asked;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::callsite::Source;

impl ThreadState {
    /// The place of a section of `source` inside of a section of path `parent`.
    #[inline]
    pub(super) fn place(&mut self, parent: PathId, source: Source, spec: impl FnOnce() -> Spec) -> Place {
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
            #[cfg(feature = "mem")]
            crate::hot::live_context::step_begins();
            self.recorder.captures.step_begins(&self.recorder);
            if self.is_deep(spec) {
                return self.begin_deep(open, source, name, spec);
            }
        }
        self.begin_kind(open, source, name, spec, parent)
    }

    /// Whether a step that begins now is to be a deep one: one of training, and none inside of another.
    #[inline]
    fn is_deep(&self, spec: &Spec) -> bool {
        let deep_steps = &self.recorder.deep_steps;
        if deep_steps.is_open() && deep_steps.is_given_up() {
            self.recorder.end_deep_step();
        }
        let is_training = matches!(spec.mode, None | Some(Mode::Train));
        is_training && deep_steps.is_due(spec.step.unwrap_or(self.steps.0)) && !self.is_in_step()
    }

    /// Begins a step that is to be a deep one, if it may be.
    #[cold]
    fn begin_deep(&mut self, open: &Open, source: Source, name: Option<&str>, spec: &Spec) -> bool {
        let recorder = Arc::clone(&self.recorder);
        let is_deep = recorder.begin_deep_step();
        let begun = self.begin_kind(open, source, name, &Spec { is_deep, ..*spec }, None);
        if is_deep
            && begun
            && let Some(trace) = open.trace()
        {
            let (span_id, start_ns) = (open.span_id(), open.start_ns());
            recorder.deep_steps.begin(UnderWay { trace, span_id, start_ns, thread: self.shared.id });
        } else if is_deep {
            recorder.end_deep_step();
        }
        begun
    }

    /// As [`begin`](Self::begin), whether it is deep or not.
    fn begin_kind(
        &mut self,
        open: &Open,
        source: Source,
        name: Option<&str>,
        spec: &Spec,
        parent: Option<Parent>,
    ) -> bool {
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
                let is_deep_batch = spec.kind() == SectionKind::Batch && self.recorder.deep_steps.is_open();
                let is_deep = if spec.is_deep || is_deep_batch { flag::DEEP } else { 0 };
                flag::EXPORTED | is_deep | parent.map_or(0, |parent| parent.depth())
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
    pub(super) fn leaving(
        &self,
        open: &Open,
        place: Place,
        phase: Option<Phase>,
        parent: Option<Parent>,
    ) -> u64 {
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
        // What begins outside of all steps during a deep one may be what that waits for. It may last for longer, too.
        let is_deep = (around & flag::DEEP != 0 || parent.is_none()) && self.recorder.deep_steps.is_open();
        let leaving = match around & flag::EXPORTED {
            0 => around,
            _ => {
                let leaving = self.recorder.leaving(place, phase, is_deep);
                leaving | if is_deep && leaving & flag::EXPORTED != 0 { flag::DEEP } else { 0 }
            }
        };
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
    pub(super) fn count_inside(&self, parent: Option<Parent>) {
        if let Some(parent) = parent.filter(|parent| parent.leaving() & flag::MAY_BE_SMALL != 0)
            && let Some(open) = self.find_around(parent.key, parent.span_id)
        {
            open.count_inside(true);
        }
    }

    #[inline]
    pub(super) fn begin_inside(
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
    pub(super) fn read_at_begin(&mut self, open: &Open, kind: SectionKind, flags: u64) {
        let is_coarse = kind != SectionKind::Section;
        if is_coarse && self.recorder.tracked().has_memory() {
            open.set_rss_start(memory::rss_bytes());
        }
        let is_full = self.recorder.is_at(Level::Comprehensive);
        let has_usage =
            is_full || flags & flag::DEEP != 0 || is_coarse && self.recorder.is_at(Level::Detailed);
        let is_asked = has_usage || kind == SectionKind::Step;
        if is_asked && flags & flag::EXPORTED != 0 && kind != SectionKind::Run {
            self.read(open, has_usage, is_coarse, is_full);
        }
    }

    #[cold]
    fn read(&mut self, open: &Open, has_usage: bool, is_coarse: bool, is_full: bool) {
        let tracked = self.recorder.tracked();
        let asked = Asked {
            run_queue: tracked.has_cpu(),
            usage: has_usage && tracked.has_cpu(),
            io: is_full && tracked.has_io(),
            traffic: is_full && is_coarse && tracked.has_network(),
        };
        if asked != Asked::NOTHING {
            open.set_reading(self.reader.read(asked));
        }
    }

    /// Whether a section that begins now, or is entered, has CPU time.
    #[inline]
    pub(super) fn has_cpu_time(&self, section: &Parent) -> bool {
        (section.kind != SectionKind::Section
            || section.depth() != 0
            || self.recorder.is_at(Level::Comprehensive))
            && self.recorder.tracked().has_cpu()
    }
}
