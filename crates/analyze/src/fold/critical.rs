//! The critical path of one window into the sums of its sections.

use stepscope_core::identity::TraceId;
use stepscope_core::path::join;
use stepscope_model::{Figure, Span, Trace};

use super::place::{Node, Role};
use super::{Fold, Target};
use crate::critical::{Made, Member, NO_PARENT, PIECES, Piece, Standing, TRACES, Waited, Walk};

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
    /// Spans that link to other traces, and these; sorted.
    links: Vec<(u64, TraceId)>,
    /// The waits for batches of the group at hand.
    pub(super) waits: Vec<u32>,
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
        self.links.clear();
        let outer = trace.links.iter().filter(|link| link.trace != trace.id);
        self.links.extend(outer.map(|link| (link.span, link.trace)));
        self.links.sort_unstable();
    }

    /// The batch that a wait links to; of several the smallest.
    fn batch_of(&self, span: &Span) -> Option<TraceId> {
        let at = self.links.partition_point(|&(other, _)| other < span.id);
        self.links.get(at).filter(|&&(other, _)| other == span.id).map(|&(_, batch)| batch)
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
        // Of a wait with sections inside it is to be known when they were.
        let has_insides =
            |&index: &u32| self.nodes.get(index as usize).is_none_or(|wait| wait.covered_ns > 0);
        let are_leaves = || self.paths.links.is_empty() || !self.paths.waits.iter().any(has_insides);
        if are_nested && self.sweep_nodes.len() == self.members.len() && !has_queues() && are_leaves() {
            for (&index, &own_ns) in self.sweep_nodes.iter().zip(self.sweep.own()) {
                if index == anchor {
                    other_ns = own_ns;
                } else {
                    add(&self.nodes, index, Standing::On, own_ns, kind, target);
                }
            }
            for &index in self.paths.waits.iter().filter(|_| !self.paths.links.is_empty()) {
                let Some(wait) = self.nodes.get(index as usize) else { continue };
                let start_ns = wait.start_ns.clamp(window.start_ns, window.end_ns);
                let end_ns = wait.end_ns.clamp(start_ns, window.end_ns);
                self.waited(trace, index, (start_ns, end_ns), kind, target);
            }
        } else {
            other_ns = self.walk_path(trace, anchor, kind, target);
            for piece in self.paths.pieces.iter().filter(|_| !self.paths.waits.is_empty()) {
                let Some(&index) = self.members.get(piece.member as usize) else { continue };
                if self.nodes.get(index as usize).is_some_and(|node| node.is_wait) {
                    self.waited(trace, index, (piece.start_ns, piece.end_ns), kind, target);
                }
            }
        }
        if let Some(windows) = target.windows.get_mut(kind) {
            windows.count = windows.count.saturating_add(1);
            windows.total_ns = windows.total_ns.saturating_add(window.duration_ns().into());
            windows.other_ns = windows.other_ns.saturating_add(other_ns.into());
        }
    }

    /// Adds a piece of the path on which a section waited for a batch that it links to.
    fn waited(
        &self,
        trace: &Trace,
        index: u32,
        (start_ns, end_ns): (u64, u64),
        kind: usize,
        target: &mut Target<'_>,
    ) {
        let Some((span, node)) = trace.spans.get(index as usize).zip(self.nodes.get(index as usize)) else {
            return;
        };
        let Some(batch) = self.paths.batch_of(span).filter(|_| start_ns < end_ns && !node.is_orphan) else {
            return;
        };
        if let Some(acc) = target.acc(node).critical.get_mut(kind) {
            acc.linked(end_ns - start_ns);
        }
        if target.linked.admits(&batch) {
            let tree = target.sections.tree();
            let path = join(tree.names(node.path)).into();
            target.linked.waited(batch, Waited { start_ns, end_ns, kind: kind as u8, path });
        }
    }

    /// Keeps how a batch was made, where there is room.
    pub(super) fn made(&mut self, trace: &Trace, anchor: u32, target: &mut Target<'_>) {
        if !target.linked.admits(&trace.id) {
            return;
        }
        self.walk(trace, anchor);
        let tree = target.sections.tree();
        let mut made: Vec<Made> = Vec::new();
        for (piece, at) in self.paths.pieces.iter().zip(0usize..) {
            let index = if at < PIECES - 1 {
                self.members.get(piece.member as usize).copied().unwrap_or(anchor)
            } else {
                anchor
            };
            let Some(node) = self.nodes.get(index as usize).filter(|node| !node.is_orphan) else { continue };
            let path: Box<str> = join(tree.names(node.path)).into();
            // From the end backwards.
            match made.last_mut() {
                Some(last) if last.path == path && last.start_ns == piece.end_ns => {
                    last.start_ns = piece.start_ns
                }
                _ => made.push(Made { start_ns: piece.start_ns, end_ns: piece.end_ns, path }),
            }
        }
        target.linked.made(trace.id, made);
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
