//! Where the calling thread is, for what is beside the layer: the ids of the section that is entered on it, its place in a trace,
//! for logs, requests and child processes.

use crate::context::ids::SpanIds;
use crate::context::propagation::TraceContext;
use crate::hot::open::Parent;
use crate::hot::recorder::{self, Recorder};
use crate::hot::state::ThreadState;
use crate::hot::thread;
use crate::shared::attrs::Entry;

/// Of the innermost section that is entered on this thread, or, where it leaves no span, or may turn out too small for one, of the
/// one around it that does. `None` outside of all sections, where none of them leaves a span, and where nothing is recorded.
#[must_use]
pub fn current_ids() -> Option<SpanIds> {
    thread::with_current(|state| ids_in(state, state.current()?))?
}

/// As [`current_ids`], inside of this `tracing` span, on whatever thread; `None` where it is not recorded, or has ended.
#[cfg(feature = "fmt")]
pub(crate) fn ids_of(span: &tracing::Id) -> Option<SpanIds> {
    thread::with_current(|state| ids_in(state, &state.recorder.span_parent(span.into_u64())?))?
}

/// Of what is inside of a section.
fn ids_in(state: &ThreadState, section: &Parent) -> Option<SpanIds> {
    // Nobody writes the ids of a root that leaves no span.
    let about = state.recorder.traces.about(section.trace).filter(|about| about.root_leaves)?;
    Some(SpanIds { trace_id: about.id, span_id: state.sure_span_id(section)?.to_be_bytes() })
}

impl TraceContext {
    /// Links the innermost section that is entered on this thread to the span that this names: a section that serves a
    /// request, to who made it. Nothing where there is no such section, or where it leaves no span.
    pub fn link(&self) {
        let Some(SpanIds { trace_id, span_id }) = self.ids() else { return };
        thread::with_current(|state| {
            let (key, _) = state.entered().next()?;
            let (open, owned) = state.open(key)?;
            open.push(owned, Entry::Link(trace_id, u64::from_be_bytes(span_id)));
            Some(())
        });
    }
}

/// Where this thread is: in the section of [`current_ids`], or, outside of all, in the run. For
/// requests and child processes that it starts.
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// let _run = stepscope::init();
/// std::process::Command::new("worker").envs(stepscope::context().environment()).spawn()?;
/// # Ok(())
/// # }
/// ```
///
/// Baggage is passed on as it came. Steps are traces of their own, so the `tracestate` that came is not theirs. Where nothing
/// is recorded, all is passed on as it came.
#[must_use]
pub fn context() -> TraceContext {
    // In a forked child nothing is recorded, and no lock is taken.
    if recorder::current_id() == 0 {
        return TraceContext::from_environment();
    }
    recorder::current().map_or_else(TraceContext::from_environment, |recorder| within(&recorder))
}

fn within(recorder: &Recorder) -> TraceContext {
    let run =
        || SpanIds { trace_id: recorder.run_trace_id, span_id: recorder.run_parent().span_id.to_be_bytes() };
    let identity = &recorder.identity;
    TraceContext::own(
        current_ids().unwrap_or_else(run),
        identity.caller.baggage().to_owned(),
        (identity.run_id.clone(), identity.attempt),
    )
}
