//! One trace with each of its spans in its place (path, phase, thread, group): built once for each trace, read by all that
//! observe it, changed by none. Memory is reused from trace to trace; nothing is allocated per span.

pub(crate) mod forest;
pub(crate) mod group;
pub(crate) mod links;
pub(crate) mod phase_slots;
pub(crate) mod place;

use stepscope_core::Level;
use stepscope_model::{Figure, Span, Trace};

use crate::sections::Sections;
use forest::{Forest, NONE};
use group::Group;
use links::Links;
use phase_slots::Slots;
use place::{Families, Node, Role};

/// More spans than a trace can have: roots that say so are not believed.
const MAX_TRACE_SPANS: u64 = 1_000_000;

/// A trace in its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepView<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) forest: &'a Forest,
    /// By span: with thread, path and phase.
    pub(crate) nodes: &'a [Node],
    pub(crate) phases: &'a Slots,
    pub(crate) links: &'a Links,
    /// Spans that roots announced and that are not there.
    pub(crate) missing_spans: u64,
    /// Spans that roots say were lost before they ended.
    pub(crate) dropped_spans: u64,
    /// Whether every span was read, so that own times and phases are known.
    pub(crate) is_whole: bool,
    /// Anchors, and where their members begin and end.
    windows: &'a [(u32, usize, usize)],
    members: &'a [u32],
}

impl<'a> StepView<'a> {
    pub(crate) fn node(&self, index: u32) -> Option<&'a Node> {
        self.nodes.get(index as usize)
    }

    pub(crate) fn span(&self, index: u32) -> Option<&'a Span> {
        self.trace.spans.get(index as usize)
    }

    /// A span in its place.
    pub(crate) fn get(&self, index: u32) -> Option<(&'a Span, &'a Node)> {
        self.span(index).zip(self.node(index))
    }

    /// The groups, by anchor.
    pub(crate) fn groups(&'a self) -> impl Iterator<Item = Group<'a>> {
        self.windows
            .iter()
            .filter_map(|&(anchor, from, to)| Group::of(self, anchor, self.members.get(from..to)?))
    }

    /// The span of a value, and the anchor of that.
    pub(crate) fn with_anchor(&self, id: u64) -> (Option<&'a Span>, Option<&'a Span>) {
        let first = self.trace.spans.first().filter(|span| span.id == id);
        let index = first.map_or_else(|| self.forest.index_of(id), |_| Some(0));
        let anchor = index.and_then(|index| self.node(index)).and_then(|node| self.span(node.anchor));
        (index.and_then(|index| self.span(index)), anchor)
    }
}

/// What views are made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Builder {
    forest: Forest,
    nodes: Vec<Node>,
    /// The path of each span of the last trace, of any run: the next one is often the same.
    last_paths: Vec<u32>,
    slots: Slots,
    links: Links,
    families: Families,
    /// Which spans have steps inside of them; empty where none has.
    around_steps: Vec<bool>,
    /// Processes and threads that poll, sorted; empty where each interval of the trace says its thread.
    pollers: Vec<(u32, i64)>,
    /// (anchor, span), sorted; empty where the trace is one group.
    grouped: Vec<(u32, u32)>,
    windows: Vec<(u32, usize, usize)>,
    members: Vec<u32>,
}

impl Builder {
    /// The view of a trace whose spans are sorted by start. Adds its paths to `sections` and `orphans`, of which no more than
    /// `bound` are kept: where there are more, all are cut.
    pub(crate) fn build<'a>(
        &'a mut self,
        trace: &'a Trace,
        sections: &mut Sections,
        orphans: &mut Sections,
        bound: usize,
    ) -> StepView<'a> {
        self.forest.build(&trace.spans);
        loop {
            self.place(trace, sections, orphans);
            if !sections.enforce(bound) && !orphans.enforce(bound) {
                break;
            }
        }
        self.cover(trace);
        self.group();
        self.links.read(trace);
        let first = trace.spans.first().map(|span| span.id);
        if trace.values.iter().any(|value| Some(value.span) != first) {
            self.forest.index(&trace.spans);
        }
        let (mut announced, mut dropped_spans, mut left_out, mut goes_on) = (0, 0u64, None, false);
        for (span, _) in trace.spans.iter().zip(&self.nodes).filter(|(_, node)| node.parent == NONE) {
            announced = announced.max(spans_said(span, Figure::TraceSpans));
            dropped_spans = dropped_spans.saturating_add(spans_said(span, Figure::TraceDropped));
            left_out = left_out.max(span.figure(Figure::TraceLeftOut));
            goes_on |= span.figure(Figure::TraceParts).is_some_and(|parts| parts > 0);
        }
        let missing_spans = announced.saturating_sub(trace.spans.len() as u64);
        // At `basic` a step's sections are never exported, however many its root counts, unless it says otherwise.
        let is_shallow = match left_out {
            Some(sections) => sections > 0,
            None => Level::parse(&trace.resource.level) == Some(Level::Basic),
        };
        StepView {
            trace,
            forest: &self.forest,
            nodes: &self.nodes,
            phases: &self.slots,
            links: &self.links,
            missing_spans,
            dropped_spans,
            is_whole: !is_shallow && !goes_on && missing_spans == 0 && dropped_spans == 0,
            windows: &self.windows,
            members: &self.members,
        }
    }

    /// Time of each span that its children cover, and what they allocated on its thread.
    fn cover(&mut self, trace: &Trace) {
        for (index, span) in trace.spans.iter().enumerate() {
            let Some(node) = self.nodes.get(index) else { continue };
            let (around, start_ns, end_ns, thread) = (node.parent, node.start_ns, node.end_ns, node.thread);
            let is_work = node.role != Role::Marker;
            let Some(parent) = self.nodes.get_mut(around as usize).filter(|_| is_work) else { continue };
            parent.cover(start_ns, end_ns);
            if parent.thread == thread {
                let (alloc, free) = (span.amount(Figure::AllocBytes), span.amount(Figure::FreeBytes));
                parent.child_alloc = parent.child_alloc.saturating_add(alloc.unwrap_or(0));
                parent.child_free = parent.child_free.saturating_add(free.unwrap_or(0));
            }
        }
    }

    /// Groups spans by their anchors, in time order. A step inside another group's span is in that group as
    /// well: its time there is its own.
    fn group(&mut self) {
        self.grouped.clear();
        self.windows.clear();
        self.members.clear();
        let Some(first) = self.nodes.first().map(|node| node.anchor) else { return };
        if self.nodes.iter().all(|node| node.anchor == first) {
            self.members.extend(0..self.nodes.len() as u32);
            return self.windows.push((first, 0, self.nodes.len()));
        }
        for (node, index) in self.nodes.iter().zip(0u32..) {
            self.grouped.push((node.anchor, index));
            if node.role == Role::Step
                && let Some(parent) = self.nodes.get(node.parent as usize)
                && parent.role != Role::Container
            {
                self.grouped.push((parent.anchor, index));
            }
        }
        self.grouped.sort_unstable();
        for group in self.grouped.chunk_by(|a, b| a.0 == b.0) {
            let from = self.members.len();
            self.members.extend(group.iter().map(|&(_, span)| span));
            self.windows.extend(group.first().map(|&(anchor, _)| (anchor, from, self.members.len())));
        }
    }
}

/// A number of spans that a root says; none where that cannot be.
fn spans_said(span: &Span, figure: Figure) -> u64 {
    let said = span.figure(figure).and_then(|said| u64::try_from(said).ok());
    said.filter(|&said| said <= MAX_TRACE_SPANS).unwrap_or(0)
}
