//! The exposed time of one group: which spans take part, when those that were suspended ran, and who waited for what.
//! Whose each moment is, the sweep decides.

use stepscope_model::{Figure, Poll, Span, Trace};

use crate::critical_path::observe::running;
use crate::phases::exposed_time::{BlockedOn, Member, NO_PARENT, NO_PHASE, PollSlice};
use crate::step_view::place::Node;
use crate::step_view::{Fold, Target};

impl Fold {
    /// Attributes the window's time to the spans of its thread, and to those of others that it waited for.
    pub(crate) fn expose(
        &mut self,
        trace: &Trace,
        anchor: u32,
        window: &Node,
        mode: Option<usize>,
        target: &mut Target<'_>,
    ) {
        self.sweep_members.clear();
        self.sweep_nodes.clear();
        self.poll_slices.clear();
        // The window itself comes first, whatever started before it.
        let others = self.members.iter().copied().filter(|&index| index != anchor);
        for index in std::iter::once(anchor).chain(others) {
            let Some(node) = self.nodes.get_mut(index as usize) else { continue };
            let Some(span) = trace.spans.get(index as usize) else { continue };
            let is_boundary = node.anchor != anchor;
            let is_driving = match is_boundary {
                true => span.figure(Figure::ThreadId).is_none_or(|id| Some(id) == window.thread),
                false => node.is_driving,
            };
            if !is_driving {
                continue;
            }
            if !is_boundary {
                node.member = self.sweep_nodes.len() as u32;
            }
            let (start_ns, end_ns) = clamp(node, window);
            let rank = self.slots.rank(node.slot);
            let polls = running(trace, span);
            if !polls.is_empty() {
                let own = trace.spans.get(anchor as usize).map_or(&[][..], |root| running(trace, root));
                let member = self.sweep_nodes.len() as u32;
                let polls = polls.iter().filter(|poll| is_turn(poll, window.thread, own));
                self.poll_slices.extend(polls.map(|poll| PollSlice {
                    member,
                    start_ns: poll.start_ns.clamp(start_ns, end_ns),
                    end_ns: poll.end_ns.clamp(start_ns, end_ns),
                }));
            }
            self.sweep_nodes.push(index);
            self.sweep_members.push(Member {
                start_ns,
                end_ns,
                parent: NO_PARENT,
                rank,
                id: span.id,
                takes_turns: !polls.is_empty() || was_mostly_suspended(span),
            });
        }
        for (member, &index) in self.sweep_members.iter_mut().zip(&self.sweep_nodes).skip(1) {
            let parent = self.nodes.get(index as usize).and_then(|node| self.nodes.get(node.parent as usize));
            let driver = parent.and_then(|parent| self.nodes.get(parent.driver as usize));
            member.parent = driver.map_or(NO_PARENT, |driver| driver.member);
        }
        let swept = self.sweep_nodes.len();
        self.joins.clear();
        let walked = (swept < self.members.len()).then(|| self.walk(trace, anchor));
        if walked.is_some() {
            self.join(anchor);
        }
        let are_nested =
            self.sweep.run(&self.sweep_members, &self.poll_slices, &self.joins, &mut self.exposed);
        self.own_ns = self.critical(trace, anchor, window, mode, walked.ok_or(are_nested), target);
        self.section_time.clear();
        for (&index, &exposed_ns) in self.sweep_nodes.iter().zip(&self.exposed) {
            let Some(node) = self.nodes.get(index as usize) else { continue };
            let is_boundary = node.anchor != anchor;
            // Between steps, a step's time is the step's.
            if is_boundary && mode.is_none() {
                continue;
            }
            if let Some(sum) = self.sums.get_mut(usize::from(node.slot)) {
                sum.exposed_ns += exposed_ns;
            }
            if let Some(mode) = mode.filter(|_| !is_boundary) {
                if exposed_ns > 0 && !node.is_orphan {
                    self.section_time.add(node.path, |sum| sum.saturating_add(exposed_ns));
                }
                let acc = target.acc(node);
                if let Some(part) = acc.in_steps.get_mut(mode) {
                    part.exposed_ns = part.exposed_ns.saturating_add(exposed_ns.into());
                }
            }
        }
    }

    /// Takes down what of the path that was walked last the driving thread waited for, and whose time that is.
    fn join(&mut self, anchor: u32) {
        self.waiters.clear();
        for (&index, member) in self.members.iter().zip(&self.paths.members) {
            let own = self.nodes.get(index as usize).filter(|node| node.anchor == anchor && node.is_driving);
            let own = own.filter(|_| index != anchor);
            if let Some(node) = own.filter(|_| member.awaits != crate::critical_path::NO_PARENT) {
                self.waiters.push((node.start_ns, node.end_ns, node.member));
            }
        }
        // From the end backwards.
        for piece in self.paths.pieces.iter().rev() {
            let index = self.members.get(piece.member as usize);
            let node = index.and_then(|&index| self.nodes.get(index as usize));
            let Some(node) = node.filter(|node| node.anchor == anchor && !node.is_driving) else { continue };
            let Some(driver) = self.nodes.get(node.driver as usize) else { continue };
            let rank = self.rank_elsewhere(node);
            let mut start_ns = piece.start_ns;
            while start_ns < piece.end_ns {
                // Where what is around it on the driving thread is around one that waited, this is who did, meanwhile.
                let next = self.waiters.partition_point(|waiter| waiter.0 <= start_ns);
                let waiter = next.checked_sub(1).and_then(|last| self.waiters.get(last));
                let waiter = waiter.filter(|waiter| start_ns < waiter.1 && driver.start_ns <= waiter.0);
                let next_ns = self.waiters.get(next).map_or(u64::MAX, |waiter| waiter.0);
                let end_ns = waiter.map_or(u64::MAX, |waiter| waiter.1).min(next_ns).min(piece.end_ns);
                if waiter.is_some() || !node.is_beside {
                    let waiter = waiter.map_or(driver.member, |waiter| waiter.2);
                    self.joins.push(BlockedOn { start_ns, end_ns, waiter, rank });
                    self.sweep_nodes.push(node.carrier);
                }
                start_ns = end_ns;
            }
        }
    }

    /// The highest precedence of a section of another thread and those around it there.
    fn rank_elsewhere(&self, node: &Node) -> u64 {
        let chain = self.around_elsewhere(node.carrier, node.start_ns, node.end_ns);
        chain.map(|(_, node)| self.slots.rank(node.slot)).min().unwrap_or(NO_PHASE)
    }
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

/// The interval of a span within the window.
pub(crate) fn clamp(node: &Node, window: &Node) -> (u64, u64) {
    let start_ns = node.start_ns.clamp(window.start_ns, window.end_ns);
    (start_ns, node.end_ns.clamp(start_ns, window.end_ns))
}
