//! How a section begins that is the root of a trace: without a parent, or where that one's trace has no room or is gone.

use std::sync::Arc;

use stepscope_core::identity::{TraceId, continuing};
use stepscope_core::{Mode, PathId, SectionKind, attr};

use super::{ThreadState, collapsed_bits, find_open};
use crate::hot::open::{Open, Parent, Spec, Start, flag};
use crate::hot::path_cache::Place;
use crate::hot::thread;
use crate::os::clock::now_ns;
use crate::shared::attrs::Entry;
use crate::shared::trace::{About, TraceRef, TraceState};

impl ThreadState {
    /// Begins a section without a parent, or whose parent, in a trace `around`, is gone.
    #[cold]
    pub(super) fn begin_root(
        &mut self,
        open: &Open,
        place: Place,
        spec: &Spec,
        around: Option<About>,
        leaving: u64,
    ) -> bool {
        let kind = spec.kind();
        let step = spec.step;
        let outer = self.recorder.config.link_roots.filter(|_| around.is_none());
        let about = match around {
            Some(around) => {
                let id = self.recorder.continuing_trace_id(&around.id);
                around.continuation(id, self.shared.id, around.is_counted)
            }
            None => About {
                step,
                epoch: spec.epoch.or_else(|| self.epoch()),
                mode: spec.mode.unwrap_or_else(|| self.usual_mode(kind)),
                root_thread: self.shared.id,
                root_leaves: leaving & flag::EXPORTED != 0,
                ..About::new(
                    self.root_id(step, kind == SectionKind::Section && leaving & flag::DEEP != 0),
                    kind,
                )
            },
        };
        if kind == SectionKind::Step {
            self.steps = (self.steps.0.wrapping_add(1), about.mode);
        }
        let Some(trace) = self.traces.start(&self.recorder.traces, &about) else { return false };
        let mut flags = flag::IS_ROOT | leaving;
        if place.path == PathId::ROOT {
            flags |= flag::COLLAPSED;
        }
        self.begin_in(open, place, spec, trace, flags);
        if kind == SectionKind::Step
            && let Some(waited_ns) = self.batch_waits.take(about.mode, self.around())
        {
            open.push(true, Entry::Own(attr::INPUT_BEFORE_NS, waited_ns.into()));
        }
        if let Some(outer) = outer
            && let Some(ids) = thread::quietly(outer)
            && !self.recorder.has_made(&ids.trace_id)
        {
            open.push(true, Entry::Link(ids.trace_id, u64::from_be_bytes(ids.span_id)));
        }
        true
    }

    /// The mode of a root that names none: a section between steps is most likely for those that its thread does now.
    fn usual_mode(&self, kind: SectionKind) -> Mode {
        if kind == SectionKind::Section { self.steps.1 } else { Mode::Train }
    }

    /// Begins a section inside `parent`, whose own trace has no room or is gone: in the trace that continues it.
    #[cold]
    pub(crate) fn begin_elsewhere(&mut self, open: &Open, place: Place, spec: &Spec, parent: Parent) -> bool {
        let around = self.recorder.traces.about(parent.trace);
        if let Some(around) = &around {
            open.rest().continues = Some((parent.path, around.id, parent.span_id));
        }
        let Some(trace) = around.and_then(|around| self.continue_trace(parent, &around)) else {
            let is_counted = self.count_part(parent.trace);
            let around = around.map(|around| About { is_counted, ..around });
            return self.begin_root(open, place, spec, around, flag::EXPORTED | parent.depth());
        };
        let flags = flag::EXPORTED | parent.depth() | flag::IS_PART | collapsed_bits(parent.path, place.path);
        self.begin_in(open, place, spec, trace, flags);
        true
    }

    /// Begins a section without a parent in `trace`, which it holds.
    fn begin_in(&mut self, open: &Open, place: Place, spec: &Spec, trace: TraceRef, flags: u64) {
        let state = self.recorder.traces.get(trace);
        let is_foreign = state.is_some_and(|state| state.root_thread() != self.shared.id);
        open.begin(&Start {
            trace,
            trace_id: state.map_or([0; 2], |state| state.id_words()),
            span_id: self.next_span_id(),
            parent_span_id: 0,
            path: place.path,
            callsite: place.callsite,
            kind: spec.kind(),
            phase: spec.phase,
            flags: flags | if is_foreign { flag::ON_FOREIGN_THREAD } else { 0 },
        });
        self.read_at_begin(open, spec.kind(), flags);
        open.set_start(now_ns());
    }

    /// The id of a new trace. One that begins during a deep step, of `is_beside`, may become a part of that: a sampler keeps both.
    fn root_id(&self, step: Option<u64>, is_beside: bool) -> TraceId {
        let recorder = &self.recorder;
        let deep = if is_beside { recorder.deep_steps.under_way() } else { None };
        match deep.and_then(|deep| recorder.traces.about(deep.trace)) {
            Some(deep) => recorder.continuing_trace_id(&deep.id),
            None => recorder.next_trace_id(step),
        }
    }

    /// A section without a parent ends that began during a deep step. Where that is still under way, the section's trace is
    /// counted in that of the step, and leads to it: it may be what the step waits for.
    #[cold]
    pub(crate) fn stand_beside(&mut self, open: &Open) {
        let Some(step) = self.recorder.deep_steps.under_way() else { return };
        let own = open.trace().and_then(|trace| self.recorder.traces.about(trace)).map(|about| about.id);
        let is_free = !open.has_rest() || open.rest().continues.is_none();
        if is_free
            && let Some(around) = self.recorder.traces.about(step.trace)
            && own.is_some_and(|own| continuing(&own, 0) == continuing(&around.id, 0))
            && self.count_part(step.trace)
        {
            open.rest().continues = Some((PathId::ROOT, around.id, step.span_id));
        }
    }

    /// Counts a trace in the one that it continues, or stands beside; whether that waits for it.
    fn count_part(&mut self, continued: TraceRef) -> bool {
        if !self.recorder.traces.hold(continued) {
            return false;
        }
        let is_counted = self.recorder.traces.get(continued).is_some_and(TraceState::count_part);
        self.traces.leave(&self.recorder.traces, continued);
        is_counted
    }

    /// The trace for a section inside `parent`, whose own trace, about `around`, has no room: one after the other,
    /// each up to the bound. Joined. `None` when the open section of `parent` is gone.
    fn continue_trace(&mut self, parent: Parent, around: &About) -> Option<TraceRef> {
        let recorder = Arc::clone(&self.recorder);
        let owner = (self.number, self.shared.id);
        let open = find_open(self.frames.get(..self.depth)?, owner, &recorder, parent.key)
            // Keys of spans come back: another span may have this one by now.
            .filter(|open| open.span_id() == parent.span_id)?;
        let mut rest = open.rest();
        if let Some(trace) = rest.continuation.filter(|&trace| recorder.traces.join(trace).is_some()) {
            return Some(trace);
        }
        let is_counted = recorder.traces.get(parent.trace).is_some_and(TraceState::count_part);
        let about = around.continuation(recorder.continuing_trace_id(&around.id), self.shared.id, is_counted);
        let next = self.traces.start(&recorder.traces, &about)?;
        // Once for the section that has just joined, once for the one around it.
        recorder.traces.hold(next);
        let full = rest.continuation.replace(next);
        drop(rest);
        if let Some(full) = full {
            self.end_continuation(full);
        }
        Some(next)
    }
}
