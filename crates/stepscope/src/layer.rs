//! The `tracing` layer: turns span callbacks into sections. It decides nothing for other layers: it is always
//! interested, hints its level only where it is alone, and ignores what it does not want by itself.

use std::sync::Arc;

use stepscope_core::{LossReason, PathId, SectionKind};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::attrs::Entry;
use crate::callsite::Source;
use crate::clock::now_ns;
use crate::memory;
use crate::open::{Open, Parent, Spec, flag};
use crate::recorder::Recorder;
use crate::state::ThreadState;
use crate::thread;
use crate::visit::{EventVisitor, OTEL_NAME, PlainVisitor, SpanVisitor};

/// The layer; made by [`crate::Builder`], added to a `tracing_subscriber::registry()`.
///
/// Never panics, blocks or formats `Debug` values; what it loses, it counts.
#[derive(Debug, Clone)]
pub struct StepscopeLayer {
    /// `None`: recording is off, or another recorder is at work in this process.
    recorder: Option<Arc<Recorder>>,
    /// No other layer is beside it.
    is_alone: bool,
}

impl StepscopeLayer {
    pub(crate) fn new(recorder: Option<Arc<Recorder>>) -> Self {
        Self { recorder, is_alone: false }
    }

    /// The same layer as the only one of its subscriber.
    pub(crate) fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }

    /// The recorder, when this thread and this moment are to be recorded.
    #[inline]
    fn active(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_current() && !thread::is_suppressed())
    }

    /// As [`active`](Self::active), for something new: at level `off` there is none.
    #[inline]
    fn beginning(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_beginning() && !thread::is_suppressed())
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StepscopeLayer {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        // A hint of ours would win over a layer that gives none (a log without a filter gives none) and
        // silence it, so there is one only where nobody else listens.
        self.recorder.as_ref().filter(|_| self.is_alone).map(|recorder| recorder.config.max_level)
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.beginning() else { return };
        let _own = memory::own_call();
        let metadata = attributes.metadata();
        if *metadata.level() > recorder.config.max_level {
            return;
        }
        let explicit = attributes.parent().map(|id| recorder.spans.parent(id.into_u64()));
        let Some(open) = recorder.spans.insert(id.into_u64()) else {
            recorder.lose(LossReason::OpenSpans, 1);
            return;
        };
        let begun = thread::with(recorder, |state| {
            open.reset(state.number, state.shared.id);
            let parent = match explicit {
                Some(parent) => parent,
                None if attributes.is_contextual() => state.current(),
                None => None,
            };
            let around = parent.filter(Parent::takes_work);
            let path = around.map_or(PathId::ROOT, |parent| parent.path);
            match state.plain_place(path, metadata) {
                Some(place) => {
                    attributes.record(&mut PlainVisitor(open));
                    state.begin_plain(open, place, None, around)
                }
                None => begin_special(state, attributes, open, parent),
            }
        });
        match begun {
            Some(true) => {}
            Some(false) => recorder.lose(LossReason::OpenSpans, 1),
            None => {
                // Not begun, whoever had the slot before.
                open.reset(0, 0);
                recorder.lose(LossReason::ThreadTeardown, 1);
            }
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let Some(open) = recorder.spans.find(id.into_u64()) else { return };
        let owned = thread::with(recorder, |state| open.is_owned_by(state.number)).unwrap_or(false);
        // Kind and step are settled at the start; a phase may still come.
        let mut spec = Spec::default();
        values.record(&mut SpanVisitor {
            open,
            owned,
            spec: &mut spec,
            name: &mut None,
            formatted: &recorder.config.formatted_fields,
        });
        if spec.phase.is_some() {
            open.set_phase(owned, spec.phase);
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        // A span that has ended already is not known any more: then there is nothing to link to.
        let Some(cause) = recorder.spans.parent(follows.into_u64()) else { return };
        let Some(about) = recorder.traces.about(cause.trace) else { return };
        thread::with(recorder, |state| {
            let (open, owned) = state.open(id.into_u64())?;
            open.push(owned, Entry::Link(about.id, cause.span_id));
            Some(())
        });
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let Some(recorder) = self.beginning() else { return };
        let _own = memory::own_call();
        let is_error = *event.metadata().level() == Level::ERROR;
        // Formatted before any state of ours is borrowed: a message may log by itself.
        let mut visitor = EventVisitor::default();
        event.record(&mut visitor);
        let entry = Entry::Event(now_ns(), is_error, &visitor.message);
        let explicit = (!event.is_contextual()).then(|| event.parent().map(Id::into_u64));
        thread::with(recorder, |state| {
            let key = match explicit {
                Some(explicit) => explicit?,
                None => state.entered().next()?.0,
            };
            let (open, owned) = state.open(key)?;
            open.push(owned, entry);
            if is_error {
                open.set_error(owned, true);
            }
            Some(())
        });
    }

    #[inline]
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let key = id.into_u64();
        let Some(section) = recorder.spans.find(key).and_then(|open| open.as_parent(key)) else { return };
        thread::with(recorder, |state| state.enter_span(section));
    }

    #[inline]
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        thread::with(recorder, |state| {
            let stay = state.leave(id.into_u64())?;
            let open = recorder.spans.find(id.into_u64())?;
            open.add(open.is_owned_by(state.number), &stay);
            Some(())
        });
    }

    #[inline]
    fn on_close(&self, id: Id, _: Context<'_, S>) {
        // Not `active`: a slot must be freed even when recording has just stopped.
        let Some(recorder) = &self.recorder else { return };
        let _own = memory::own_call();
        let Some((slot, open)) = recorder.spans.find_slot(id.into_u64()) else { return };
        if recorder.is_current()
            && let Some(trace) = open.trace()
        {
            let kind = open.kind();
            if thread::with(recorder, |state| state.finish(open)).is_none() {
                recorder.lose(LossReason::ThreadTeardown, 1);
                let (exported, held) = (flag::EXPORTED, flag::EXPORTED | flag::IS_ROOT);
                recorder.traces.abandon(trace, open.has(exported), open.has(held));
            }
            if kind == SectionKind::Epoch {
                recorder.end_epoch();
            }
        }
        recorder.spans.free(slot);
    }
}

