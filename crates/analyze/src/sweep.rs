//! Exposed time: which span of a step's driving thread each moment of the step belongs to.
//!
//! At each moment the innermost active spans compete: those without an active child. The highest phase class
//! wins, ties go by phase, then by span id; spans without a phase come last. Only time is attributed here;
//! which spans take part and what their phases are is decided by the fold.

use std::collections::BTreeSet;

/// No parent among the members.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Rank of a span without a phase.
pub(crate) const NO_PHASE: u64 = u64::MAX;

/// One span of the driving thread, clamped to the window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Nearest ancestor among the members, [`NO_PARENT`] for the window's own span.
    pub(crate) parent: u32,
    /// Precedence of its phase: smaller wins.
    pub(crate) rank: u64,
    /// Its span id.
    pub(crate) id: u64,
}

/// Attributes time; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    stack: Vec<u32>,
    events: Vec<Event>,
    children: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: u64,
    member: u32,
    is_start: bool,
}

impl Sweep {
    /// Fills `exposed` with the time that belongs to each member. The first member is the window itself, so
    /// that the sum is its duration. Members are sorted by start where they can be (any order is right). Whether
    /// they nest like calls, so that each has its own time.
    pub(crate) fn run(&mut self, members: &[Member], exposed: &mut Vec<u64>) -> bool {
        exposed.clear();
        exposed.resize(members.len(), 0);
        let are_nested = self.nested(members, exposed);
        if !are_nested {
            exposed.iter_mut().for_each(|slot| *slot = 0);
            self.general(members, exposed);
        }
        are_nested
    }

    /// The usual case: spans nest like calls, so that exactly one is innermost. `false` where they do not.
    fn nested(&mut self, members: &[Member], exposed: &mut [u64]) -> bool {
        let Some(window) = members.first() else { return true };
        self.stack.clear();
        self.stack.push(0);
        let mut now_ns = window.start_ns;
        let mut spend = |member: u32, now_ns: &mut u64, until_ns: u64| {
            if let Some(slot) = exposed.get_mut(member as usize) {
                *slot += until_ns.saturating_sub(*now_ns);
            }
            *now_ns = until_ns;
        };
        for (index, member) in members.iter().enumerate().skip(1) {
            if member.start_ns < now_ns {
                return false;
            }
            let top = loop {
                let Some(&top) = self.stack.last() else { return false };
                let Some(open) = members.get(top as usize) else { return false };
                if open.end_ns > member.start_ns {
                    break (top, open.end_ns);
                }
                spend(top, &mut now_ns, open.end_ns);
                self.stack.pop();
            };
            if top.0 != member.parent || member.end_ns > top.1 {
                return false;
            }
            spend(top.0, &mut now_ns, member.start_ns);
            if member.start_ns < member.end_ns {
                self.stack.push(index as u32);
            }
        }
        while let Some(top) = self.stack.pop() {
            let end_ns = members.get(top as usize).map_or(now_ns, |open| open.end_ns);
            spend(top, &mut now_ns, end_ns);
        }
        true
    }

    /// Any spans: overlapping siblings, children that outlive their parents.
    fn general(&mut self, members: &[Member], exposed: &mut [u64]) {
        self.events.clear();
        self.children.clear();
        self.children.resize(members.len(), 0);
        for (index, member) in members.iter().enumerate() {
            if member.start_ns < member.end_ns {
                let member_index = index as u32;
                self.events.push(Event { time_ns: member.start_ns, member: member_index, is_start: true });
                self.events.push(Event { time_ns: member.end_ns, member: member_index, is_start: false });
            }
        }
        self.events.sort_unstable();
        let mut active = vec![false; members.len()];
        let mut innermost: BTreeSet<(u64, u64, u32)> = BTreeSet::new();
        let key = |index: u32| members.get(index as usize).map(|member| (member.rank, member.id, index));
        let mut now_ns = 0;
        for event in &self.events {
            if event.time_ns > now_ns {
                if let Some(slot) = innermost.first().and_then(|&(_, _, best)| exposed.get_mut(best as usize))
                {
                    *slot += event.time_ns - now_ns;
                }
                now_ns = event.time_ns;
            }
            let Some(own) = key(event.member) else { continue };
            let parent = members.get(event.member as usize).and_then(|member| key(member.parent));
            if let Some(slot) = active.get_mut(event.member as usize) {
                *slot = event.is_start;
            }
            let children_of =
                |children: &[u32], index: u32| children.get(index as usize).copied().unwrap_or(0);
            if event.is_start {
                if children_of(&self.children, event.member) == 0 {
                    innermost.insert(own);
                }
            } else {
                innermost.remove(&own);
            }
            let Some(parent) = parent else { continue };
            if let Some(slot) = self.children.get_mut(parent.2 as usize) {
                *slot = if event.is_start { *slot + 1 } else { slot.saturating_sub(1) };
            }
            let is_active = active.get(parent.2 as usize).copied().unwrap_or(false);
            if children_of(&self.children, parent.2) > 0 {
                innermost.remove(&parent);
            } else if is_active {
                innermost.insert(parent);
            }
        }
    }
}

#[cfg(test)]
mod tests;
