//! What a trace says of itself once those that continue it are in it: its root has the counts of all, and what led from one
//! of them to another is gone.

use std::collections::BTreeMap;

use stepscope_core::identity::TraceId;

use crate::{Figure, Span, Trace};

/// What roots say, and what is the sum of that.
const COUNTS: [Figure; 3] = [Figure::TraceSpans, Figure::TraceDropped, Figure::TraceLeftOut];

/// Settles a trace that the traces `joined`, sorted, are in; so many are `missing`.
pub(super) fn settle(trace: &mut Trace, joined: &[TraceId], missing: u32) {
    let mut sums = COUNTS.map(|_| None::<i64>);
    // Roots of the traces that are in it now, of those that have counts: what they are parts of.
    let mut parts: BTreeMap<u64, u64> = BTreeMap::new();
    let announces = |span: &&mut Span| span.figure(Figure::TraceSpans).is_some();
    for span in trace.spans.iter_mut().filter(announces) {
        for (sum, figure) in sums.iter_mut().zip(COUNTS) {
            *sum = span.figure(figure).map(|count| sum.unwrap_or(0).saturating_add(count)).or(*sum);
        }
        if let Some(parent) = span.parent {
            parts.insert(span.id, parent);
            COUNTS.into_iter().chain([Figure::TraceParts]).for_each(|figure| span.clear_figure(figure));
        }
    }
    let mut roots = trace.spans.iter_mut().filter(announces);
    let root_id = roots.next().map(|root| root.id);
    // What stands beside a step begins after it.
    for beside in roots.filter(|span| span.figure(Figure::StepDeep).is_some()) {
        parts.extend(root_id.map(|root_id| (beside.id, root_id)));
        COUNTS.into_iter().chain([Figure::TraceParts]).for_each(|figure| beside.clear_figure(figure));
    }
    if let Some(root) = trace.spans.iter_mut().find(announces) {
        for (sum, figure) in sums.into_iter().zip(COUNTS) {
            sum.into_iter().for_each(|sum| root.set_figure(figure, sum));
        }
        root.clear_figure(Figure::TraceParts);
        if missing > 0 {
            root.set_figure(Figure::TraceParts, missing.into());
        }
    }
    let of_root = trace.links.iter().filter(|link| Some(link.span) == root_id);
    let of_root: Vec<(TraceId, u64)> = of_root.map(|link| (link.trace, link.target)).collect();
    let id = trace.id;
    trace.links.retain_mut(|link| {
        if joined.binary_search(&link.trace).is_ok() {
            link.trace = id;
        }
        let leads_back = |&parent: &u64| {
            (link.trace, link.target) == (id, parent) || of_root.contains(&(link.trace, link.target))
        };
        !parts.get(&link.span).is_some_and(leads_back)
    });
}
