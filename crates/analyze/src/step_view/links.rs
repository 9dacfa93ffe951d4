//! What the spans of a trace link to: other traces, and other spans of it.

use stepscope_core::identity::TraceId;
use stepscope_model::Trace;

/// Links of a section to other traces that count: to the smallest ids.
pub(crate) const LINKS: usize = 8;

/// The links of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// Spans that link to other traces, and these; sorted.
    outer: Vec<(u64, TraceId)>,
    /// Spans that link to others of the trace, and these; sorted.
    inner: Vec<(u64, u64)>,
}

/// What a span links to, of links sorted by spans.
fn of<T: Copy>(links: &[(u64, T)], span: u64) -> impl Iterator<Item = T> {
    let first = links.partition_point(|&(other, _)| other < span);
    let own = links.get(first..).unwrap_or_default().iter();
    own.take_while(move |&&(other, _)| other == span).map(|&(_, target)| target)
}

impl Links {
    pub(super) fn read(&mut self, trace: &Trace) {
        self.inner.clear();
        self.outer.clear();
        for link in &trace.links {
            if link.trace != trace.id {
                self.outer.push((link.span, link.trace));
            } else if link.target != link.span {
                self.inner.push((link.span, link.target));
            }
        }
        self.inner.sort_unstable();
        self.outer.sort_unstable();
    }

    /// Whether spans of the trace link to others of it.
    pub(crate) fn has_inner(&self) -> bool {
        !self.inner.is_empty()
    }

    /// What a span links to within the trace.
    pub(crate) fn within(&self, span: u64) -> impl Iterator<Item = u64> {
        of(&self.inner, span)
    }

    /// Whether a span links to other traces.
    pub(crate) fn leave(&self, span: u64) -> bool {
        !self.outer.is_empty() && of(&self.outer, span).next().is_some()
    }

    /// The other traces that a span links to, those with the smallest ids.
    pub(crate) fn traces(&self, span: u64) -> Vec<TraceId> {
        let mut traces: Vec<TraceId> = of(&self.outer, span).collect();
        traces.dedup();
        traces.truncate(LINKS);
        traces
    }
}
