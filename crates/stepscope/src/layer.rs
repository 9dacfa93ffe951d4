//! The `tracing` layer: turns span callbacks into sections. It decides nothing for other layers: it is always
//! interested, hints its level only where it is alone, and ignores what it does not want by itself.

use std::sync::Arc;

use stepscope_core::{LossReason, SectionKind};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::attrs::Entry;
use crate::callsite::Source;
use crate::clock::now_ns;
use crate::memory;
use crate::open::{Open, Parent, Spec};
use crate::recorder::Recorder;
use crate::thread;
use crate::visit::{EventVisitor, SpanVisitor};

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
    fn active(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_current() && !thread::is_suppressed())
    }
}

fn parent_of(recorder: &Recorder, id: &Id) -> Option<Parent> {
    let open = recorder.spans.get(id.into_u64())?;
    as_parent(&open, id.into_u64())
}

fn as_parent(open: &Open, key: u64) -> Option<Parent> {
    let trace = Arc::clone(open.trace.as_ref()?);
    Some(Parent { trace, span_id: open.span_id, path: open.path, kind: open.kind, key })
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StepscopeLayer {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        // A hint of ours would win over a layer that gives none (a log without a filter gives none) and
        // silence it, so there is one only where nobody else listens.
        self.recorder.as_ref().filter(|_| self.is_alone).map(|recorder| recorder.config.max_level)
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let metadata = attributes.metadata();
        if *metadata.level() > recorder.config.max_level {
            return;
        }
        let explicit = attributes.parent().map(|id| parent_of(recorder, id));
        let Some(mut open) = recorder.spans.insert(id.into_u64()) else {
            recorder.lose(LossReason::OpenSpans, 1);
            return;
        };
        let open = &mut *open;
        let (mut spec, mut name) = (Spec::default(), None);
        attributes.record(&mut SpanVisitor {
            attrs: &mut open.attrs,
            spec: &mut spec,
            is_error: &mut open.is_error,
            name: &mut name,
            formatted: &recorder.config.formatted_fields,
        });
        let begun = thread::with(recorder, |state| {
            let parent = match explicit {
                Some(parent) => parent,
                None if attributes.is_contextual() => state.current(),
                None => None,
            };
            recognise_step(recorder, metadata, &parent, &mut spec);
            state.begin(open, Source::Span(metadata), name.as_deref(), &spec, parent);
            if spec.kind() == SectionKind::Epoch {
                recorder.set_epoch(spec.epoch);
                state.mark(Source::Section(&crate::recorder::EPOCH_STARTED), SectionKind::Epoch, spec.epoch);
            }
        });
        if begun.is_none() {
            recorder.lose(LossReason::ThreadTeardown, 1);
        }
        if let Some(name) = name {
            open.attrs.push(Entry::Field("otel.name", name.as_str().into()));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let Some(mut open) = recorder.spans.get(id.into_u64()) else { return };
        let open = &mut *open;
        // Kind and step are settled at the start; a phase may still come.
        let mut spec = Spec { phase: open.phase, ..Spec::default() };
        values.record(&mut SpanVisitor {
            attrs: &mut open.attrs,
            spec: &mut spec,
            is_error: &mut open.is_error,
            name: &mut None,
            formatted: &recorder.config.formatted_fields,
        });
        open.phase = spec.phase;
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        // A span that has ended already is not known any more: then there is nothing to link to.
        let Some(cause) = parent_of(recorder, follows) else { return };
        if let Some(mut open) = recorder.spans.get(id.into_u64()) {
            open.attrs.push(Entry::Link(cause.trace.id, cause.span_id));
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let is_error = *event.metadata().level() == Level::ERROR;
        // Formatted before any state of ours is borrowed: a message may log by itself.
        let mut visitor = EventVisitor::default();
        event.record(&mut visitor);
        let entry = Entry::Event(now_ns(), is_error, &visitor.message);
        let explicit = (!event.is_contextual()).then(|| event.parent().map(Id::into_u64));
        let key = match explicit {
            Some(Some(id)) => Some(id),
            Some(None) => None,
            None => thread::with(recorder, |state| {
                let key = state.entered().next().map(|(key, _)| key)?;
                if let Some(open) = state.open_mut(key) {
                    attach(open, entry, is_error);
                    return None;
                }
                Some(key)
            })
            .flatten(),
        };
        if let Some(mut open) = key.and_then(|key| recorder.spans.get(key)) {
            attach(&mut open, entry, is_error);
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let Some(parent) = parent_of(recorder, id) else { return };
        thread::with(recorder, |state| state.enter_span(id.into_u64(), parent));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let left = thread::with(recorder, |state| state.exit(id.into_u64())).flatten();
        if let Some((stay, _)) = left
            && let Some(mut open) = recorder.spans.get(id.into_u64())
        {
            open.add(&stay);
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        // Not `active`: a slot must be freed even when recording has just stopped.
        let Some(recorder) = &self.recorder else { return };
        let _own = memory::own_call();
        recorder.spans.remove(id.into_u64(), |open| {
            if !recorder.is_current() || open.trace.is_none() {
                return;
            }
            let (kind, trace) = (open.kind, open.trace.clone());
            if thread::with(recorder, |state| state.finish(open)).is_none()
                && let Some(trace) = trace
            {
                recorder.lose(LossReason::ThreadTeardown, 1);
                trace.lose_one();
            }
            if kind == SectionKind::Epoch {
                recorder.end_epoch();
            }
        });
    }
}

fn attach(open: &mut Open, entry: Entry<'_>, is_error: bool) {
    open.attrs.push(entry);
    open.is_error |= is_error;
}

/// A span with a configured name is a step, unless it is inside of one.
fn recognise_step(recorder: &Recorder, metadata: &Metadata<'_>, parent: &Option<Parent>, spec: &mut Spec) {
    let names = &recorder.config.step_spans;
    let inside_step = parent.as_ref().is_some_and(|parent| parent.trace.root_kind == SectionKind::Step);
    if spec.kind.is_none() && !inside_step && names.iter().any(|name| name == metadata.name()) {
        spec.kind = Some(SectionKind::Step);
        spec.step = spec.step.or_else(|| Some(recorder.count_step()));
    }
}
