//! The critical path of one window: what the walk is given of a group, and its path into the sums of its sections.

use stepscope_core::path::MAX_DEPTH;
use stepscope_model::{Figure, Span};

use crate::critical_path::waiting::{CONSUMER, PRODUCER, Waiting, waited, waiting, waits_elsewhere};
use crate::critical_path::{Member, NO_PARENT, Piece, RunInterval, Standing, TRACES, Walk};
use crate::phases::workers::{Worked, await_workers};
use crate::run::Target;
use crate::step_view::forest;
use crate::step_view::group::Group;
use crate::step_view::links::Links;
use crate::step_view::place::{Node, Role, running};

/// The part of its own length by which a child on another thread may go on after its parent: one in so many. A little
/// later is no more than the order in which two threads put down their ends.
const PAST_PART: u64 = 10;

/// Walks the windows of groups; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Walks {
    walk: Walk,
    /// The spans of the group that was walked.
    pub(crate) members: Vec<Member>,
    run_intervals: Vec<RunInterval>,
    /// Place among the members, by span.
    places: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    standing: Vec<Standing>,
    /// Time on the path, by member.
    own_ns: Vec<u64>,
    /// Ids of the members, with their places; sorted. Only where there are links within the trace.
    ids: Vec<(u64, u32)>,
    workers: Vec<Worked>,
    /// The spans of the group at hand that wait for what they link to in other traces.
    waits: Vec<u32>,
    /// The window's place among the members, once the group at hand was walked.
    walked: Option<u32>,
}

impl Walks {
    /// Begins with a group.
    pub(crate) fn begin(&mut self) {
        self.waits.clear();
        self.walked = None;
    }

    /// Takes down a span, if it waits for what it links to.
    #[inline]
    pub(crate) fn note(&mut self, group: &Group<'_>, index: u32, span: &Span, node: &Node) {
        if waits_elsewhere(group.view, index, span, node) {
            self.waits.push(index);
        }
    }

    /// Sets what waits among the members waited for: of what one links to the last that ended while it waited; where there
    /// is none, and it did nothing but wait, the last of those that were at work when its wait was over. As between traces.
    fn await_links(&mut self, group: &Group<'_>, links: &Links) {
        self.ids.clear();
        if !links.has_inner() {
            return;
        }
        self.ids.extend(self.members.iter().zip(0u32..).map(|(member, place)| (member.id, place)));
        self.ids.sort_unstable();
        for (at, (_, span, node)) in group.spans().enumerate() {
            let Some(&waiter) = self.members.get(at) else { continue };
            // Few have links.
            if links.within(waiter.id).next().is_none() {
                continue;
            }
            let Some(waiting) = waiting(group.view.trace, span, node) else { continue };
            let targets = links.within(waiter.id).filter_map(|id| {
                let place = self.ids.binary_search_by_key(&id, |&(other, _)| other).ok()?;
                let &(_, place) = self.ids.get(place)?;
                Some((self.members.get(place as usize)?, place))
            });
            // What is around it it cannot have waited for.
            let parent_of = |at: u32| self.members.get(at as usize).map(|member| member.parent);
            let in_time = |target: &Member| target.end_ns <= waiter.end_ns;
            let meanwhile = targets.filter(|&(target, place)| {
                let goes_on = target.start_ns < waiter.end_ns && waiting == Waiting::Only;
                waiter.start_ns < target.end_ns
                    && (in_time(target) || goes_on)
                    && !forest::is_around(parent_of, place, at as u32, MAX_DEPTH.into())
            });
            let last = meanwhile
                .max_by_key(|(target, _)| (in_time(target), target.end_ns, target.start_ns, target.id));
            let awaits = last.map_or(NO_PARENT, |(_, place)| place);
            if let Some(member) = self.members.get_mut(at) {
                member.awaits = awaits;
            }
        }
    }

