//! The calls of one group into the sums of their sections, and what they left allocated.

use stepscope_core::SectionKind;
use stepscope_model::{Figure, Span};

use crate::accumulate::path_sums::ByPath;
use crate::memory::retained::NetAllocations;
use crate::run::Target;
use crate::sections::paths::UNCUT;
use crate::sections::{InStepAcc, SpanFacts};
use crate::step_view::forest::NONE;
use crate::step_view::group::Group;
use crate::step_view::place::{Node, Role};
use crate::steps::warmup_sections::{Part, WarmupStep};

/// A path in the last group that had it.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    group: u64,
    calls: u64,
    longest_ns: u64,
}

/// Observes calls; memory is reused from group to group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    /// By path.
    seen: Vec<Seen>,
    /// Of the group at hand.
    group: u64,
    nets: NetAllocations,
    /// Whether the step is kept with what its sections take: their parts in it, and the time of its own on the critical path.
    is_kept: bool,
    parts: ByPath<Part>,
    pub(crate) own_ns: u64,
}

impl Calls {
    /// Begins with a group.
    pub(crate) fn begin(&mut self, group: &Group<'_>, target: &Target<'_>) {
        self.group = self.group.wrapping_add(1);
        self.nets.clear();
        self.parts.clear();
        let kept = group.mode.and_then(|mode| target.run.warmup_sections.get(mode as usize));
        self.is_kept = group.view.is_whole
            && target.run.sections.tree().cut() == UNCUT
            && kept.zip(group.place).is_some_and(|(kept, place)| kept.wants(place));
    }

    /// Adds one span to its section.
    #[inline]
    pub(crate) fn observe(&mut self, group: &Group<'_>, span: &Span, node: &Node, target: &mut Target<'_>) {
        let view = group.view;
        let duration_ns = node.duration_ns();
        // The work of a run or an epoch is in traces of its own.
        let is_elsewhere = view.trace.is_ours && matches!(span.kind, SectionKind::Run | SectionKind::Epoch);
        let has_children = view.is_whole && !is_elsewhere;
        if node.parent == NONE && !span.parent_path.is_empty() {
            self.continues(span, node, target);
        }
        let acc = target.acc(node);
        let net = acc.add(
            span,
            &SpanFacts {
                duration_ns,
                self_ns: has_children.then_some(duration_ns - node.covered_ns),
                is_outside: group.is_outside(),
                is_collapsed: node.is_collapsed,
                kind: if node.role == Role::Step { SectionKind::Step } else { span.kind },
                child_alloc: node.child_alloc,
                child_free: node.child_free,
            },
        );
        if net != 0 && !is_elsewhere {
            if node.is_orphan {
                self.nets.unplaced = self.nets.unplaced.wrapping_add(net);
            } else {
                self.nets.add(node.path, net);
            }
        }
        if node.is_collapsed {
            return;
        }
        if node.is_tagged {
            acc.tag(view.phases.key(node.slot));
        }
        let mode = group.mode.filter(|_| view.is_whole);
        let Some(part) = mode.and_then(|mode| acc.in_steps.get_mut(mode as usize)) else { return };
        let path = node.path as usize;
        if path >= self.seen.len() {
            self.seen.resize(path + 1, Seen::default());
        }
        if let Some(seen) = self.seen.get_mut(path) {
            let before_ns = count_call(part, seen, self.group, node);
            if let Some(place) = group.place.filter(|_| before_ns.is_none_or(|ns| duration_ns > ns)) {
                part.longest.add(duration_ns, place);
            }
        }
        if self.is_kept && !node.is_orphan {
            self.parts.add(node.path, |part| part.with_call(duration_ns, node.is_driving));
        }
    }

    /// A part of the section around it, in another trace: what it left allocated is in the figures of that section as well.
    #[cold]
    fn continues(&mut self, span: &Span, node: &Node, target: &mut Target<'_>) {
        let sections = &mut target.run.sections;
        let around = if node.is_collapsed { node.path } else { sections.tree().parent(node.path) };
        let acc = sections.acc(around);
        acc.selfless = acc.selfless.saturating_add(1);
        let amount = |figure| span.amount(figure).unwrap_or(0);
        let net = amount(Figure::FreeBytes).wrapping_sub(amount(Figure::AllocBytes)).cast_signed();
        if net != 0 {
            self.nets.add(around, net);
        }
    }

    /// Keeps what the sections of the group left allocated: of a step that has a number at that, of all others at their
    /// end. A step that says what it allocated has a point whether something is left or not.
    pub(crate) fn retain(&mut self, group: &Group<'_>, target: &mut Target<'_>) {
        let says = |figure| group.root.amount(figure).is_some();
        let is_told = || group.mode.is_some() && (says(Figure::AllocBytes) || says(Figure::FreeBytes));
        if self.nets.is_empty() && !is_told() {
            return;
        }
        let step = group.mode.map(|mode| mode as usize).zip(group.place);
        let run = &mut *target.run;
        run.retained.add(step, group.window.end_ns, &mut self.nets, run.sections.tree(), target.bounds);
    }

    /// Keeps what the sections of a step took, where it is one of the first; `times` are exposed.
    pub(crate) fn keep(&mut self, group: &Group<'_>, times: &ByPath<u64>, target: &mut Target<'_>) {
        let Some((mode, place)) = group.mode.zip(group.place).filter(|_| self.is_kept) else { return };
        times.iter().for_each(|(path, ns)| self.parts.add(path, |part| part.with_exposed(ns)));
        let mut step = WarmupStep::one(group.window.duration_ns(), self.own_ns);
        let tree = target.run.sections.tree();
        self.parts.drain().for_each(|(path, part)| step.add(tree.id(path), &part));
        if let Some(steps) = target.run.warmup_sections.get_mut(mode as usize) {
            steps.add(place, &step);
        }
    }
}

/// Counts a call of a section in a step, and gives the longest one before it in this step.
fn count_call(part: &mut InStepAcc, seen: &mut Seen, group: u64, node: &Node) -> Option<u64> {
    if seen.group != group {
        *seen = Seen { group, ..Seen::default() };
        part.steps = part.steps.saturating_add(1);
    }
    let before_ns = (seen.calls > 0).then_some(seen.longest_ns);
    seen.calls += 1;
    seen.longest_ns = seen.longest_ns.max(node.duration_ns());
    part.calls = part.calls.saturating_add(1);
    part.max_calls = part.max_calls.max(seen.calls);
    part.total_ns = part.total_ns.saturating_add(node.duration_ns().into());
    if node.is_driving {
        part.driving_ns = part.driving_ns.saturating_add(node.duration_ns().into());
    }
    before_ns
}
