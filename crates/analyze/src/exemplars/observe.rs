//! One step cut out of its trace, with its critical path, to be kept. Rare: it is done for steps that stay, so it may
//! allocate. Which steps stay is the business of the module above.

use std::collections::BTreeMap;

use stepscope_model::{Figure, Span, Trace};

use crate::accumulate::saturate::saturate_signed;
use crate::config::{EXAMPLE_BYTES, EXAMPLE_SPANS};
use crate::critical_path::observe::Walks;
use crate::exemplars::{
    Batch, Example, ExamplePiece, ExampleSpan, Lane, MAX_PIECES, NO_PARENT, RUN_BYTES, SPAN_BYTES, text_of,
};
use crate::run::Target;
use crate::sections::paths::shorten;
use crate::step_view::group::Group;
use crate::step_view::place::{Node, running};
use crate::steps::StepRecord;

/// Keeps a step with its spans, where it is one that is kept.
pub(crate) fn observe(group: &Group<'_>, step: &StepRecord, walks: &mut Walks, target: &mut Target<'_>) {
    let kept = group.mode.and_then(|mode| target.run.examples.get_mut(mode as usize));
    if let Some(kept) = kept.filter(|kept| kept.wants(step)) {
        kept.add(step, example(group, walks));
    }
}

fn example(group: &Group<'_>, walks: &mut Walks) -> Example {
    let Group { view, window, anchor, .. } = *group;
    walks.walk(group);
    let kept = longest(group);
    let mut around = Around { known: kept.iter().copied().zip(0..).collect(), anchor };
    let mut example = Example {
        spans_in_step: group.members.len() as u64,
        names: Vec::new(),
        lanes: Vec::new(),
        spans: Vec::with_capacity(kept.len()),
        pieces: Vec::new(),
    };
    let mut names: BTreeMap<&str, u32> = BTreeMap::new();
    let mut lanes: BTreeMap<(Option<i64>, u32), u32> = BTreeMap::new();
    for &index in &kept {
        let Some((span, node)) = view.get(index) else { continue };
        let name = shorten(view.trace.text(span.name));
        let name = *names.entry(name).or_insert_with(|| {
            example.names.push(name.into());
            (example.names.len() - 1) as u32
        });
        let thread_name = shorten(view.trace.text(span.thread_name));
        let lane = *lanes.entry((node.thread, span.process)).or_insert_with(|| {
            example.lanes.push(Lane { thread: node.thread, name: "".into() });
            (example.lanes.len() - 1) as u32
        });
        if let Some(lane) = example.lanes.get_mut(lane as usize).filter(|lane| lane.name.is_empty()) {
            lane.name = thread_name.into();
        }
        let polls = running(view.trace, span).iter();
        let running =
            polls.map(|poll| (after(poll.start_ns, window), poll.end_ns.saturating_sub(poll.start_ns)));
        example.spans.push(ExampleSpan {
            name,
            parent: if index == anchor { NO_PARENT } else { around.of(node.parent, view.nodes) },
            lane,
            phase: view.phases.key(node.slot).clone(),
            offset_ns: after(node.start_ns, window),
            duration_ns: node.duration_ns(),
            is_error: span.is_error,
            batch: if index == anchor { None } else { batch(view.trace, span) },
            running: running.collect(),
        });
    }
    for piece in walks.pieces.iter().rev() {
        let Some(&index) = group.members.get(piece.member as usize) else { continue };
        let span = around.of(index, view.nodes);
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

/// The longest members as far as the bounds allow, the anchor first, then in the order of the trace.
fn longest(group: &Group<'_>) -> Vec<u32> {
    let view = group.view;
    let mut order: Vec<u32> = group.members.iter().copied().filter(|&index| index != group.anchor).collect();
    let length = |index: u32| view.node(index).map_or(0, Node::duration_ns);
    // Of equally long ones those that come first in the trace, which is sorted.
    order.sort_by_key(|&index| (std::cmp::Reverse(length(index)), index));
    let text = |text| shorten(view.trace.text(text)).len();
    let texts = |(span, node): (&Span, &Node)| {
        let words = text(span.name) + text(span.thread_name) + text_of(view.phases.key(node.slot));
        words + running(view.trace, span).len() * RUN_BYTES
    };
    let mut bytes = 0usize;
    let fits = |&index: &u32| {
        bytes = bytes.saturating_add(SPAN_BYTES + view.get(index).map_or(0, texts));
        bytes <= EXAMPLE_BYTES
    };
    let all = std::iter::once(group.anchor).chain(order).take(EXAMPLE_SPANS);
    let mut kept: Vec<u32> = all.take_while(fits).collect();
    if let Some(rest) = kept.get_mut(1..) {
        rest.sort_unstable();
    }
    kept
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
