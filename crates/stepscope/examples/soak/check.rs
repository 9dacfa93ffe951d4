//! Holds what arrived against the model, span by span.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::plan::{Modelled, Paths, Plan};
use crate::play::Order;
use crate::received::Span;

/// Of all plans together.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) spans: u64,
    pub(crate) operations: u64,
    /// Sections and the sum of their durations, by number of the path.
    pub(crate) by_path: Vec<(u64, u64)>,
    /// Ids of all spans and all traces, to be told apart at the end.
    pub(crate) span_ids: Vec<u64>,
    pub(crate) trace_ids: Vec<u128>,
    /// Spans that did not come, and which the registry of `tracing-subscriber` has still not ended.
    pub(crate) unended: u64,
    /// Spans that are to come at the end of the run, with the number of their path: each would announce the trace that it is
    /// in once such a span has ended.
    pub(crate) held_back: BTreeMap<u64, usize>,
    /// Spans of the run itself.
    pub(crate) marks: u64,
    run_id: Option<u64>,
    /// Times, of those whose order is known, which are less than one before them; and by how much at most.
    pub(crate) times: u64,
    pub(crate) disordered: u64,
    pub(crate) disorder_ns: u64,
}

/// What arrived of a plan, by number of the span.
struct Arrived<'a> {
    plan: &'a Plan,
    spans: Vec<&'a Span>,
    index_of: HashMap<u64, usize>,
}

impl Tally {
    /// `first`: the number of the plan's first span; `kept`: the spans that a registry has although all handles are given up.
    pub(crate) fn check(
        &mut self,
        plan: &Plan,
        paths: &Paths,
        order: Order,
        first: u64,
        kept: &BTreeSet<usize>,
        received: &[Span],
    ) {
        let mut found = vec![None; plan.spans.len()];
        for span in received {
            let Some(number) = span.number else {
                assert!(matches!(span.name.as_str(), "run" | "run.started"), "nobody made {span:?}");
                self.marks += 1;
                continue;
            };
            let place = number.checked_sub(first).and_then(|index| found.get_mut(index as usize));
            let place = place.unwrap_or_else(|| panic!("of another time: {span:?}"));
            assert!(place.replace(span).is_none(), "came twice: {span:?}");
        }
        self.by_path.resize(paths.texts.len(), (0, 0));
        self.operations += plan.operations.len() as u64;
        self.spans += plan.spans.len() as u64;
        for (modelled, span) in plan.spans.iter().zip(&found) {
            if let Some(span) = span {
                self.add(modelled.path, span);
            }
        }
        if self.are_missing(plan, &found, first, kept, order) {
            // What was around such a span says of itself that it is not whole.
            return;
        }
        let spans: Vec<&Span> = found.into_iter().flatten().collect();
        let index_of = spans.iter().enumerate().map(|(index, span)| (span.id, index)).collect();
        let arrived = Arrived { plan, spans, index_of };
        assert_eq!(arrived.index_of.len(), plan.spans.len(), "span ids repeat");

        for (modelled, span) in plan.spans.iter().zip(&arrived.spans) {
            arrived.check_place(modelled, span, paths, order);
            arrived.check_content(modelled, span, order);
            for &link in &span.links {
                if !arrived.index_of.contains_key(&link) {
                    assert_eq!(*self.run_id.get_or_insert(link), link, "links to nobody: {span:?}");
                }
            }
        }
        self.check_traces(&arrived, order);
        if order == Order::InTurn {
            self.check_times(&arrived);
        }
    }

    fn add(&mut self, path: usize, span: &Span) {
        let (count, total_ns) = &mut self.by_path[path];
        (*count, *total_ns) = (*count + 1, *total_ns + (span.end_ns - span.start_ns));
        self.span_ids.push(span.id);
    }

    /// What comes at the end of the run: the run itself, and what was held back until then, all of it.
    pub(crate) fn check_rest(&mut self, received: &[Span]) {
        let mut held_back = self.held_back.clone();
        for span in received {
            let Some(number) = span.number else {
                assert!(matches!(span.name.as_str(), "run" | "run.started"), "nobody made {span:?}");
                self.marks += 1;
                continue;
            };
            let path = held_back.remove(&number).unwrap_or_else(|| panic!("of another time: {span:?}"));
            self.add(path, span);
            assert!(span.parent == 0 && span.announced.is_some(), "held back for nothing: {span:?}");
        }
        assert!(held_back.is_empty(), "did not come: {held_back:?}");
    }

    /// Whether spans did not come. These are spans that the registry has not ended, and that only where threads race (see the
    /// test `registry`), and those that wait for such a one; every other one is a failure.
    fn are_missing(
        &mut self,
        plan: &Plan,
        found: &[Option<&Span>],
        first: u64,
        kept: &BTreeSet<usize>,
        order: Order,
    ) -> bool {
        let before = (self.unended, self.held_back.len());
        for (index, _) in found.iter().enumerate().filter(|(_, span)| span.is_none()) {
            let modelled = &plan.spans[index];
            let is_within_unended = modelled.parent.is_some_and(|parent| kept.contains(&parent));
            assert!(
                order == Order::Racing && (kept.contains(&index) || is_within_unended),
                "did not come: {modelled:?}"
            );
            if kept.contains(&index) {
                self.unended += 1;
            } else {
                self.held_back.insert(first + index as u64, modelled.path);
            }
        }
        before != (self.unended, self.held_back.len())
    }

