//! The critical path of one window into the sums of its sections.

use stepscope_model::{Figure, Span, Trace};

use super::place::{Node, Role};
use super::{Fold, Target};
use crate::critical::{Member, NO_PARENT, Piece, Standing, TRACES, Walk};

/// OpenTelemetry's numbers of the span kinds at both ends of a queue.
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// The part of its own length by which a child on another thread may go on after its parent: one in so many. A little
/// later is no more than the order in which two threads put down their ends.
const PAST_PART: u64 = 10;

/// Memory that is reused from window to window.
#[derive(Debug, Clone, Default)]
pub(super) struct Paths {
    walk: Walk,
    members: Vec<Member>,
    /// Place among the members, by span.
    places: Vec<u32>,
    pub(super) pieces: Vec<Piece>,
    standing: Vec<Standing>,
    /// Time on the path, by member.
    own_ns: Vec<u64>,
    /// Spans that link to others of the trace at hand, sorted; only of programs that are not ours.
    followers: Vec<u64>,
}

impl Paths {
    /// Takes down the links of a trace.
    pub(super) fn read_links(&mut self, trace: &Trace) {
        self.followers.clear();
        // Our own layer links steps to runs and waits to batches: other traces.
        if !trace.is_ours {
            let inner = trace.links.iter().filter(|link| link.trace == trace.id && link.target != link.span);
            self.followers.extend(inner.map(|link| link.span));
            self.followers.sort_unstable();
        }
    }
}

impl Fold {
    /// Walks the window of `anchor`. `are_nested` says that the spans that were swept nest like calls; where they
    /// are all there is, each is on the path with its own time.
    pub(super) fn critical(
        &mut self,
        trace: &Trace,
        anchor: u32,
        window: &Node,
        mode: Option<usize>,
        are_nested: bool,
        target: &mut Target<'_>,
    ) {
        // Of programs that have no steps each trace is a window.
        let kind = match (mode, window.role) {
            (Some(mode), _) => mode,
            (None, Role::Outside) if !trace.is_ours && !self.follows(trace, anchor) => TRACES,
            (None, _) => return,
        };
        let mut other_ns = 0;
        // Our own layer writes no queues within a trace.
        let is_consumer =
            |&index: &u32| trace.spans.get(index as usize).is_some_and(|span| span.span_kind == CONSUMER);
        let has_queues = || !trace.is_ours && self.members.iter().any(is_consumer);
        if are_nested && self.sweep_nodes.len() == self.members.len() && !has_queues() {
            for (&index, &own_ns) in self.sweep_nodes.iter().zip(self.sweep.own()) {
                if index == anchor {
                    other_ns = own_ns;
                } else {
                    add(&self.nodes, index, Standing::On, own_ns, kind, target);
                }
            }
        } else {
            other_ns = self.walk_path(trace, anchor, kind, target);
        }
        if let Some(windows) = target.windows.get_mut(kind) {
            windows.count = windows.count.saturating_add(1);
            windows.total_ns = windows.total_ns.saturating_add(window.duration_ns().into());
            windows.other_ns = windows.other_ns.saturating_add(other_ns.into());
        }
    }

    /// Whether a root follows from another span of its trace: what caused it did not wait for it, and its time is no
    /// window of its own.
    fn follows(&self, trace: &Trace, anchor: u32) -> bool {
        let root = trace.spans.get(anchor as usize).filter(|span| span.parent.is_none());
        root.is_some_and(|root| self.paths.followers.binary_search(&root.id).is_ok())
    }

    /// Walks the window of `anchor` and gives its place among the members.
    pub(super) fn walk(&mut self, trace: &Trace, anchor: u32) -> u32 {
        let Self { paths, nodes, members, .. } = self;
        paths.members.clear();
        // What the last window left is taken back at its end: a trace may have as many windows as spans.
        if paths.places.len() < nodes.len() {
            paths.places.resize(nodes.len(), NO_PARENT);
        }
        for (&index, place) in members.iter().zip(0u32..) {
            if let Some(slot) = paths.places.get_mut(index as usize) {
                *slot = place;
            }
        }
        for &index in members.iter() {
            let (Some(span), Some(node)) = (trace.spans.get(index as usize), nodes.get(index as usize))
            else {
                continue;
            };
            let above = Some(node.parent as usize).filter(|_| index != anchor);
            let parent = above.and_then(|above| Some((trace.spans.get(above)?, nodes.get(above)?)));
            paths.members.push(Member {
                start_ns: node.start_ns,
                end_ns: node.end_ns,
                parent: above.and_then(|above| paths.places.get(above).copied()).unwrap_or(NO_PARENT),
                id: span.id,
                process: span.process,
                thread: node.thread,
                is_suspended: span.amount(Figure::IdleNs).is_some_and(|idle_ns| idle_ns > 0),
                is_detached: parent.is_some_and(|parent| is_detached((span, node), parent)),
            });
        }
        let root = paths.places.get(anchor as usize).copied().unwrap_or(NO_PARENT);
        for &index in members.iter() {
            if let Some(slot) = paths.places.get_mut(index as usize) {
                *slot = NO_PARENT;
            }
        }
        paths.walk.run(&paths.members, root, &mut paths.pieces, &mut paths.standing);
        root
    }

    /// Gives the time of the path that is the window's own.
    fn walk_path(&mut self, trace: &Trace, anchor: u32, kind: usize, target: &mut Target<'_>) -> u64 {
        let root = self.walk(trace, anchor);
        let Self { paths, nodes, members, .. } = self;
        paths.own_ns.clear();
        paths.own_ns.resize(members.len(), 0);
        for piece in &paths.pieces {
            if let Some(own_ns) = paths.own_ns.get_mut(piece.member as usize) {
                *own_ns += piece.end_ns - piece.start_ns;
            }
        }
        for ((&index, &own_ns), standing) in members.iter().zip(&paths.own_ns).zip(&paths.standing) {
            if index != anchor {
                add(nodes, index, *standing, own_ns, kind, target);
            }
        }
        paths.own_ns.get(root as usize).copied().unwrap_or(0)
    }
}

/// Adds a span to its section. One whose call is not its section's own has time only.
fn add(nodes: &[Node], index: u32, standing: Standing, own_ns: u64, kind: usize, target: &mut Target<'_>) {
    let Some(node) = nodes.get(index as usize) else { return };
    let Some(acc) = target.acc(node).critical.get_mut(kind) else { return };
    match standing {
        Standing::On => acc.on_path(own_ns, u64::from(!node.is_collapsed)),
        Standing::Slack(slack_ns) if !node.is_collapsed => acc.beside(slack_ns),
        Standing::Slack(_) | Standing::Apart => {}
    }
}

/// Whether a parent cannot have waited for a child: it was handed to a queue, or it ran on another thread of the same
/// process and went well past the parent's end.
fn is_detached(child: (&Span, &Node), parent: (&Span, &Node)) -> bool {
    let is_queued = child.0.span_kind == CONSUMER && parent.0.span_kind == PRODUCER;
    // Between processes neither the numbers of threads nor the clocks can be compared to tell.
    let is_elsewhere = child.0.process == parent.0.process
        && child.1.thread.is_some()
        && parent.1.thread.is_some()
        && child.1.thread != parent.1.thread;
    let past_ns = child.1.end_ns.saturating_sub(parent.1.end_ns);
    is_queued || (is_elsewhere && past_ns.saturating_mul(PAST_PART) > child.1.duration_ns())
}
