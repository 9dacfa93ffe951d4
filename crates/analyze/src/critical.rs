//! The critical path through one tree of spans, in integer nanoseconds: who held up the end of the window at
//! each of its moments. Only time is attributed here; which spans take part, on which thread they ran and what
//! is summed of the result is decided by the fold.
//!
//! From the window's end backwards: at each point the child that ended last, but not after the point, held up
//! what came then, so the path goes through it from its end to its start and on from there; where no child is
//! left, the span held itself up. So the pieces of a walk are exactly the window, without gap or overlap.
//!
//! - Of children with the same end the one that started last is taken, then the one with the larger id. A child
//!   that ends where the next begins is on the path with it (`<=`).
//! - What reaches beyond its parent is cut to it; what lies outside of it takes no part.
//! - The path goes from a child back to its own parent only, so that chains running side by side under one
//!   parent do not adopt each other's children.
//! - [`Member::is_detached`] children are never waited for, so neither they nor what they caused is on the path.
//! - Clocks of different processes disagree a little: a child that ends within 1 % of the parent's duration
//!   after the next one's start, in another process and with nothing else beginning or ending in between, came
//!   before it all the same; it is moved back by the overlap. (The rule of the CRISP tool, whose exclusive times
//!   are these pieces' lengths.) Within a process nothing is moved.

mod sums;

use std::cmp::Reverse;

pub(crate) use sums::{CriticalAcc, TRACES, WINDOWS, WindowSums};

/// No parent among the members.
pub const NO_PARENT: u32 = u32::MAX;

/// The part of its parent's duration by which a child of another process may overlap the next: one in so many.
const SKEW_PART: u64 = 100;

/// One span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Start, on any clock that all members share.
    pub start_ns: u64,
    /// End, not before the start.
    pub end_ns: u64,
    /// Index of its parent, or [`NO_PARENT`].
    pub parent: u32,
    /// Its id, for ties.
    pub id: u64,
    /// Which process it ran in; any numbers.
    pub process: u32,
    /// Whether its parent cannot have waited for it.
    pub is_detached: bool,
}

/// A piece of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Index of the member that held up the window's end.
    pub member: u32,
    /// From.
    pub start_ns: u64,
    /// To; after `start_ns`.
    pub end_ns: u64,
}

/// How a member stands to the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    /// Outside of the window, never waited for, or below such a member.
    #[default]
    Apart,
    /// On the path.
    On,
    /// Beside it: it could have ended this much later, all else equal, before the window's end had moved.
    Slack(u64),
}

/// Walks trees; memory is reused.
#[derive(Debug, Clone, Default)]
pub struct Walk {
    /// Children of each member: where they begin in `children`, then one past the last.
    firsts: Vec<u32>,
    children: Vec<u32>,
    work: Vec<Frame>,
    candidates: Vec<Candidate>,
    starts: Vec<u64>,
}

/// A member whose children are to be walked.
#[derive(Debug, Clone, Copy)]
struct Frame {
    member: u32,
    /// What of it counts, on the window's clock.
    start_ns: u64,
    end_ns: u64,
    /// How far it was moved back.
    moved_ns: u64,
    /// Absent on the path.
    slack_ns: Option<u64>,
}

/// A child cut to its parent.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    start_ns: u64,
    end_ns: u64,
    id: u64,
    member: u32,
    process: u32,
}

impl Walk {
    /// Fills `pieces` with the path from the end to the start of member `root`, latest first, and `standing`
    /// with what each member is to it. Members that are not below `root` stay apart.
    pub fn run(
        &mut self,
        members: &[Member],
        root: u32,
        pieces: &mut Vec<Piece>,
        standing: &mut Vec<Standing>,
    ) {
        pieces.clear();
        standing.clear();
        standing.resize(members.len(), Standing::Apart);
        let Some(window) = members.get(root as usize) else { return };
        self.index(members);
        self.work.clear();
        self.work.push(Frame {
            member: root,
            start_ns: window.start_ns,
            end_ns: window.end_ns.max(window.start_ns),
            moved_ns: 0,
            slack_ns: None,
        });
        while let Some(frame) = self.work.pop() {
            if let Some(slot) = standing.get_mut(frame.member as usize) {
                // A member is reached once, or its parents form a cycle.
                if *slot != Standing::Apart {
                    continue;
                }
                *slot = frame.slack_ns.map_or(Standing::On, Standing::Slack);
            }
            self.walk(members, &frame, pieces);
        }
        pieces.sort_unstable_by_key(|piece| Reverse(piece.start_ns));
    }

