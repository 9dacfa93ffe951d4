//! The exposed time of one group: which spans take part, when those that were suspended ran, and who waited for what.
//! Whose each moment is, the sweep decides.

use stepscope_model::{Figure, Poll, Span};

use crate::accumulate::path_sums::ByPath;
use crate::critical_path::observe::Walks;
use crate::phases::PhaseKey;
use crate::phases::exposed_time::{BlockedOn, Member, NO_PARENT, NO_PHASE, PollSlice, Sweep};
use crate::run::Target;
use crate::step_view::StepView;
use crate::step_view::group::Group;
use crate::step_view::phase_slots::{SlotSum, Slots};
use crate::step_view::place::{Node, around_elsewhere, running};

/// Observes the phases of groups; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Exposure {
    /// Of the group at hand, by phase.
    sums: Vec<SlotSum>,
    sweep: Sweep,
    members: Vec<Member>,
    /// The spans of the members, then those that were waited for on other threads.
    nodes: Vec<u32>,
    /// Place among the members, by span.
    places: Vec<u32>,
    /// When those ran that were suspended.
    poll_slices: Vec<PollSlice>,
    /// What the driving thread waited for on other threads.
    joins: Vec<BlockedOn>,
    /// Sections of the driving thread that waited for others: from, to, place among the members; by start.
    waiters: Vec<(u64, u64, u32)>,
    /// By node, once the group's time was attributed.
    exposed: Vec<u64>,
    /// Whether the members are all there is, and nest as calls do.
    are_nested: bool,
    /// By section of a step.
    section_time: ByPath<u64>,
}

impl Exposure {
    /// Begins with a group.
    pub(crate) fn begin(&mut self, group: &Group<'_>) {
        self.sums.clear();
        self.sums.resize(group.view.phases.len(), SlotSum::default());
        self.section_time.clear();
        self.exposed.clear();
        self.are_nested = false;
    }

    /// Adds a span to the sums of its phase.
    #[inline]
    pub(crate) fn cover(&mut self, group: &Group<'_>, node: &Node) {
        if let Some(sum) = self.sums.get_mut(usize::from(node.slot)) {
            let (start_ns, end_ns) = group.clamp(node);
            sum.cover(start_ns, end_ns);
            if node.anchor == group.anchor {
                sum.self_ns = sum.self_ns.saturating_add(node.duration_ns() - node.covered_ns);
                sum.spans += 1;
            }
        }
    }

