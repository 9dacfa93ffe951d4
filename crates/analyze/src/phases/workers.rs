//! Sections in which the driving thread waited for what other threads did beside it, below a section around both: nothing
//! links them, so that it is told from the time. Where the path goes then is decided by the walk.

use stepscope_core::Phase;
use stepscope_core::path::MAX_DEPTH;
use stepscope_model::Figure;

use crate::critical_path::{Member, NO_PARENT};
use crate::step_view::StepView;
use crate::step_view::forest;
use crate::step_view::group::Group;
use crate::step_view::phase_slots::{ABSENT, known};
use crate::step_view::place::Node;

/// Who uses a processor for less than one in so many parts of its time waits; who uses it for half of it or more works.
const IDLE_PART: u64 = 10;
/// By how much a wait ends after what it waited for: one in so many parts of it, or so long.
const WAKE_PART: u64 = 100;
const WAKE_NS: u64 = 50_000;
/// How many sections that ended later are looked at, for what the thread that is waited for did next.
const LATER: usize = 64;
/// A short wait ends within one in so many parts of it.
const SHORT_PART: u64 = 4;

/// What another thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Worked {
    end_ns: u64,
    start_ns: u64,
    id: u64,
    /// Its place among the members.
    place: u32,
    /// Its index, and that of the section around it.
    index: u32,
    around: u32,
}

/// Has sections of the driving thread, where they seem to have waited, await the last that ended meanwhile. `members` are
/// the spans of the group, `workers` memory that is reused.
pub(crate) fn await_workers(group: &Group<'_>, members: &mut [Member], workers: &mut Vec<Worked>) {
    let nodes = group.view.nodes;
    workers.clear();
    let is_driving = |index: u32| group.view.node(index).is_some_and(|node| node.is_driving);
    let is_own = |node: &Node| node.anchor == group.anchor;
    for ((place, (index, _, node)), member) in (0..).zip(group.spans()).zip(&*members) {
        let is_elsewhere = is_own(node) && !node.is_driving && is_driving(node.parent);
        if is_elsewhere && !node.is_beside && node.start_ns < node.end_ns {
            let &Node { start_ns, end_ns, parent: around, .. } = node;
            workers.push(Worked { end_ns, start_ns, id: member.id, place, index, around });
        }
    }
    if workers.is_empty() {
        return;
    }
    workers.sort_unstable();
    for ((index, span, node), member) in group.spans().zip(members) {
        let is_called = is_own(node) && node.is_driving && index != group.anchor;
        // What is inside it says what it did.
        if !is_called || node.covered_ns > 0 || member.is_suspended || member.awaits != NO_PARENT {
            continue;
        }
        let may_have_waited = match span.amount(Figure::CpuNs) {
            Some(cpu_ns) => Some(cpu_ns).filter(|cpu_ns| cpu_ns.saturating_mul(2) < node.duration_ns()),
            None if is_wait(node) || was_idle_around(group.view, node) => Some(node.duration_ns()),
            None => None,
        };
        if let Some(last) = may_have_waited.and_then(|cpu_ns| last_within(nodes, workers, node, cpu_ns)) {
            member.awaits = last;
        }
    }
}

/// Whether a section is of a phase in which others are waited for.
fn is_wait(node: &Node) -> bool {
    node.slot == known(Phase::Synchronization) || node.slot == known(Phase::Communication)
}

/// Whether the thread of `own`, of which it is not known whether it worked, had nothing to do for half of that time or more
/// in the next section around it of which that is known: neither used nor wanted a processor.
fn was_idle_around(view: &StepView<'_>, own: &Node) -> bool {
    let mut around = own.parent;
    for _ in 0..MAX_DEPTH {
        let Some((span, node)) = view.get(around) else { break };
        if let Some(cpu_ns) = span.amount(Figure::CpuNs).filter(|_| node.is_driving) {
            let wanted_ns = cpu_ns.saturating_add(span.amount(Figure::RunQueueNs).unwrap_or(0));
            return node.duration_ns().saturating_sub(wanted_ns).saturating_mul(2) >= own.duration_ns();
        }
        around = node.parent;
    }
    false
}

/// The place of what `own` waited for among what other threads did; `cpu_ns` is at most its CPU time.
fn last_within(nodes: &[Node], workers: &[Worked], own: &Node, cpu_ns: u64) -> Option<u32> {
    let may_wait = |worked: &Worked| {
        let other = nodes.get(worked.index as usize)?;
        let is_its = own.slot == ABSENT || own.slot == other.slot || is_wait(own);
        let is_beside = is_around(nodes, worked.around, own) && !is_around(nodes, worked.index, own);
        (is_its && is_beside).then_some(other)
    };
    let ended = workers.partition_point(|worked| worked.end_ns <= own.end_ns);
    let meanwhile = workers.get(..ended)?.iter().rev().take_while(|worked| worked.end_ns > own.start_ns);
    let mut meanwhile = meanwhile.filter_map(|worked| Some((worked, may_wait(worked)?)));
    let (last, other) = meanwhile.next()?;
    let duration_ns = own.duration_ns();
    if cpu_ns.saturating_mul(IDLE_PART) < duration_ns {
        return Some(last.place);
    }
    // Where it is not known that it waited: whether it ended with a thread that had nothing else to do, once that and
    // others, such as further streams of a device, had worked for half of the time.
    let wake_ns = (duration_ns / WAKE_PART).max(WAKE_NS.min(duration_ns / SHORT_PART));
    // The union of what all did: ends come in descending order.
    let (mut worked_ns, mut from_ns) = (0u64, u64::MAX);
    for node in std::iter::once(other).chain(meanwhile.map(|(_, node)| node)) {
        let start_ns = node.start_ns.max(own.start_ns);
        worked_ns = worked_ns.saturating_add(node.end_ns.min(from_ns).saturating_sub(start_ns));
        from_ns = from_ns.min(start_ns);
    }
    let is_last = own.end_ns - last.end_ns <= wake_ns && worked_ns.saturating_mul(2) >= duration_ns;
    let goes_on = |worked: &Worked| {
        let is_its = nodes.get(worked.index as usize).is_some_and(|node| node.thread == other.thread);
        is_its && last.end_ns <= worked.start_ns && worked.start_ns < own.end_ns
    };
    let after = workers.partition_point(|worked| worked <= last);
    let mut later = workers.get(after..)?.iter().take(LATER);
    (is_last && !later.any(goes_on)).then_some(last.place)
}

/// Whether a section is around another.
fn is_around(nodes: &[Node], outer: u32, inner: &Node) -> bool {
    let parent_of = |at: u32| nodes.get(at as usize).map(|node| node.parent);
    forest::is_around(parent_of, outer, inner.parent, MAX_DEPTH.into())
}