    /// Adds the path of a window to its sections. `nested` are its spans with their own time, where these nest like calls and
    /// are all there is: then each is on the path with that. Gives the window's own.
    pub(crate) fn observe(
        &mut self,
        group: &Group<'_>,
        nested: Option<(&[u32], &[u64])>,
        target: &mut Target<'_>,
    ) -> u64 {
        let Group { view, window, anchor, .. } = *group;
        // Of programs that have no steps each trace is a window.
        let kind = match (group.mode, window.role) {
            (Some(mode), _) => mode as usize,
            (None, Role::Outside) if !view.trace.is_ours && !follows(group) => TRACES,
            (None, _) => return 0,
        };
        let mut other_ns = 0;
        if let Some((nodes, own_ns)) = nested.filter(|(nodes, _)| self.is_simple(group, nodes)) {
            for (&index, &own_ns) in nodes.iter().zip(own_ns) {
                if index == anchor {
                    other_ns = own_ns;
                }
                let on = view.node(index).filter(|node| is_within(node, window));
                if let Some(node) = on.filter(|_| index != anchor || is_section(kind)) {
                    add(node, Standing::On, own_ns, kind, target);
                }
            }
            for (span, node) in self.waits.iter().filter_map(|&index| view.get(index)) {
                waited(group, span, node, group.clamp(node), kind, target);
            }
        } else {
            let root = self.walk(group);
            self.own_ns.clear();
            self.own_ns.resize(group.members.len(), 0);
            for piece in &self.pieces {
                if let Some(own_ns) = self.own_ns.get_mut(piece.member as usize) {
                    *own_ns += piece.end_ns - piece.start_ns;
                }
            }
            other_ns = self.own_ns.get(root as usize).copied().unwrap_or(0);
            for (((index, _, node), &own_ns), standing) in group.spans().zip(&self.own_ns).zip(&self.standing)
            {
                if index != anchor || is_section(kind) {
                    add(node, *standing, own_ns, kind, target);
                }
            }
            for piece in self.pieces.iter().filter(|_| !self.waits.is_empty()) {
                let Some(&index) = group.members.get(piece.member as usize) else { continue };
                let wait = view.get(index).filter(|&(span, node)| waits_elsewhere(view, index, span, node));
                if let Some((span, node)) = wait {
                    waited(group, span, node, (piece.start_ns, piece.end_ns), kind, target);
                }
            }
        }
        if let Some(windows) = target.run.windows.get_mut(kind) {
            windows.count = windows.count.saturating_add(1);
            windows.total_ns = windows.total_ns.saturating_add(window.duration_ns().into());
            windows.other_ns = windows.other_ns.saturating_add(other_ns.into());
        }
        other_ns
    }

    /// Whether what nests is all that the path depends on: nothing waits for what it links to but in leaves, no messages are
    /// taken off queues, which our own layer does not write, and nothing goes past the window on another thread, as what is
    /// asynchronous may.
    fn is_simple(&self, group: &Group<'_>, nodes: &[u32]) -> bool {
        let Group { view, window, .. } = *group;
        let has_queues =
            || !view.trace.is_ours && group.spans().any(|(_, span, _)| span.span_kind == CONSUMER);
        let is_there = |&index: &u32| view.node(index).is_none_or(|node| node.thread == window.thread);
        let is_leaf = |&index: &u32| view.node(index).is_some_and(|wait| wait.covered_ns == 0);
        nodes.iter().all(is_there)
            && !has_queues()
            && !view.links.has_inner()
            && self.waits.iter().all(is_leaf)
    }

    /// Walks the window of the group at hand, and gives its place among the members. Once a group, whoever asks.
    pub(crate) fn walk(&mut self, group: &Group<'_>) -> u32 {
        let root = self.walked.unwrap_or_else(|| self.walk_anew(group));
        self.walked = Some(root);
        root
    }

