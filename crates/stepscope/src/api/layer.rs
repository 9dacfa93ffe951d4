//! The `tracing` layer. It decides nothing for other layers: it is always interested, hints its level only where it is
//! alone, and ignores what it does not want by itself. What it does with a span is in `hooks`.

use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::hot::hooks::Hooks;
use crate::hot::open::Parent;
use crate::hot::recorder::Recorder;

/// The layer; made by [`crate::Builder`], added to a `tracing_subscriber::registry()`.
///
/// Never panics, blocks or formats `Debug` values; what it loses, it counts. Belongs to one subscriber at a time: spans of two
/// registries have equal ids, by which their times would be mixed up.
#[derive(Debug, Clone)]
pub struct StepscopeLayer {
    hooks: Hooks,
    /// No other layer is beside it.
    is_alone: bool,
}

impl StepscopeLayer {
    pub(crate) fn new(recorder: Option<Arc<Recorder>>) -> Self {
        Self { hooks: Hooks::new(recorder), is_alone: false }
    }

    /// The same layer as the only one of its subscriber.
    pub(crate) fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StepscopeLayer {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        // A hint of ours would win over a layer that gives none (a log without a filter gives none) and
        // silence it, so there is one only where nobody else listens.
        self.hooks.max_level().filter(|_| self.is_alone)
    }

    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        // What is around a new span is held by it, so nothing ends by being looked at.
        let further = |recorder: &Recorder| {
            let mut around = context.span_scope(id)?.skip(1);
            around.find_map(|span| recorder.span_parent(span.id().into_u64()))
        };
        self.hooks.new_span(attributes, id.into_u64(), &further);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.hooks.record(id.into_u64(), values);
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        self.hooks.follows_from(id.into_u64(), follows.into_u64());
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // (Of a span that is no longer there none is around.)
        let further = |recorder: &Recorder| {
            let mut around = context.event_scope(event)?;
            around.find_map(|span| recorder.span_parent(span.id().into_u64()).filter(Parent::leaves))
        };
        self.hooks.event(event, &further);
    }

    #[inline]
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.hooks.enter(id.into_u64());
    }

    #[inline]
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.hooks.exit(id.into_u64());
    }

    #[inline]
    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.hooks.close(id.into_u64());
    }
}

#[cfg(test)]
mod tests;
