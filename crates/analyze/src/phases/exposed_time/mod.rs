//! Exposed time: which span of a step's driving thread each moment of the step belongs to. Of the open spans the highest phase
//! class wins (all that a host does itself is one), of these the innermost, of several the first by phase, then by span id.
//! Whoever waits for another thread ([`BlockedOn`]) gives it the time, but waits for data stay waits. A section that is
//! suspended between its turns ([`PollSlice`]) competes only while all that runs is around it, and the innermost of these
//! takes no turns.

pub(crate) mod open;

use stepscope_core::{Phase, PhaseClass};

use crate::step_view::forest;
use open::Concurrent;

/// No parent among the members.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Rank of a span without a phase.
pub(crate) const NO_PHASE: u64 = u64::MAX;

/// The rank of a phase: its class, then its place within that.
pub(crate) const fn rank(class: PhaseClass, order: u64) -> u64 {
    ((class as u64) << 32) | order
}

/// The class of a rank: what decides between threads.
pub(crate) const fn class_of(rank: u64) -> u64 {
    rank >> 32
}

const CPU_OPERATION: u64 = PhaseClass::CpuOperation as u64;
const OTHER: u64 = PhaseClass::Other as u64;

/// What decides between sections of one thread: its class, where all that a host does itself is one.
pub(crate) const fn class_within_thread(rank: u64) -> u64 {
    match class_of(rank) {
        OTHER => CPU_OPERATION,
        class => class,
    }
}

const DATA_WAIT: u64 = rank(Phase::DataWait.class(), Phase::DataWait as u64);
const SYNCHRONIZATION: u64 = rank(Phase::Synchronization.class(), Phase::Synchronization as u64);

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
    /// Whether it runs in its turns only, and is suspended between them.
    pub(crate) takes_turns: bool,
}

impl Member {
    const fn class(&self) -> u64 {
        class_within_thread(self.rank)
    }

    /// Whether its time is that of a section of another thread of this class that is waited for inside it.
    const fn yields_to(&self, class: u64) -> bool {
        self.rank != DATA_WAIT && (self.rank == SYNCHRONIZATION || class <= class_of(self.rank))
    }
}

/// A time for which a member that takes turns ran.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PollSlice {
    pub(crate) member: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// For how long a member waited for a section of another thread, which the critical path went through meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockedOn {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Who waited, among the members.
    pub(crate) waiter: u32,
    /// Precedence of the other section's phase, or the highest of those around it on its thread.
    pub(crate) rank: u64,
}

/// What is waited for, by time.
#[derive(Debug, Clone, Copy)]
struct Joins<'a> {
    all: &'a [BlockedOn],
    /// The first that may not be over yet.
    next: usize,
}

impl Joins<'_> {
    /// Gives for each of those from `start_ns` to `end_ns` its index and its time; `start_ns` never falls from call to
    /// call.
    fn within(&mut self, start_ns: u64, end_ns: u64, mut give: impl FnMut(usize, &BlockedOn, u64)) {
        while self.all.get(self.next).is_some_and(|joined| joined.end_ns <= start_ns) {
            self.next += 1;
        }
        for (index, joined) in self.all.iter().enumerate().skip(self.next) {
            if joined.start_ns >= end_ns {
                break;
            }
            let common_ns = joined.end_ns.min(end_ns).saturating_sub(joined.start_ns.max(start_ns));
            if common_ns > 0 {
                give(index, joined, common_ns);
            }
        }
    }
}

/// Moves time from a member to what it waited for.
fn move_time(exposed: &mut [u64], from: usize, to: usize, ns: u64) {
    if let Some(mine) = exposed.get_mut(from) {
        *mine = mine.saturating_sub(ns);
    }
    if let Some(theirs) = exposed.get_mut(to) {
        *theirs += ns;
    }
}

/// Attributes time; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    /// Open members, and which of those around each its time belongs to.
    stack: Vec<(u32, u32)>,
    concurrent: Concurrent,
    own: Vec<u64>,
}

impl Sweep {
    /// Fills `exposed` with the time that belongs to each member, then to each of `joins`, which are sorted and do not
    /// overlap. The first member is the window itself, so that the sum is its duration. Members are sorted by start
    /// where they can be (any order is right), and `poll_slices` are those of all who take them. Whether they nest like calls, so
    /// that each has an [`Self::own`] time.
    pub(crate) fn run(
        &mut self,
        members: &[Member],
        poll_slices: &[PollSlice],
        joins: &[BlockedOn],
        exposed: &mut Vec<u64>,
    ) -> bool {
        exposed.clear();
        exposed.resize(members.len() + joins.len(), 0);
        self.own.clear();
        self.own.resize(members.len(), 0);
        let are_nested = self.nested(members, joins, exposed);
        if !are_nested || members.iter().any(|member| member.takes_turns) {
            exposed.iter_mut().for_each(|slot| *slot = 0);
            self.concurrent.run(members, poll_slices, joins, exposed);
        }
        are_nested
    }

    /// Of members that nest like calls: the time for which each was the innermost.
    pub(crate) fn own(&self) -> &[u64] {
        &self.own
    }

    /// The usual case: spans nest like calls, so that exactly one is innermost. `false` where they do not.
    fn nested(&mut self, members: &[Member], joins: &[BlockedOn], exposed: &mut [u64]) -> bool {
        let Some(window) = members.first() else { return true };
        self.stack.clear();
        self.stack.push((0, 0));
        let own = &mut self.own;
        let mut joins = Joins { all: joins, next: 0 };
        let mut now_ns = window.start_ns;
        let mut spend = |(member, owner): (u32, u32), now_ns: &mut u64, until_ns: u64| {
            let spent_ns = until_ns.saturating_sub(*now_ns);
            if let Some(slot) = own.get_mut(member as usize) {
                *slot += spent_ns;
            }
            if let Some(slot) = exposed.get_mut(owner as usize) {
                *slot += spent_ns;
            }
            if !joins.all.is_empty() {
                let spender = members.get(owner as usize);
                joins.within(*now_ns, until_ns, |at, joined, ns| {
                    let is_given = joined.waiter == member;
                    if is_given && spender.is_some_and(|owner| owner.yields_to(class_of(joined.rank))) {
                        move_time(exposed, owner as usize, members.len() + at, ns);
                    }
                });
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
}

/// Whether a member is another, or around it.
fn is_around(members: &[Member], outer: u32, inner: u32) -> bool {
    let parent_of = |at: u32| members.get(at as usize).map(|member| member.parent);
    // No chain of parents is longer than there are members.
    forest::is_around(parent_of, outer, inner, members.len())
}

#[cfg(test)]
mod tests;