    fn walk_anew(&mut self, group: &Group<'_>) -> u32 {
        let Group { view, anchor, .. } = *group;
        self.members.clear();
        self.run_intervals.clear();
        // What the last window left is taken back at its end: a trace may have as many windows as spans.
        if self.places.len() < view.nodes.len() {
            self.places.resize(view.nodes.len(), NO_PARENT);
        }
        for (&index, place) in group.members.iter().zip(0u32..) {
            if let Some(slot) = self.places.get_mut(index as usize) {
                *slot = place;
            }
        }
        for (index, span, node) in group.spans() {
            let parent = view.get(node.parent).filter(|_| index != anchor);
            let place = parent.and_then(|_| self.places.get(node.parent as usize));
            let member = self.members.len() as u32;
            self.run_intervals.extend(running(view.trace, span).iter().map(|poll| RunInterval {
                member,
                start_ns: poll.start_ns,
                end_ns: poll.end_ns,
                thread: poll.thread,
                is_whole: poll.count == 1,
            }));
            self.members.push(Member {
                start_ns: node.start_ns,
                end_ns: node.end_ns,
                parent: place.copied().unwrap_or(NO_PARENT),
                id: span.id,
                process: span.process,
                thread: node.thread,
                is_suspended: span.amount(Figure::IdleNs).is_some_and(|idle_ns| idle_ns > 0),
                is_detached: parent
                    .is_some_and(|parent| is_detached(view.trace.is_ours, (span, node), parent)),
                awaits: NO_PARENT,
            });
        }
        self.await_links(group, view.links);
        await_workers(group, &mut self.members, &mut self.workers);
        let root = self.places.get(anchor as usize).copied().unwrap_or(NO_PARENT);
        for &index in group.members {
            if let Some(slot) = self.places.get_mut(index as usize) {
                *slot = NO_PARENT;
            }
        }
        let Self { walk, members, run_intervals, pieces, standing, .. } = self;
        walk.run_with(members, run_intervals, root, pieces, standing);
        root
    }
}

/// Whether a root follows from another span of its trace: what caused it did not wait for it, and its time is no window
/// of its own.
fn follows(group: &Group<'_>) -> bool {
    let root = Some(group.root).filter(|span| span.parent.is_none());
    root.is_some_and(|root| group.view.links.within(root.id).next().is_some())
}

/// Whether a span is in a window for some of its time, or, where it took none, at all.
const fn is_within(node: &Node, window: &Node) -> bool {
    let is_moment = node.start_ns == node.end_ns;
    let (starts, ends) = (node.start_ns < window.end_ns, window.start_ns < node.end_ns);
    starts && ends || is_moment && window.start_ns <= node.start_ns && node.start_ns <= window.end_ns
}

/// Whether the span that is the window is a section on its own path. A step is what its sections are parts of; the root of
/// any other trace is an operation as those below it are.
const fn is_section(kind: usize) -> bool {
    kind == TRACES
}

/// Adds a span to its section. One whose call is not its section's own has time only.
fn add(node: &Node, standing: Standing, own_ns: u64, kind: usize, target: &mut Target<'_>) {
    let Some(acc) = target.acc(node).critical.get_mut(kind) else { return };
    match standing {
        Standing::On => acc.on_path(own_ns, u64::from(!node.is_collapsed)),
        Standing::Slack(slack_ns) if !node.is_collapsed => acc.beside(slack_ns),
        Standing::Slack(_) | Standing::Apart => {}
    }
}

/// Whether a parent cannot have waited for a child: it was handed to a queue, or it ran on another thread of the same
/// process and went well past the parent's end. The latter only where our own layer wrote down both, which ends a section
/// with its last exit; other programs may end a span that still has work to do, and are read as Jaeger and CRISP do.
fn is_detached(is_ours: bool, child: (&Span, &Node), parent: (&Span, &Node)) -> bool {
    let is_queued = child.0.span_kind == CONSUMER && parent.0.span_kind == PRODUCER;
    // Between processes neither the numbers of threads nor the clocks can be compared to tell.
    let is_elsewhere = is_ours
        && child.0.process == parent.0.process
        && child.1.thread.is_some()
        && parent.1.thread.is_some()
        && child.1.thread != parent.1.thread;
    let past_ns = child.1.end_ns.saturating_sub(parent.1.end_ns);
    is_queued || (is_elsewhere && past_ns.saturating_mul(PAST_PART) > child.1.duration_ns())
}