    /// Sorts the members by parent.
    fn index(&mut self, members: &[Member]) {
        self.firsts.clear();
        self.firsts.resize(members.len() + 1, 0);
        let parent_of = |member: &Member| Some(member.parent as usize).filter(|&at| at < members.len());
        for parent in members.iter().filter_map(parent_of) {
            if let Some(count) = self.firsts.get_mut(parent) {
                *count += 1;
            }
        }
        let mut end = 0;
        for first in &mut self.firsts {
            end += *first;
            *first = end;
        }
        self.children.clear();
        self.children.resize(end as usize, 0);
        // From behind, so that each place is its range's start when all are in.
        for (index, member) in members.iter().enumerate().rev() {
            let Some(first) = parent_of(member).and_then(|parent| self.firsts.get_mut(parent)) else {
                continue;
            };
            *first -= 1;
            if let Some(child) = self.children.get_mut(*first as usize) {
                *child = index as u32;
            }
        }
    }

    /// Goes through the children of one member, from its end to its start.
    fn walk(&mut self, members: &[Member], frame: &Frame, pieces: &mut Vec<Piece>) {
        self.gather(members, frame);
        self.starts.clear();
        let is_on_path = frame.slack_ns.is_none();
        let mut piece = |start_ns: u64, end_ns: u64| {
            if is_on_path && start_ns < end_ns {
                pieces.push(Piece { member: frame.member, start_ns, end_ns });
            }
        };
        let mut point_ns = frame.end_ns;
        let mut next: Option<Candidate> = None;
        for index in 0..self.candidates.len() {
            let Some(&child) = self.candidates.get(index) else { break };
            let is_before =
                next.is_none_or(|next| child.end_ns <= next.start_ns || self.skewed(&child, &next, frame));
            let (start_ns, end_ns, slack_ns) = if is_before {
                // How far the child is moved so that it ends where the next begins.
                let moved_ns = child.end_ns.saturating_sub(point_ns);
                let end_ns = child.end_ns - moved_ns;
                let start_ns = child.start_ns.saturating_sub(moved_ns).max(frame.start_ns).min(end_ns);
                piece(end_ns, point_ns);
                point_ns = start_ns;
                next = Some(child);
                (start_ns, end_ns, frame.slack_ns)
            } else {
                // The child on the path that ended last before it would have been the one, had this ended later.
                let room_ns = next.map_or(0, |next| next.end_ns.saturating_sub(child.end_ns));
                let slack_ns = frame.slack_ns.unwrap_or(0).saturating_add(room_ns);
                (child.start_ns, child.end_ns, Some(slack_ns))
            };
            let moved_ns = frame.moved_ns.saturating_add(child.end_ns - end_ns);
            self.work.push(Frame { member: child.member, start_ns, end_ns, moved_ns, slack_ns });
        }
        piece(frame.start_ns, point_ns);
    }

    /// The children of a member that take part, cut to it, those that ended last first.
    fn gather(&mut self, members: &[Member], frame: &Frame) {
        self.candidates.clear();
        let at = frame.member as usize;
        let range = self.firsts.get(at).zip(self.firsts.get(at + 1));
        let Some((&first, &last)) = range else { return };
        for &index in self.children.get(first as usize..last as usize).unwrap_or_default() {
            let Some(child) = members.get(index as usize).filter(|child| !child.is_detached) else {
                continue;
            };
            let start_ns = child.start_ns.saturating_sub(frame.moved_ns);
            let end_ns = child.end_ns.max(child.start_ns).saturating_sub(frame.moved_ns);
            let is_inside = start_ns < frame.end_ns && end_ns > frame.start_ns;
            let is_moment = start_ns == end_ns && frame.start_ns <= start_ns && start_ns <= frame.end_ns;
            if is_inside || is_moment {
                self.candidates.push(Candidate {
                    start_ns: start_ns.max(frame.start_ns),
                    end_ns: end_ns.min(frame.end_ns),
                    id: child.id,
                    member: index,
                    process: child.process,
                });
            }
        }
        self.candidates.sort_unstable_by_key(|child| Reverse((child.end_ns, child.start_ns, child.id)));
    }

    /// Whether `child` came before `next` although it seems to end after its start.
    fn skewed(&mut self, child: &Candidate, next: &Candidate, frame: &Frame) -> bool {
        let overlap_ns = child.end_ns.saturating_sub(next.start_ns);
        let may_be = child.process != next.process
            && child.end_ns < next.end_ns
            && child.start_ns < next.start_ns
            && overlap_ns.saturating_mul(SKEW_PART) < frame.end_ns - frame.start_ns;
        may_be && self.events_between(next.start_ns, child.end_ns) == 2
    }

    /// How many children begin or end from `start_ns` to `end_ns`, both included.
    fn events_between(&mut self, start_ns: u64, end_ns: u64) -> usize {
        if self.starts.is_empty() {
            self.starts.extend(self.candidates.iter().map(|child| child.start_ns));
            self.starts.sort_unstable();
        }
        let begun = self.starts.partition_point(|&start| start <= end_ns)
            - self.starts.partition_point(|&start| start < start_ns);
        // Candidates are sorted by falling ends.
        let ended = self.candidates.partition_point(|child| child.end_ns >= start_ns)
            - self.candidates.partition_point(|child| child.end_ns > end_ns);
        begun + ended
    }
}

#[cfg(test)]
mod tests;
