//! Sections that wait for what they link to, in their own trace or in others.

use stepscope_core::path::join;
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{PhaseTag, Span, Trace};

use crate::critical_path::Waited;
use crate::run::Target;
use crate::step_view::StepView;
use crate::step_view::group::Group;
use crate::step_view::phase_slots::known;
use crate::step_view::place::Node;

/// OpenTelemetry's numbers of the span kinds at both ends of a queue, and of calls.
const CLIENT: i32 = 3;
pub(crate) const PRODUCER: i32 = 4;
pub(crate) const CONSUMER: i32 = 5;

/// Phases whose sections wait for what they link to.
const WAITS: [Phase; 3] = [Phase::DataWait, Phase::Synchronization, Phase::Communication];

/// Whether a section waits for what it links to in other traces. What a root links to is where it came from.
#[inline]
pub(crate) fn waits_elsewhere(view: &StepView<'_>, index: u32, span: &Span, node: &Node) -> bool {
    let is_waiting = || is_wait(node) && span.kind != SectionKind::Batch;
    node.anchor != index && view.links.leave(span.id) && (is_waiting() || takes_messages(view.trace, span))
}

/// Adds a piece of the path on which a section waited for what it links to.
pub(crate) fn waited(
    group: &Group<'_>,
    span: &Span,
    node: &Node,
    (start_ns, end_ns): (u64, u64),
    kind: usize,
    target: &mut Target<'_>,
) {
    let links = group.view.links.traces(span.id);
    if links.is_empty() || start_ns >= end_ns || node.is_orphan {
        return;
    }
    if let Some(acc) = target.acc(node).critical.get_mut(kind) {
        acc.linked(end_ns - start_ns);
    }
    if target.run.linked.admits_wait(&links) {
        let path = join(target.run.sections.tree().names(node.path)).into();
        let (kind, must_end) = (kind as u8, !is_wait(node));
        target.run.linked.waited(Waited { start_ns, end_ns, kind, path, links, must_end });
    }
}

/// What a section that waits for what it links to does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Nothing.
    Only,
    /// It may work on it as well, so that it waited only for what ended meanwhile.
    AndWorks,
}

/// Whether a section waits for what it links to.
pub(crate) fn waiting(trace: &Trace, span: &Span, node: &Node) -> Option<Waiting> {
    if is_wait(node) {
        return Some(Waiting::Only);
    }
    takes_messages(trace, span).then_some(Waiting::AndWorks)
}

/// Whether a section waits, by its phase.
pub(crate) fn is_wait(node: &Node) -> bool {
    WAITS.map(known).contains(&node.slot)
}

/// Whether a section without a phase of its own takes messages, by OpenTelemetry's conventions: then it waited for those that
/// it links to, if they were sent meanwhile. It may work on them as well.
fn takes_messages(trace: &Trace, span: &Span) -> bool {
    let receives = |word: Option<&str>| matches!(word, Some("receive" | "poll"));
    let is_receipt = || {
        let mut words = trace.text(span.name).split_whitespace();
        receives(words.next()) || receives(words.last())
    };
    let has_phase = span.phase != PhaseTag::Absent;
    !has_phase && (span.span_kind == CONSUMER || (span.span_kind == CLIENT && is_receipt()))
}