/// Begins a span whose fields or name say what it is.
#[cold]
fn begin_special(
    state: &mut ThreadState,
    attributes: &Attributes<'_>,
    open: &Open,
    parent: Option<Parent>,
) -> bool {
    let recorder = Arc::clone(&state.recorder);
    let metadata = attributes.metadata();
    let (mut spec, mut name) = (Spec::default(), None);
    attributes.record(&mut SpanVisitor {
        open,
        owned: true,
        spec: &mut spec,
        name: &mut name,
        formatted: &recorder.config.formatted_fields,
    });
    recognise_step(&recorder, metadata, parent, &mut spec);
    let begun = state.begin(open, Source::Span(metadata), name.as_deref(), &spec, parent);
    if spec.kind() == SectionKind::Epoch {
        recorder.set_epoch(spec.epoch);
        state.mark(Source::Section(&crate::recorder::EPOCH_STARTED), SectionKind::Epoch, spec.epoch);
    }
    if let Some(name) = name {
        open.push(true, Entry::Field(OTEL_NAME, name.as_str().into()));
    }
    begun
}

/// A span with a configured name is a step, unless it is inside of one.
fn recognise_step(recorder: &Recorder, metadata: &Metadata<'_>, parent: Option<Parent>, spec: &mut Spec) {
    if spec.kind.is_none() && recorder.config.step_spans.iter().any(|name| name == metadata.name()) {
        let around = parent.and_then(|parent| recorder.traces.about(parent.trace));
        if around.is_none_or(|around| around.root_kind != SectionKind::Step) {
            spec.kind = Some(SectionKind::Step);
            spec.step = spec.step.or_else(|| Some(recorder.count_step()));
        }
    }
}
