//! Traces by hand: the shortest way to say which spans a test has.

use std::sync::Arc;

use stepscope_analyze::{Config, Partial, Summary};
use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::{Completeness, Figure, PhaseTag, Poll, Resource, Span, Trace, UserValue};

/// A process of run `run` with this rank.
pub(crate) fn process(rank: i64) -> Arc<Resource> {
    Arc::new(Resource {
        run_id: "run".into(),
        rank: Some(rank),
        level: "detailed".into(),
        ..Resource::default()
    })
}

/// A trace under construction. Span ids are given in order from 1.
pub(crate) struct Build(pub(crate) Trace);

/// A span of a trace under construction.
pub(crate) struct SpanBuild<'a>(&'a mut Span);

impl Build {
    pub(crate) fn new(number: u64) -> Self {
        Self::of(number, &process(0))
    }

    pub(crate) fn of(number: u64, resource: &Arc<Resource>) -> Self {
        let mut id = [0; 16];
        id[8..].copy_from_slice(&number.to_be_bytes());
        Self(Trace::new(id, Arc::clone(resource)))
    }

    /// Adds a span; `parent` is the id of another (0: none).
    pub(crate) fn span(&mut self, parent: u64, name: &str, start_ns: u64, end_ns: u64) -> SpanBuild<'_> {
        let name = self.0.push_text(name);
        let mut span = Span::default();
        span.id = self.0.spans.len() as u64 + 1;
        span.parent = (parent > 0).then_some(parent);
        (span.name, span.start_ns, span.end_ns) = (name, start_ns, end_ns);
        self.0.spans.push(span);
        SpanBuild(self.0.spans.last_mut().unwrap())
    }

    /// Adds the root of step `step`.
    pub(crate) fn step(&mut self, step: i64, start_ns: u64, end_ns: u64) -> SpanBuild<'_> {
        self.span(0, "step", start_ns, end_ns).kind(SectionKind::Step).figure(Figure::Step, step)
    }

    /// Tags the last span with the user's own phase.
    pub(crate) fn custom(&mut self, word: &str) {
        let text = self.0.push_text(word);
        self.0.spans.last_mut().unwrap().phase = PhaseTag::Custom(text);
    }

    /// Gives the last root a path that it continues.
    pub(crate) fn continues(&mut self, path: &str) {
        let text = self.0.push_text(path);
        self.0.spans.last_mut().unwrap().parent_path = text;
    }

    /// Says when the last span was entered: start, end, thread (0 for several), entries.
    pub(crate) fn polls(&mut self, polls: &[(u64, u64, i64, u64)]) {
        let poll = |&(start_ns, end_ns, thread, count): &(u64, u64, i64, u64)| Poll {
            start_ns,
            end_ns,
            thread: Some(thread).filter(|&thread| thread != 0),
            count,
        };
        let polls: Vec<Poll> = polls.iter().map(poll).collect();
        self.0.spans.last_mut().unwrap().polls = self.0.push_polls(&polls);
    }

    /// Adds a value of the user to span `span`.
    pub(crate) fn value(&mut self, span: u64, name: &str, value: f64) {
        let name = self.0.push_text(name);
        self.0.values.push(UserValue { span, name, value });
    }

    pub(crate) fn foreign(mut self) -> Self {
        self.0.is_ours = false;
        self
    }

    pub(crate) fn incomplete(mut self) -> Self {
        self.0.completeness = Completeness::Incomplete;
        self
    }

    /// The trace as a reader gives it: sorted.
    pub(crate) fn trace(mut self) -> Trace {
        self.0.spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.id));
        self.0
    }
}

impl SpanBuild<'_> {
    pub(crate) fn kind(self, kind: SectionKind) -> Self {
        self.0.kind = kind;
        self
    }

    pub(crate) fn mode(self, mode: Mode) -> Self {
        self.0.mode = mode;
        self
    }

    pub(crate) fn phase(self, phase: Phase) -> Self {
        self.0.phase = PhaseTag::Known(phase);
        self
    }

    pub(crate) fn figure(self, figure: Figure, value: i64) -> Self {
        self.0.set_figure(figure, value);
        self
    }

    pub(crate) fn thread(self, thread: i64) -> Self {
        self.figure(Figure::ThreadId, thread)
    }

    pub(crate) fn process(self, process: u32) -> Self {
        self.0.process = process;
        self
    }

    pub(crate) fn on_device(self) -> Self {
        self.0.is_on_device = true;
        self
    }

    pub(crate) fn error(self) -> Self {
        self.0.is_error = true;
        self
    }
}

/// One step of one span.
pub(crate) fn bare_step(number: u64, step: i64, start_ns: u64, end_ns: u64) -> Trace {
    let mut build = Build::new(number);
    build.step(step, start_ns, end_ns);
    build.trace()
}

/// A partial of these traces.
pub(crate) fn fold<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> Partial {
    let mut partial = Partial::new(Config::default());
    traces.into_iter().for_each(|trace| partial.add(trace));
    partial
}

/// The summary of these traces.
pub(crate) fn summarise<'a>(traces: impl IntoIterator<Item = &'a Trace>) -> Summary {
    fold(traces).finish(None)
}
