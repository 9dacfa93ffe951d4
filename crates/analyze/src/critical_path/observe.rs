//! The critical path of one window into the sums of its sections.

use stepscope_core::identity::{TraceId, instance_and_sequence};
use stepscope_core::path::{MAX_DEPTH, join};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Figure, PhaseTag, Poll, Span, Trace};

use crate::critical_path::{
    LINKS, LinkedPiece, Made, Member, NO_PARENT, PIECES, Piece, RunInterval, Standing, TRACES, Waited, Walk,
};
use crate::step_view::forest;
use crate::step_view::phase_slots::known;
use crate::step_view::place::{Node, Role};
use crate::step_view::{Fold, Target};

/// OpenTelemetry's numbers of the span kinds at both ends of a queue, and of calls.
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// Phases whose sections wait for what they link to.
const WAITS: [Phase; 3] = [Phase::DataWait, Phase::Synchronization, Phase::Communication];

/// The part of its own length by which a child on another thread may go on after its parent: one in so many. A little
/// later is no more than the order in which two threads put down their ends.
const PAST_PART: u64 = 10;

/// A span with more poll intervals counts as one whose stints are not known; our own layer writes fewer.
const STINTS: usize = 64;

/// Memory that is reused from window to window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths {
    walk: Walk,
    pub(crate) members: Vec<Member>,
    run_intervals: Vec<RunInterval>,
    /// Place among the members, by span.
    places: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    standing: Vec<Standing>,
    /// Time on the path, by member.
    own_ns: Vec<u64>,
    /// Spans that link to other traces, and these; sorted.
    links: Vec<(u64, TraceId)>,
    /// Spans that link to others of the trace at hand, and these; sorted.
    inner: Vec<(u64, u64)>,
    /// Ids of the members, with their places; sorted. Only where there are links within the trace.
    ids: Vec<(u64, u32)>,
    /// The members of the group at hand that wait for what they link to in other traces.
    pub(crate) waits: Vec<u32>,
    /// The group and the window that were walked last, and its place among the members: `pieces` are those of it.
    walked: Option<(u64, u32, u32)>,
}

impl Paths {
    /// Takes down the links of a trace.
    pub(crate) fn read_links(&mut self, trace: &Trace) {
        self.inner.clear();
        let inner = trace.links.iter().filter(|link| link.trace == trace.id && link.target != link.span);
        self.inner.extend(inner.map(|link| (link.span, link.target)));
        self.inner.sort_unstable();
        self.links.clear();
        let outer = trace.links.iter().filter(|link| link.trace != trace.id);
        self.links.extend(outer.map(|link| (link.span, link.trace)));
        self.links.sort_unstable();
    }

    /// What a span links to within the trace.
    fn links_within(&self, span: u64) -> impl Iterator<Item = u64> {
        let first = self.inner.partition_point(|&(other, _)| other < span);
        let own = self.inner.get(first..).unwrap_or_default().iter();
        own.take_while(move |&&(other, _)| other == span).map(|&(_, target)| target)
    }