    /// The sums by phase.
    pub(crate) fn sums<'a>(&'a self, phases: &'a Slots) -> impl Iterator<Item = (&'a PhaseKey, &'a SlotSum)> {
        self.sums.iter().zip(0u16..).map(|(sum, slot)| (phases.key(slot), sum))
    }

    /// Exposed time of a step by section.
    pub(crate) fn section_time(&self) -> &ByPath<u64> {
        &self.section_time
    }

    /// Spans with their exposed time.
    pub(crate) fn swept(&self) -> Option<(&[u32], &[u64])> {
        let is_known = !self.exposed.is_empty();
        is_known.then_some((&self.nodes, &self.exposed))
    }

    /// Spans with the time in which nothing inside of them is open, where they are all there is and nest as calls do.
    pub(crate) fn nested(&self) -> Option<(&[u32], &[u64])> {
        self.are_nested.then(|| (&*self.nodes, self.sweep.own()))
    }

    /// Attributes the window's time to the spans of its thread, and to those of others that it waited for.
    pub(crate) fn observe(&mut self, group: &Group<'_>, walks: &mut Walks, target: &mut Target<'_>) {
        self.gather(group);
        self.joins.clear();
        let are_all = self.nodes.len() >= group.members.len();
        if !are_all {
            walks.walk(group);
            self.join(group, walks);
        }
        let are_nested = self.sweep.run(&self.members, &self.poll_slices, &self.joins, &mut self.exposed);
        self.are_nested = are_nested && are_all;
        for (&index, &exposed_ns) in self.nodes.iter().zip(&self.exposed) {
            let Some(node) = group.view.node(index) else { continue };
            let is_boundary = node.anchor != group.anchor;
            // Between steps, a step's time is the step's.
            if is_boundary && group.mode.is_none() {
                continue;
            }
            if let Some(sum) = self.sums.get_mut(usize::from(node.slot)) {
                sum.exposed_ns += exposed_ns;
            }
            if let Some(mode) = group.mode.filter(|_| !is_boundary) {
                if exposed_ns > 0 && !node.is_orphan {
                    self.section_time.add(node.path, |sum| sum.saturating_add(exposed_ns));
                }
                if let Some(part) = target.acc(node).in_steps.get_mut(mode as usize) {
                    part.exposed_ns = part.exposed_ns.saturating_add(exposed_ns.into());
                }
            }
        }
    }

    /// The spans that take part.
    fn gather(&mut self, group: &Group<'_>) {
        let Group { view, window, anchor, .. } = *group;
        self.members.clear();
        self.nodes.clear();
        self.poll_slices.clear();
        if self.places.len() < view.nodes.len() {
            self.places.resize(view.nodes.len(), 0);
        }
        // The window itself comes first, whatever started before it.
        let others = group.members.iter().copied().filter(|&index| index != anchor);
        for index in std::iter::once(anchor).chain(others) {
            let Some((span, node)) = view.get(index) else { continue };
            let is_boundary = node.anchor != anchor;
            let is_driving = match is_boundary {
                true => span.figure(Figure::ThreadId).is_none_or(|id| Some(id) == window.thread),
                false => node.is_driving,
            };
            if !is_driving {
                continue;
            }
            let member = self.nodes.len() as u32;
            if let Some(place) = self.places.get_mut(index as usize).filter(|_| !is_boundary) {
                *place = member;
            }
            let (start_ns, end_ns) = group.clamp(node);
            let polls = running(view.trace, span);
            if !polls.is_empty() {
                let own = running(view.trace, group.root);
                let polls = polls.iter().filter(|poll| is_turn(poll, window.thread, own));
                self.poll_slices.extend(polls.map(|poll| PollSlice {
                    member,
                    start_ns: poll.start_ns.clamp(start_ns, end_ns),
                    end_ns: poll.end_ns.clamp(start_ns, end_ns),
                }));
            }
            self.nodes.push(index);
            self.members.push(Member {
                start_ns,
                end_ns,
                parent: NO_PARENT,
                rank: view.phases.rank(node.slot),
                id: span.id,
                takes_turns: !polls.is_empty() || was_mostly_suspended(span),
            });
        }
        for (member, &index) in self.members.iter_mut().zip(&self.nodes).skip(1) {
            let parent = view.node(index).and_then(|node| view.node(node.parent));
            let place = parent.and_then(|parent| self.places.get(parent.driver as usize));
            member.parent = place.copied().unwrap_or(NO_PARENT);
        }
    }

    /// Takes down what of the path that was walked the driving thread waited for, and whose time that is.
    fn join(&mut self, group: &Group<'_>, walks: &Walks) {
        let Group { view, anchor, .. } = *group;
        let place = |index: u32| self.places.get(index as usize).copied().unwrap_or(0);
        self.waiters.clear();
        for (&index, member) in group.members.iter().zip(&walks.members) {
            let own = view.node(index).filter(|node| node.anchor == anchor && node.is_driving);
            let own = own.filter(|_| index != anchor && member.awaits != crate::critical_path::NO_PARENT);
            self.waiters.extend(own.map(|node| (node.start_ns, node.end_ns, place(index))));
        }
        // From the end backwards.
        for piece in walks.pieces.iter().rev() {
            let index = group.members.get(piece.member as usize);
            let node = index.and_then(|&index| view.node(index));
            let Some(node) = node.filter(|node| node.anchor == anchor && !node.is_driving) else { continue };
            let Some(driver) = view.node(node.driver) else { continue };
            let rank = rank_elsewhere(view, node);
            let mut start_ns = piece.start_ns;
            while start_ns < piece.end_ns {
                // Where what is around it on the driving thread is around one that waited, this is who did, meanwhile.
                let next = self.waiters.partition_point(|waiter| waiter.0 <= start_ns);
                let waiter = next.checked_sub(1).and_then(|last| self.waiters.get(last));
                let waiter = waiter.filter(|waiter| start_ns < waiter.1 && driver.start_ns <= waiter.0);
                let next_ns = self.waiters.get(next).map_or(u64::MAX, |waiter| waiter.0);
                let end_ns = waiter.map_or(u64::MAX, |waiter| waiter.1).min(next_ns).min(piece.end_ns);
                if waiter.is_some() || !node.is_beside {
                    let waiter = waiter.map_or_else(|| place(node.driver), |waiter| waiter.2);
                    self.joins.push(BlockedOn { start_ns, end_ns, waiter, rank });
                    self.nodes.push(node.carrier);
                }
                start_ns = end_ns;
            }
        }
    }
}

/// The highest precedence of a section of another thread and those around it there.
fn rank_elsewhere(view: &StepView<'_>, node: &Node) -> u64 {
    let chain = around_elsewhere(view.nodes, node.carrier, node.start_ns, node.end_ns);
    chain.map(|(_, node)| view.phases.rank(node.slot)).min().unwrap_or(NO_PHASE)
}

/// Whether a section ran all through one of its poll intervals, on the driving thread: that of the window, or one on which
/// the window's own span was polled, whose intervals are `own`. In an interval of several entries it was suspended now
/// and then, and nobody knows when.
fn is_turn(poll: &Poll, driving: Option<i64>, own: &[Poll]) -> bool {
    let is_there = |thread: Option<i64>| poll.thread.is_none() || thread.is_none() || poll.thread == thread;
    poll.count == 1 && (is_there(driving) || own.iter().any(|own| is_there(own.thread)))
}

/// Whether a section was suspended for more than half of its time. Where it does not say when, it hides nothing that is known
/// to run.
fn was_mostly_suspended(span: &Span) -> bool {
    span.amount(Figure::IdleNs).is_some_and(|idle_ns| idle_ns > span.duration_ns() / 2)
}
