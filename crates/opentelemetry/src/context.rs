//! Which span is around: OpenTelemetry's for stepscope's roots, stepscope's for code that uses the API.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, ContextGuard};
use stepscope::SpanIds;

/// Sampled, and of a random trace id (W3C Trace Context, level 2), as stepscope's spans say it themselves.
pub(crate) const FLAGS: TraceFlags = TraceFlags::new(3);

/// The span that is current in OpenTelemetry's API on this thread: what
/// [`Builder::link_roots`](stepscope::Builder::link_roots) wants to know.
#[must_use]
pub fn current() -> Option<SpanIds> {
    Context::map_current(|context| {
        let span = context.span();
        let span = span.span_context();
        span.is_valid()
            .then(|| SpanIds { trace_id: span.trace_id().to_bytes(), span_id: span.span_id().to_bytes() })
    })
}

/// OpenTelemetry's current context, with the innermost of stepscope's sections on this thread as its span: spans that are
/// started in it are children of the section, and propagators send it along. Outside of sections it is the current
/// context as it is.
///
/// A section that leaves no span stands behind the one around it that does; see [`stepscope::current_ids`].
#[must_use]
pub fn context() -> Context {
    let context = Context::current();
    let Some(ids) = stepscope::current_ids() else { return context };
    let (trace, span) = (TraceId::from_bytes(ids.trace_id), SpanId::from_bytes(ids.span_id));
    // Not made by a tracer of this process.
    context.with_remote_span_context(SpanContext::new(trace, span, FLAGS, true, TraceState::NONE))
}

/// Makes [`context`] the current one of this thread until the guard is dropped.
#[must_use = "it is over when the guard is dropped"]
pub fn attach() -> ContextGuard {
    context().attach()
}