    /// Sets what waits among the members waited for: of what one links to the last that ended while it waited; where there
    /// is none, and it did nothing but wait, the last of those that were at work when its wait was over. As between traces.
    fn await_links(&mut self, waiting: impl Fn(usize) -> Option<Waiting>) {
        self.ids.clear();
        if self.inner.is_empty() {
            return;
        }
        self.ids.extend(self.members.iter().zip(0u32..).map(|(member, place)| (member.id, place)));
        self.ids.sort_unstable();
        for at in 0..self.members.len() {
            let Some(&waiter) = self.members.get(at) else { continue };
            // Few have links.
            if self.links_within(waiter.id).next().is_none() {
                continue;
            }
            let Some(waiting) = waiting(at) else { continue };
            let targets = self.links_within(waiter.id).filter_map(|id| {
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

    /// The other traces that a span links to, those with the smallest ids.
    fn links_of(&self, span: u64) -> Vec<TraceId> {
        let first = self.links.partition_point(|&(other, _)| other < span);
        let own = self.links.get(first..).unwrap_or_default().iter();
        let mut links: Vec<TraceId> =
            own.take_while(|&&(other, _)| other == span).map(|&(_, trace)| trace).collect();
        links.dedup();
        links.truncate(LINKS);
        links
    }

    /// Whether a span links to other traces.
    fn has_links(&self, span: u64) -> bool {
        !self.links.is_empty() && self.links.binary_search_by_key(&span, |&(other, _)| other).is_ok()
    }
}

impl Fold {
    /// Adds the path of the window of `anchor`. `path` is the window's place on the path that was walked; where none was,
    /// the spans that were swept are all there is, and it says whether they nest like calls: then each is on the path
    /// with its own time. Gives the window's own.
    pub(crate) fn critical(
        &mut self,
        trace: &Trace,
        anchor: u32,
        window: &Node,
        mode: Option<usize>,
        path: Result<u32, bool>,
        target: &mut Target<'_>,
    ) -> u64 {
        // Of programs that have no steps each trace is a window.
        let kind = match (mode, window.role) {
            (Some(mode), _) => mode,
            (None, Role::Outside) if !trace.is_ours && !self.follows(trace, anchor) => TRACES,
            (None, _) => return 0,
        };
        let mut other_ns = 0;
        // Our own layer writes no queues within a trace.
        let is_consumer =
            |&index: &u32| trace.spans.get(index as usize).is_some_and(|span| span.span_kind == CONSUMER);
        let has_queues = || !trace.is_ours && self.members.iter().any(is_consumer);
        // Of a wait with sections inside it is to be known when they were.
        let has_insides =
            |&index: &u32| self.nodes.get(index as usize).is_none_or(|wait| wait.covered_ns > 0);
        let are_leaves = || !self.paths.waits.iter().any(has_insides);
        let has_links = || !self.paths.inner.is_empty();
        // What drives the window on another thread, as asynchronous sections do, may go past it.
        let is_elsewhere =
            |&index: &u32| self.nodes.get(index as usize).is_some_and(|node| node.thread != window.thread);
        let are_there = || !self.sweep_nodes.iter().any(is_elsewhere);
        if path == Err(true) && are_there() && !has_queues() && !has_links() && are_leaves() {
            for (&index, &own_ns) in self.sweep_nodes.iter().zip(self.sweep.own()) {
                if index == anchor {
                    other_ns = own_ns;
                }
                let is_on = self.nodes.get(index as usize).is_some_and(|node| is_within(node, window));
                if is_on && (index != anchor || is_section(kind)) {
                    add(&self.nodes, index, Standing::On, own_ns, kind, target);
                }
            }
            for &index in &self.paths.waits {
                let Some(wait) = self.nodes.get(index as usize) else { continue };
                let start_ns = wait.start_ns.clamp(window.start_ns, window.end_ns);
                let end_ns = wait.end_ns.clamp(start_ns, window.end_ns);
                self.waited(trace, index, (start_ns, end_ns), kind, target);
            }
        } else {
            let root = path.unwrap_or_else(|_| self.walk(trace, anchor));
            other_ns = self.walked(anchor, root, kind, target);
            for piece in self.paths.pieces.iter().filter(|_| !self.paths.waits.is_empty()) {
                let Some(&index) = self.members.get(piece.member as usize) else { continue };
                let is_wait = trace.spans.get(index as usize).zip(self.nodes.get(index as usize));
                if is_wait.is_some_and(|(span, node)| self.waits_elsewhere(trace, span, index, node)) {
                    self.waited(trace, index, (piece.start_ns, piece.end_ns), kind, target);
                }
            }
        }
        if let Some(windows) = target.windows.get_mut(kind) {
            windows.count = windows.count.saturating_add(1);
            windows.total_ns = windows.total_ns.saturating_add(window.duration_ns().into());
            windows.other_ns = windows.other_ns.saturating_add(other_ns.into());
        }
        other_ns
    }

    /// Whether a section waits for what it links to in other traces. What a root links to is where it came from.
    pub(crate) fn waits_elsewhere(&self, trace: &Trace, span: &Span, index: u32, node: &Node) -> bool {
        let is_waiting = || is_wait(node) && span.kind != SectionKind::Batch;
        node.anchor != index && self.paths.has_links(span.id) && (is_waiting() || takes_messages(trace, span))
    }

    /// Adds a piece of the path on which a section waited for what it links to.
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
        let links = self.paths.links_of(span.id);
        if links.is_empty() || start_ns >= end_ns || node.is_orphan {
            return;
        }
        if let Some(acc) = target.acc(node).critical.get_mut(kind) {
            acc.linked(end_ns - start_ns);
        }
        if target.linked.admits_wait(&links) {
            let tree = target.sections.tree();
            let path = join(tree.names(node.path)).into();
            let must_end = !is_wait(node);
            target.linked.waited(Waited { start_ns, end_ns, kind: kind as u8, path, links, must_end });
        }
    }

    /// Keeps how a batch was made, or another root for which somebody may wait, where there is room.
    pub(crate) fn made(&mut self, trace: &Trace, anchor: u32, target: &mut Target<'_>) {
        let (Some(root), Some(window)) = (trace.spans.get(anchor as usize), self.nodes.get(anchor as usize))
        else {
            return;
        };
        let is_batch = root.kind == SectionKind::Batch;
        let is_root = root.parent.is_none() && root.parent_path.is_empty();
        let (start_ns, end_ns) = (window.start_ns, window.end_ns);
        let is_admitted = match is_batch {
            true => target.linked.admits(&trace.id),
            false => is_root && target.linked.admits_other(&trace.id),
        };
        if !is_admitted {
            return;
        }
        let member = self.walk(trace, anchor);
        let tree = target.sections.tree();
        let mut made: Vec<LinkedPiece> = Vec::new();
        let pieces = &self.paths.pieces;
        let (kept, before) = pieces.split_at(pieces.len().min(PIECES - 1));
        let before = before.first().zip(before.last()).map(|(last, first)| Piece {
            member,
            start_ns: first.start_ns,
            end_ns: last.end_ns,
        });
        for piece in kept.iter().copied().chain(before) {
            let index = self.members.get(piece.member as usize).copied().unwrap_or(anchor);
            let Some(node) = self.nodes.get(index as usize).filter(|node| !node.is_orphan) else { continue };
            let path: Box<str> = join(tree.names(node.path)).into();
            let span =
                trace.spans.get(index as usize).filter(|span| self.waits_elsewhere(trace, span, index, node));
            let links = span.map(|span| self.paths.links_of(span.id)).unwrap_or_default();
            // From the end backwards.
            match made.last_mut() {
                Some(last) if (&last.path, &last.links, last.start_ns) == (&path, &links, piece.end_ns) => {
                    last.start_ns = piece.start_ns
                }
                _ => made.push(LinkedPiece {
                    start_ns: piece.start_ns,
                    end_ns: piece.end_ns,
                    path,
                    links,
                    must_end: !is_wait(node),
                }),
            }
        }
        let mut links = self.paths.links_of(root.id);
        links.retain(|link| !is_run(trace, link));
        let made = Made { start_ns, end_ns, links, pieces: made };
        if is_batch {
            target.linked.made(trace.id, made);
        } else {
            target.linked.made_other(trace.id, made);
        }
    }

    /// Whether a root follows from another span of its trace: what caused it did not wait for it, and its time is no
    /// window of its own.
    fn follows(&self, trace: &Trace, anchor: u32) -> bool {
        let root = trace.spans.get(anchor as usize).filter(|span| span.parent.is_none());
        root.is_some_and(|root| self.paths.links_within(root.id).next().is_some())
    }

    /// Walks the window of `anchor`, a member of the group at hand, and gives its place among the members. Once a
    /// group, whoever asks.
    pub(crate) fn walk(&mut self, trace: &Trace, anchor: u32) -> u32 {
        let group = self.group;
        let walked = self.paths.walked.filter(|&(of, window, _)| (of, window) == (group, anchor));
        walked.map_or_else(|| self.walk_anew(trace, anchor), |(_, _, root)| root)
    }

    fn walk_anew(&mut self, trace: &Trace, anchor: u32) -> u32 {
        let Self { paths, nodes, members, .. } = self;
        paths.members.clear();
        paths.run_intervals.clear();
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
            let member = paths.members.len() as u32;
            paths.run_intervals.extend(running(trace, span).iter().map(|poll| RunInterval {
                member,
                start_ns: poll.start_ns,
                end_ns: poll.end_ns,
                thread: poll.thread,
                is_whole: poll.count == 1,
            }));
            paths.members.push(Member {
                start_ns: node.start_ns,
                end_ns: node.end_ns,
                parent: above.and_then(|above| paths.places.get(above).copied()).unwrap_or(NO_PARENT),
                id: span.id,
                process: span.process,
                thread: node.thread,
                is_suspended: span.amount(Figure::IdleNs).is_some_and(|idle_ns| idle_ns > 0),
                is_detached: parent.is_some_and(|parent| is_detached(trace.is_ours, (span, node), parent)),
                awaits: NO_PARENT,
            });
        }
        paths.await_links(|at| {
            let node = members.get(at).and_then(|&index| nodes.get(index as usize));
            let span = members.get(at).and_then(|&index| trace.spans.get(index as usize));
            node.zip(span).and_then(|(node, span)| waiting(trace, span, node))
        });
        self.await_workers(trace, anchor);
        let Self { paths, members, group, .. } = self;
        let root = paths.places.get(anchor as usize).copied().unwrap_or(NO_PARENT);
        for &index in members.iter() {
            if let Some(slot) = paths.places.get_mut(index as usize) {
                *slot = NO_PARENT;
            }
        }
        paths.walk.run_with(
            &paths.members,
            &paths.run_intervals,
            root,
            &mut paths.pieces,
            &mut paths.standing,
        );
        paths.walked = Some((*group, anchor, root));
        root
    }

    /// Adds the path that was walked. Gives the time of it that is the window's own.
    fn walked(&mut self, anchor: u32, root: u32, kind: usize, target: &mut Target<'_>) -> u64 {
        let Self { paths, nodes, members, .. } = self;
        paths.own_ns.clear();
        paths.own_ns.resize(members.len(), 0);
        for piece in &paths.pieces {
            if let Some(own_ns) = paths.own_ns.get_mut(piece.member as usize) {
                *own_ns += piece.end_ns - piece.start_ns;
            }
        }
        for ((&index, &own_ns), standing) in members.iter().zip(&paths.own_ns).zip(&paths.standing) {
            if index != anchor || is_section(kind) {
                add(nodes, index, *standing, own_ns, kind, target);
            }
        }
        paths.own_ns.get(root as usize).copied().unwrap_or(0)
    }
}

/// When a span ran, where it says so.
pub(crate) fn running<'a>(trace: &'a Trace, span: &Span) -> &'a [Poll] {
    let polls = trace.polls(span.polls);
    if polls.len() <= STINTS { polls } else { &[] }
}

/// What a section that waits for what it links to does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Nothing.
    Only,
    /// It may work on it as well, so that it waited only for what ended meanwhile.
    AndWorks,
}

/// Whether a section waits for what it links to.
fn waiting(trace: &Trace, span: &Span, node: &Node) -> Option<Waiting> {
    if is_wait(node) {
        return Some(Waiting::Only);
    }
    takes_messages(trace, span).then_some(Waiting::AndWorks)
}

/// Whether a section waits, by its phase.
fn is_wait(node: &Node) -> bool {
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

/// Whether a trace of our own links to its run's there, as each of its roots does.
fn is_run(trace: &Trace, link: &TraceId) -> bool {
    let (instance, sequence) = instance_and_sequence(link);
    trace.is_ours && sequence == 0 && instance == instance_and_sequence(&trace.id).0
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