    /// Every trace says once how many spans it has, and has them; where the order is known, it has those that the model
    /// put into one.
    fn check_traces(&mut self, arrived: &Arrived<'_>, order: Order) {
        let mut traces: HashMap<u128, (u64, Vec<&Span>)> = HashMap::new();
        for span in &arrived.spans {
            let (members, announcing) = traces.entry(span.trace).or_default();
            *members += 1;
            announcing.extend(span.announced.map(|_| *span));
        }
        for (members, announcing) in traces.values() {
            assert_eq!(announcing.len(), 1, "{announcing:?}");
            assert_eq!(announcing[0].announced, Some((*members, 0)), "{announcing:?}");
            assert_eq!(announcing[0].parent, 0, "{announcing:?}");
        }
        if order == Order::InTurn {
            assert_eq!(traces.len(), arrived.plan.traces.len());
            let mut id_of = vec![None; arrived.plan.traces.len()];
            for (modelled, span) in arrived.plan.spans.iter().zip(&arrived.spans) {
                let id = *id_of[modelled.trace].get_or_insert(span.trace);
                assert_eq!(span.trace, id, "in another trace: {span:?} {modelled:?}");
                assert_eq!(traces[&id].0, u64::from(arrived.plan.traces[modelled.trace].spans));
            }
        }
        self.trace_ids.extend(traces.keys());
    }

    /// A span starts when it is made, and ends at its last exit, or when it is given up without ever having been entered:
    /// times are in the order of these operations.
    fn check_times(&mut self, arrived: &Arrived<'_>) {
        let spans = || arrived.plan.spans.iter().zip(&arrived.spans);
        let starts = spans().map(|(modelled, span)| (modelled.began, span.start_ns));
        let mut times: Vec<(usize, u64)> =
            starts.chain(spans().map(|(modelled, span)| (modelled.ended, span.end_ns))).collect();
        times.sort_unstable();
        // Of several times of one operation none is before the others.
        let mut latest = 0;
        for of_one in times.chunk_by(|(one, _), (next, _)| one == next) {
            for &(_, time_ns) in of_one.iter().filter(|&&(_, time_ns)| time_ns < latest) {
                self.disordered += 1;
                self.disorder_ns = self.disorder_ns.max(latest - time_ns);
            }
            latest = of_one.iter().map(|&(_, time_ns)| time_ns).fold(latest, u64::max);
            self.times += of_one.len() as u64;
        }
    }

    /// No id twice, over everything.
    pub(crate) fn check_ids(&mut self) {
        self.span_ids.sort_unstable();
        self.trace_ids.sort_unstable();
        assert!(self.span_ids.windows(2).all(|pair| pair[0] != pair[1]), "span ids repeat");
        assert!(self.trace_ids.windows(2).all(|pair| pair[0] != pair[1]), "trace ids repeat");
        assert!(self.span_ids.first() != Some(&0) && self.trace_ids.first() != Some(&0));
    }
}

impl Arrived<'_> {
    /// Inside of its parent and in that one's trace, or in one that continues it.
    fn check_place(&self, modelled: &Modelled, span: &Span, paths: &Paths, order: Order) {
        assert_eq!(span.name, modelled.kind.name(), "{span:?} {modelled:?}");
        assert!(span.start_ns <= span.end_ns, "{span:?}");
        let Some(parent) = modelled.parent else {
            assert_eq!((span.parent, &span.parent_path), (0, &None), "{span:?} {modelled:?}");
            return;
        };
        let is_part = match order {
            Order::InTurn => modelled.is_part,
            // Whether the root has ended before depends on the order.
            Order::Racing => span.parent == 0,
        };
        let parent_path = paths.texts[self.plan.spans[parent].path].as_str();
        let parent = self.spans[parent];
        if is_part {
            let place = (span.parent, span.parent_path.as_deref());
            assert_eq!(place, (0, Some(parent_path)), "{span:?} {modelled:?}");
            assert_ne!(span.trace, parent.trace, "{span:?} {parent:?} {modelled:?}");
        } else {
            assert_eq!((span.parent, &span.parent_path), (parent.id, &None), "{span:?} {modelled:?}");
            assert_eq!(span.trace, parent.trace, "{span:?} {parent:?} {modelled:?}");
        }
    }

    /// What it was told.
    fn check_content(&self, modelled: &Modelled, span: &Span, order: Order) {
        let is_in_turn = order == Order::InTurn;
        let is_last = span.later == modelled.values.last().copied();
        let is_one = span.later.is_some_and(|value| modelled.values.contains(&value));
        assert!(is_last || (is_one && !is_in_turn), "{span:?} {modelled:?}");
        let told = (span.has_failed, span.events, span.entries);
        let entries = (modelled.enters > 1).then_some(u64::from(modelled.enters));
        assert_eq!(told, (modelled.failed, modelled.events, entries), "{span:?} {modelled:?}");

        let mut links: Vec<usize> =
            span.links.iter().filter_map(|link| self.index_of.get(link).copied()).collect();
        let mut expected: Vec<usize> = Vec::new();
        // Whoever announces a trace that continues another one links to the span that it continues.
        expected.extend(modelled.parent.filter(|_| span.parent == 0 && span.announced.is_some()));
        let mut possible = expected.clone();
        for follow in &modelled.follows {
            expected
                .extend((if is_in_turn { follow.is_there } else { follow.is_sure }).then_some(follow.cause));
            possible.extend((follow.is_there || !is_in_turn).then_some(follow.cause));
        }
        for list in [&mut links, &mut expected, &mut possible] {
            list.sort_unstable();
        }
        assert!(is_within(&expected, &links), "{expected:?} in {links:?}: {span:?} {modelled:?}");
        assert!(is_within(&links, &possible), "{links:?} in {possible:?}: {span:?} {modelled:?}");
    }
}

/// Whether a sorted list is a part of another one, each as often as it is there.
fn is_within(part: &[usize], whole: &[usize]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|one| whole.any(|other| other == one))
}
