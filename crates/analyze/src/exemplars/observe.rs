//! One step cut out of its trace, with its critical path, to be kept. Rare: it is done for steps that stay, so it may
//! allocate. Which steps stay is the business of `examples`.

use std::collections::BTreeMap;

use stepscope_model::{Figure, Span, Trace};

use crate::accumulate::saturate::saturate_signed;
use crate::config::{EXAMPLE_BYTES, EXAMPLE_SPANS};
use crate::critical_path::observe::running;
use crate::exemplars::{
    Batch, Example, ExamplePiece, ExampleSpan, Lane, MAX_PIECES, NO_PARENT, RUN_BYTES, SPAN_BYTES, text_of,
};
use crate::sections::paths::shorten;
use crate::step_view::Fold;
use crate::step_view::place::Node;

/// Texts of an example, each once.
#[derive(Default)]
struct Names<'a> {
    places: BTreeMap<&'a str, u32>,
    names: Vec<Box<str>>,
}

impl<'a> Names<'a> {
    fn place(&mut self, name: &'a str) -> u32 {
        *self.places.entry(name).or_insert_with(|| {
            self.names.push(name.into());
            (self.names.len() - 1) as u32
        })
    }
}

impl Fold {
    /// The step whose spans are the members.
    pub(crate) fn example(&mut self, trace: &Trace, window: &Node) -> Example {
        let anchor = window.anchor;
        self.walk(trace, anchor);
        let kept = self.longest(trace, anchor);
        let places: BTreeMap<u32, u32> = kept.iter().copied().zip(0..).collect();
        let mut around = Around { known: places.clone(), anchor };
        let mut example = Example {
            spans_in_step: self.members.len() as u64,
            names: Vec::new(),
            lanes: Vec::new(),
            spans: Vec::with_capacity(kept.len()),
            pieces: Vec::new(),
        };
        let mut names = Names::default();
        let mut lanes: BTreeMap<(Option<i64>, u32), u32> = BTreeMap::new();
        for &index in &kept {
            let Some((span, node)) = self.member(trace, index) else { continue };
            let thread_name = shorten(trace.text(span.thread_name));
            let lane = *lanes.entry((node.thread, span.process)).or_insert_with(|| {
                example.lanes.push(Lane { thread: node.thread, name: "".into() });
                (example.lanes.len() - 1) as u32
            });
            if let Some(lane) = example.lanes.get_mut(lane as usize).filter(|lane| lane.name.is_empty()) {
                lane.name = thread_name.into();
            }
            example.spans.push(ExampleSpan {
                name: names.place(shorten(trace.text(span.name))),
                parent: if index == anchor { NO_PARENT } else { around.of(node.parent, &self.nodes) },
                lane,
                phase: self.slots.key(node.slot).clone(),
                offset_ns: after(node.start_ns, window),
                duration_ns: node.duration_ns(),
                is_error: span.is_error,
                batch: if index == anchor { None } else { batch(trace, span) },
                running: running(trace, span)
                    .iter()
                    .map(|poll| (after(poll.start_ns, window), poll.end_ns.saturating_sub(poll.start_ns)))
                    .collect(),
            });
        }
        example.names = names.names;
        for piece in self.paths.pieces.iter().rev() {
            let Some(&index) = self.members.get(piece.member as usize) else { continue };
            let span = around.of(index, &self.nodes);
            let length = piece.end_ns - piece.start_ns;
            let offset_ns = piece.start_ns.saturating_sub(window.start_ns);
            match example.pieces.last_mut() {
                Some(last) if last.span == span => last.duration_ns += length,
                _ => example.pieces.push(ExamplePiece { span, offset_ns, duration_ns: length }),
            }
        }
        // Only pieces of spans that were left out can be so many.
        if example.pieces.len() > MAX_PIECES {
            example.pieces.clear();
        }
        example
    }

    /// A span of the trace in its place.
    fn member<'a>(&self, trace: &'a Trace, index: u32) -> Option<(&'a Span, &Node)> {
        Some((trace.spans.get(index as usize)?, self.nodes.get(index as usize)?))
    }

    /// The longest members as far as the bounds allow, the anchor first, then in the order of the trace.
    fn longest(&self, trace: &Trace, anchor: u32) -> Vec<u32> {
        let mut order: Vec<u32> = self.members.iter().copied().filter(|&index| index != anchor).collect();
        let length = |index: u32| self.nodes.get(index as usize).map_or(0, Node::duration_ns);
        // Of equally long ones those that come first in the trace, which is sorted.
        order.sort_by_key(|&index| (std::cmp::Reverse(length(index)), index));
        let mut bytes = 0usize;
        let mut kept: Vec<u32> = std::iter::once(anchor)
            .chain(order)
            .take(EXAMPLE_SPANS)
            .take_while(|&index| {
                let texts = self.member(trace, index).map_or(0, |(span, node)| {
                    let phase = text_of(self.slots.key(node.slot));
                    let texts =
                        shorten(trace.text(span.name)).len() + shorten(trace.text(span.thread_name)).len();
                    texts + phase + running(trace, span).len() * RUN_BYTES
                });
                bytes = bytes.saturating_add(SPAN_BYTES + texts);
                bytes <= EXAMPLE_BYTES
            })
            .collect();
        if let Some(rest) = kept.get_mut(1..) {
            rest.sort_unstable();
        }
        kept
    }
}

/// Finds the nearest span around one that is kept; what was found is remembered.
struct Around {
    known: BTreeMap<u32, u32>,
    anchor: u32,
}

impl Around {
    fn of(&mut self, index: u32, nodes: &[Node]) -> u32 {
        let mut at = index;
        let mut passed = Vec::new();
        let found = loop {
            if let Some(&known) = self.known.get(&at) {
                break known;
            }
            passed.push(at);
            match nodes.get(at as usize) {
                Some(node) if passed.len() <= nodes.len() && at != self.anchor => at = node.parent,
                _ => break 0,
            }
        };
        self.known.extend(passed.into_iter().map(|index| (index, found)));
        found
    }
}

/// A time after the start of the step.
fn after(time_ns: u64, window: &Node) -> i64 {
    saturate_signed(i128::from(time_ns) - i128::from(window.start_ns))
}

/// What a span says of the batch that it waited for.
fn batch(trace: &Trace, span: &Span) -> Option<Batch> {
    let (produce_ns, queue_ns) = (span.amount(Figure::BatchProduceNs), span.amount(Figure::BatchQueueNs));
    let said = produce_ns.is_some() || queue_ns.is_some() || span.amount(Figure::BatchId).is_some();
    // Links come in any order.
    let links = trace.links.iter().filter(|link| link.span == span.id);
    let linked = links.map(|link| (link.trace, link.target)).min().map(|(trace, _)| trace);
    said.then_some(Batch { trace: linked, produce_ns, queue_ns })
}
