//! Spans that no section of the program is behind: the run's, and the markers that a run or an epoch has started.

use stepscope_core::{PathId, SectionKind, attr};

use crate::hot::open::{Open, Parent, Spec, Start, Stay, flag};
use crate::hot::recorder::{RUN, RUN_STARTED};
use crate::hot::state::ThreadState;
use crate::os::clock::now_ns;
use crate::os::sys;
use crate::shared::attrs::Entry;
use crate::shared::callsite::Source;
use crate::shared::trace::TraceState;

impl ThreadState {
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
        self.mark(Source::Section(&RUN_STARTED), SectionKind::Run, None);
    }

    /// Ends the run: its span, and what it adds to the aggregates. A signal that ended it makes it failed.
    pub(crate) fn finish_run(&mut self, signal: Option<i32>) {
        let run = self.recorder.run_parent();
        let source = Source::Section(&RUN);
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
