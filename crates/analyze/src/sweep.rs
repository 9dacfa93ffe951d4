//! Exposed time: which span of a step's driving thread each moment of the step belongs to.
//!
//! At each moment the open spans of the highest phase class compete, spans without a phase being the lowest. Of
//! these the innermost wins, which has none of its class open inside it; of several innermost ones, which only
//! asynchronous sections can be, the first by phase, then by span id. Only time is attributed here; which spans
//! take part and what their phases are is decided by the fold.

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
    /// Precedence of its phase: smaller wins; the class is in the upper half.
    pub(crate) rank: u64,
    /// Its span id.
    pub(crate) id: u64,
}

impl Member {
    const fn class(&self) -> u64 {
        self.rank >> 32
    }
}

/// Attributes time; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    /// Open members, and which of those around each its time belongs to.
    stack: Vec<(u32, u32)>,
    events: Vec<Event>,
    own: Vec<u64>,
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
    /// they nest like calls, so that each has an [`Self::own`] time.
    pub(crate) fn run(&mut self, members: &[Member], exposed: &mut Vec<u64>) -> bool {
        exposed.clear();
        exposed.resize(members.len(), 0);
        self.own.clear();
        self.own.resize(members.len(), 0);
        let are_nested = self.nested(members, exposed);
        if !are_nested {
            exposed.iter_mut().for_each(|slot| *slot = 0);
            self.general(members, exposed);
        }
        are_nested
    }

    /// Of members that nest like calls: the time for which each was the innermost.
    pub(crate) fn own(&self) -> &[u64] {
        &self.own
    }

    /// The usual case: spans nest like calls, so that exactly one is innermost. `false` where they do not.
    fn nested(&mut self, members: &[Member], exposed: &mut [u64]) -> bool {
        let Some(window) = members.first() else { return true };
        self.stack.clear();
        self.stack.push((0, 0));
        let own = &mut self.own;
        let mut now_ns = window.start_ns;
        let mut spend = |(member, owner): (u32, u32), now_ns: &mut u64, until_ns: u64| {
            let spent_ns = until_ns.saturating_sub(*now_ns);
            if let Some(slot) = own.get_mut(member as usize) {
                *slot += spent_ns;
            }
            if let Some(slot) = exposed.get_mut(owner as usize) {
                *slot += spent_ns;
            }
            *now_ns = until_ns;
        };
        for (index, member) in members.iter().enumerate().skip(1) {
            if member.start_ns < now_ns {
                return false;
            }
            let (top, open) = loop {
                let Some(&top) = self.stack.last() else { return false };
                let Some(open) = members.get(top.0 as usize) else { return false };
                if open.end_ns > member.start_ns {
                    break (top, open);
                }
                spend(top, &mut now_ns, open.end_ns);
                self.stack.pop();
            };
            if top.0 != member.parent || member.end_ns > open.end_ns {
                return false;
            }
            spend(top, &mut now_ns, member.start_ns);
            if member.start_ns < member.end_ns {
                let is_higher =
                    members.get(top.1 as usize).is_some_and(|owner| owner.class() < member.class());
                self.stack.push((index as u32, if is_higher { top.1 } else { index as u32 }));
            }
        }
        while let Some(top) = self.stack.pop() {
            let end_ns = members.get(top.0 as usize).map_or(now_ns, |open| open.end_ns);
            spend(top, &mut now_ns, end_ns);
        }
        true
    }

    /// Any spans: overlapping siblings, children that outlive their parents.
    fn general(&mut self, members: &[Member], exposed: &mut [u64]) {
        self.events.clear();
        for (index, member) in members.iter().enumerate() {
            if member.start_ns < member.end_ns {
                let member_index = index as u32;
                self.events.push(Event { time_ns: member.start_ns, member: member_index, is_start: true });
                self.events.push(Event { time_ns: member.end_ns, member: member_index, is_start: false });
            }
        }
        self.events.sort_unstable();
        // Of each member whether it is open, and how many of its class are open inside it.
        let mut open = vec![(false, 0u32); members.len()];
        let mut innermost: BTreeSet<(u64, u64, u32)> = BTreeSet::new();
        let mut now_ns = 0;
        for event in &self.events {
            if event.time_ns > now_ns {
                if let Some(slot) = innermost.first().and_then(|&(_, _, best)| exposed.get_mut(best as usize))
                {
                    *slot += event.time_ns - now_ns;
                }
                now_ns = event.time_ns;
            }
            let Some(member) = members.get(event.member as usize) else { continue };
            let mut at = event.member;
            // No chain of parents is longer than there are members.
            for _ in 0..members.len() {
                let (Some(here), Some(state)) = (members.get(at as usize), open.get_mut(at as usize)) else {
                    break;
                };
                if at == event.member {
                    state.0 = event.is_start;
                } else if here.class() == member.class() {
                    state.1 = if event.is_start { state.1 + 1 } else { state.1.saturating_sub(1) };
                }
                let key = (here.rank, here.id, at);
                if *state == (true, 0) {
                    innermost.insert(key);
                } else {
                    innermost.remove(&key);
                }
                at = here.parent;
            }
        }
    }
}

#[cfg(test)]
mod tests;
