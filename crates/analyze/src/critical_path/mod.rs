//! The critical path through one tree of spans, in integer nanoseconds: who held up the end of the window at each of its
//! moments. From the window's end backwards, at each point through the child that ended last, but not after the point; where
//! none is left, the span held itself up. So the pieces of a walk are exactly the window. ARCHITECTURE.md has all rules.
//! Only time is attributed here; `observe` decides which spans take part, and what is summed of the result.

pub(crate) mod finish;
pub(crate) mod linked;
pub(crate) mod member;
pub(crate) mod observe;
pub(crate) mod run_intervals;
pub(crate) mod state;
pub(crate) mod summary;
pub(crate) mod sums;
pub(crate) mod thread_occupancy;
pub(crate) mod waiting;

use std::cmp::Reverse;

pub use member::{Member, NO_PARENT, Piece, Standing};
use member::{is_around, is_inside_on, run_side_by_side};
pub use run_intervals::RunInterval;
use state::{Candidate, Frame, Held, Open, Way, candidate};
use thread_occupancy::ThreadOccupancy;

pub(crate) use linked::{Linked, Waited};
pub(crate) use sums::{CriticalAcc, TRACES, WINDOWS, WindowSums};

/// The part of its parent's duration by which a child may overlap the next that it came before, and for which a thread
/// may lie idle between two sections of which the later one waited for it: one in so many.
const SKEW_PART: u64 = 100;

/// The same for the part of the time for which the thread was held before.
const IDLE_PART: u64 = 10;

/// Walks trees; memory is reused.
#[derive(Debug, Clone, Default)]
pub struct Walk {
    /// Children of each member: where they begin in `children`, then one past the last.
    firsts: Vec<u32>,
    children: Vec<u32>,
    /// Members on the path that are being walked, from the window inwards, and those beside it, which come later.
    open: Vec<Open>,
    beside: Vec<Frame>,
    /// Of those that are being walked, one after the other, as are the next two.
    candidates: Vec<Candidate>,
    starts: Vec<u64>,
    /// Children on the member's own thread: start, id, member; sorted. Read when first asked.
    own: Vec<(u64, u64, u32)>,
    /// What a member on the path waited for beside its own children: siblings that ran while it was suspended, and what
    /// it awaited. Ranges of it are those of one member.
    guests: Vec<Candidate>,
    holders: ThreadOccupancy,
    /// How often each member is being walked at the moment.
    inside: Vec<u32>,
    /// When suspended members ran, by member and start.
    run_intervals: Vec<RunInterval>,
    free: Vec<run_intervals::Time>,
    /// How many more members may be walked for a second time.
    returns: usize,
}

impl Walk {
    /// As [`run`](Self::run), where of some suspended members all stints are known: sorted by member and start.
    pub fn run_with(
        &mut self,
        members: &[Member],
        run_intervals: &[RunInterval],
        root: u32,
        pieces: &mut Vec<Piece>,
        standing: &mut Vec<Standing>,
    ) {
        self.run_intervals.extend_from_slice(run_intervals);
        self.run(members, root, pieces, standing);
        self.run_intervals.clear();
    }

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
        self.holders.clear();
        self.guests.clear();
        self.inside.clear();
        self.inside.resize(members.len(), 0);
        self.returns = members.len() + self.run_intervals.len();
        self.beside.clear();
        self.open.clear();
        let root = Frame {
            member: root,
            start_ns: window.start_ns,
            end_ns: window.end_ns.max(window.start_ns),
            moved_ns: 0,
            slack_ns: None,
            guests: (0, 0),
            is_part: false,
        };
        // The path first: what is on it is not beside it.
        self.enter(members, root, pieces, standing);
        while let Some(mut open) = self.open.pop() {
            match self.walk(members, &mut open, pieces) {
                Way::Below(below) => {
                    self.open.push(open);
                    self.enter(members, below, pieces, standing);
                }
                Way::Over(left) => {
                    self.leave(&open);
                    if let Some((around, held)) = self.open.last_mut().zip(left) {
                        (around.point_ns, around.holder) = (held.candidate.end_ns, Some(held));
                    }
                }
            }
        }
        while let Some(frame) = self.beside.pop() {
            self.enter(members, frame, pieces, standing);
            if let Some(mut open) = self.open.pop() {
                self.walk(members, &mut open, pieces);
                self.leave(&open);
            }
        }
        pieces.sort_unstable_by_key(|piece| Reverse(piece.start_ns));
    }

    /// Begins with a member, if it is to be walked.
    fn enter(
        &mut self,
        members: &[Member],
        frame: Frame,
        pieces: &mut Vec<Piece>,
        standing: &mut [Standing],
    ) {
        let Some(slot) = standing.get_mut(frame.member as usize) else { return };
        if *slot != Standing::Apart {
            // Beside the path once is enough; on it each time is a part of the window.
            if frame.slack_ns.is_some() {
                return;
            }
            // Bounded, even where parents form a cycle: beyond it the time is the member's own.
            let Some(returns) = self.returns.checked_sub(1) else {
                let Frame { member, start_ns, end_ns, .. } = frame;
                if start_ns < end_ns {
                    pieces.push(Piece { member, start_ns, end_ns });
                }
                return;
            };
            self.returns = returns;
        }
        *slot = frame.slack_ns.map_or(Standing::On, Standing::Slack);
        if let Some(inside) = self.inside.get_mut(frame.member as usize) {
            *inside += 1;
        }
        let Self { candidates, starts, own, .. } = self;
        let (candidates, starts, own) = (candidates.len(), starts.len(), own.len());
        self.open.push(Open {
            frame,
            candidates,
            starts,
            own,
            is_own_read: false,
            index: candidates,
            point_ns: frame.end_ns,
            next: None,
            holder: None,
        });
        self.gather(members, &frame, candidates);
    }

    /// Forgets what was kept of a member.
    fn leave(&mut self, open: &Open) {
        self.candidates.truncate(open.candidates);
        self.starts.truncate(open.starts);
        self.own.truncate(open.own);
        if let Some(inside) = self.inside.get_mut(open.frame.member as usize) {
            *inside -= 1;
        }
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

    /// Goes on through the children of one member, towards its start.
    fn walk(&mut self, members: &[Member], open: &mut Open, pieces: &mut Vec<Piece>) -> Way {
        let frame = open.frame;
        let is_on_path = frame.slack_ns.is_none();
        let mut piece = |start_ns: u64, end_ns: u64| {
            if is_on_path && start_ns < end_ns {
                pieces.push(Piece { member: frame.member, start_ns, end_ns });
            }
        };
        loop {
            let sibling = self.candidates.get(open.index).copied();
            // It stays until it is its turn, or another is taken before it.
            let is_first = |held: &Held| sibling.is_none_or(|sibling| held.candidate.key() > sibling.key());
            let held = open.holder.filter(is_first);
            open.index += usize::from(held.is_none());
            let Some(child) = held.map(|held| held.candidate).or(sibling) else { break };
            let is_left = open.holder.is_some_and(|held| held.is_left);
            let is_before = held.is_some()
                || !is_left
                    && open.next.is_none_or(|next| {
                        child.end_ns <= next.start_ns || self.skewed(members, &child, &next, open)
                    });
            if !is_before {
                if child.is_guest {
                    continue;
                }
                // The child on the path that ended last before it would have been the one, had this ended later.
                let room_ns = open.next.map_or(0, |next| next.end_ns.saturating_sub(child.end_ns));
                self.beside.push(Frame {
                    member: child.member,
                    start_ns: child.start_ns,
                    end_ns: child.end_ns,
                    moved_ns: frame.moved_ns,
                    slack_ns: Some(frame.slack_ns.unwrap_or(0).saturating_add(room_ns)),
                    guests: (0, 0),
                    is_part: child.is_part,
                });
                continue;
            }
            // How far the child is moved so that it ends where the next begins.
            let moved_ns = child.end_ns.saturating_sub(open.point_ns);
            let end_ns = child.end_ns - moved_ns;
            let all_moved_ns = held.map_or(frame.moved_ns.saturating_add(moved_ns), |held| held.moved_ns);
            piece(end_ns, open.point_ns);
            // Nothing is before the window.
            let is_inner =
                self.open.first().is_some_and(|outermost| outermost.frame.start_ns < frame.start_ns);
            if child.is_awaited && is_inner {
                let at = child.moved(moved_ns);
                if at.begun_ns < frame.start_ns {
                    // It was there before this one was: what is around goes on with it.
                    let candidate = Candidate { start_ns: at.begun_ns, ..at };
                    return Way::Over(Some(Held { candidate, moved_ns: all_moved_ns, is_left: true }));
                }
            }
            let start_ns = child.start_ns.saturating_sub(moved_ns).max(frame.start_ns).min(end_ns);
            open.point_ns = start_ns;
            open.next = Some(child);
            let mut below = Frame {
                member: child.member,
                start_ns,
                end_ns,
                moved_ns: all_moved_ns,
                slack_ns: frame.slack_ns,
                guests: (0, 0),
                is_part: child.is_part,
            };
            if is_on_path {
                below.guests = self.invite(members, &child, open, (moved_ns, below.moved_ns));
                open.holder = self.holder(members, open, &child, start_ns);
                return Way::Below(below);
            }
            self.beside.push(below);
        }
        piece(frame.start_ns, open.point_ns);
        Way::Over(None)
    }

    /// The children of a member that take part, and its guests, cut to it, those that ended last first. They are kept from an index on.
    fn gather(&mut self, members: &[Member], frame: &Frame, from: usize) {
        let fits = |child: &Candidate| !frame.is_part || child.end_ns <= frame.end_ns;
        let cut = |child: Candidate| child.within(frame.start_ns, frame.end_ns).filter(|_| fits(&child));
        let parent = members.get(frame.member as usize).filter(|_| frame.is_part);
        for &index in children_of(&self.firsts, &self.children, frame.member) {
            let Some(child) = members.get(index as usize).filter(|child| !child.is_detached) else {
                continue;
            };
            let is_call = parent.is_some_and(|parent| is_inside_on(parent, child));
            let child = candidate(child, index).moved(frame.moved_ns);
            // A call that went on when the part ended is there as a part, too.
            let goes_on = is_call && !fits(&child) && child.start_ns < frame.end_ns;
            let part = Candidate { is_part: true, end_ns: frame.end_ns, ..child };
            self.candidates.extend(cut(if goes_on { part } else { child }));
        }
        let (first, last) = frame.guests;
        for &guest in self.guests.get(first as usize..last as usize).unwrap_or_default() {
            self.candidates.extend(cut(guest));
        }
        if let Some(candidates) = self.candidates.get_mut(from..) {
            candidates.sort_unstable_by_key(|child| Reverse(child.key()));
        }
    }

    /// Notes what `child` waited for beside its own children. Its siblings are the candidates of `open` that are left; it is
    /// moved as far against these, and so far in all.
    fn invite(
        &mut self,
        members: &[Member],
        child: &Candidate,
        open: &Open,
        (moved_ns, all_moved_ns): (u64, u64),
    ) -> (u32, u32) {
        let first = self.guests.len() as u32;
        let Some(own) = members.get(child.member as usize) else { return (0, 0) };
        if own.is_suspended && own.thread.is_some() {
            self.invite_siblings(members, own, child, open, moved_ns);
        }
        let awaited = self.awaited(members, child.member, own);
        self.guests.extend(awaited.map(|awaited| awaited.moved(all_moved_ns)));
        (first, self.guests.len() as u32)
    }

    /// What of the section that `own`, at `index`, waited for it can have waited for: nothing after its own end, nor
    /// anything inside of which the path is already.
    fn awaited(&self, members: &[Member], index: u32, own: &Member) -> Option<Candidate> {
        let awaited = members.get(own.awaits as usize)?;
        let is_inside = own.awaits == index || self.inside.get(own.awaits as usize) != Some(&0);
        let goes_on = awaited.end_ns > own.end_ns;
        let is_meanwhile = awaited.start_ns < own.end_ns;
        let whole = candidate(awaited, own.awaits);
        (!is_inside && (!goes_on || is_meanwhile)).then(|| Candidate {
            end_ns: whole.end_ns.min(own.end_ns),
            is_guest: true,
            is_awaited: true,
            ..whole
        })
    }

    /// Those that ran on the thread of `child` while it was suspended.
    fn invite_siblings(
        &mut self,
        members: &[Member],
        own: &Member,
        child: &Candidate,
        open: &Open,
        moved_ns: u64,
    ) {
        let Self { candidates, guests, free, run_intervals, .. } = self;
        run_intervals::free(own, run_intervals::of(run_intervals, child.member), free);
        let earlier = |time_ns: u64| time_ns.saturating_sub(open.frame.moved_ns);
        for sibling in candidates.get(open.index..).unwrap_or_default() {
            // They come by falling ends.
            if sibling.end_ns <= child.start_ns {
                break;
            }
            let Some(other) = members.get(sibling.member as usize) else { continue };
            // What is awaited is there twice.
            if other.process != own.process || sibling.member == child.member {
                continue;
            }
            for (from_ns, to_ns, thread) in
                run_intervals::held(other, run_intervals::of(run_intervals, sibling.member))
            {
                for &(start_ns, end_ns, _) in free.iter().filter(|time| time.2 == thread) {
                    let ran = sibling.within(earlier(from_ns), earlier(to_ns));
                    let ran = ran.and_then(|ran| ran.within(earlier(start_ns), earlier(end_ns)));
                    guests.extend(ran.map(|ran| Candidate {
                        is_guest: true,
                        is_awaited: false,
                        ..ran.moved(moved_ns)
                    }));
                }
            }
        }
    }

    /// What held the thread of `child`, which is on the path from `start_ns` on, until it could begin, or began it.
    fn holder(
        &mut self,
        members: &[Member],
        open: &mut Open,
        child: &Candidate,
        start_ns: u64,
    ) -> Option<Held> {
        let own = members.get(child.member as usize)?;
        // At the window's ends nothing is left to explain, and the window has to become smaller.
        if !(open.frame.start_ns < start_ns && start_ns < open.frame.end_ns) {
            return None;
        }
        let Candidate { is_guest, is_awaited, .. } = *child;
        let before = self.before(members, open, child, own);
        let around = is_awaited.then(|| around_alone(members, own, open.frame.member)).flatten();
        let moved_ns = own.start_ns.saturating_sub(start_ns);
        let cut = |held: Candidate| held.moved(moved_ns).within(open.frame.start_ns, start_ns);
        let [before, around] = [before, around].map(|held| held.and_then(cut));
        let held = before.into_iter().chain(around).max_by_key(Candidate::key)?;
        Some(Held { candidate: Candidate { is_guest, is_awaited, ..held }, moved_ns, is_left: false })
    }

    /// What had the thread of `child`, or was on its parent's when it began.
    fn before(
        &mut self,
        members: &[Member],
        open: &mut Open,
        child: &Candidate,
        own: &Member,
    ) -> Option<Candidate> {
        let frame = open.frame;
        let parent = members.get(frame.member as usize)?;
        // What is awaited may be on a thread that is not known; what came before it in a parent that is not around both is in
        // that one's path.
        let is_elsewhere = match own.thread {
            Some(_) => (own.process, own.thread) != (parent.process, parent.thread),
            None => child.is_guest && is_around(members, own.parent, frame.member),
        };
        if !is_elsewhere {
            return None;
        }
        let is_child = own.parent == frame.member;
        match self.had_thread(members, &frame, own) {
            // Children of the same parent are candidates already, but for those of a parent elsewhere.
            Some((_, held)) if held.parent == own.parent && !held.is_detached && is_child => None,
            Some((index, held)) => Some(candidate(held, index)),
            None if is_child && (!child.is_guest || child.is_awaited) => {
                self.beginner(members, open, parent, own)
            }
            None => None,
        }
    }

    /// What had the thread of `own` until it began.
    fn had_thread<'a>(
        &mut self,
        members: &'a [Member],
        frame: &Frame,
        own: &Member,
    ) -> Option<(u32, &'a Member)> {
        let index = self.holders.before(members, own)?;
        let held = members.get(index as usize)?;
        let idle_ns = own.start_ns - held.end_ns;
        let at_once = idle_ns.saturating_mul(SKEW_PART) < frame.end_ns - frame.start_ns
            && idle_ns.saturating_mul(IDLE_PART) < held.end_ns - held.start_ns;
        at_once.then_some((index, held))
    }

    /// What the thread of `parent` was in when its child `own` began on another one, until then.
    fn beginner(
        &mut self,
        members: &[Member],
        open: &mut Open,
        parent: &Member,
        own: &Member,
    ) -> Option<Candidate> {
        // One whose thread is not known may be on its parent's.
        if own.thread.is_none() || own.process != parent.process {
            return None;
        }
        if !open.is_own_read {
            open.is_own_read = true;
            self.read_own(members, open, parent);
        }
        let calls = self.own.get(open.own..)?;
        let begun = calls.partition_point(|&(start_ns, ..)| start_ns < own.start_ns);
        let &(.., index) = calls.get(begun.checked_sub(1)?)?;
        let around = members.get(index as usize).filter(|around| around.end_ns > own.start_ns)?;
        Some(Candidate { end_ns: own.start_ns, is_part: true, ..candidate(around, index) })
    }

    fn read_own(&mut self, members: &[Member], open: &mut Open, parent: &Member) {
        for &child in children_of(&self.firsts, &self.children, open.frame.member) {
            let Some(member) = members.get(child as usize) else { continue };
            if is_inside_on(parent, member) {
                self.own.push((member.start_ns, member.id, child));
            }
        }
        if let Some(own) = self.own.get_mut(open.own..) {
            own.sort_unstable();
        }
    }

    /// Whether `child` came before `next` although it seems to end after its start.
    fn skewed(&mut self, members: &[Member], child: &Candidate, next: &Candidate, open: &mut Open) -> bool {
        let overlap_ns = child.end_ns.saturating_sub(next.start_ns);
        let may_be = overlap_ns > 0
            && child.end_ns < next.end_ns
            && child.start_ns < next.start_ns
            && overlap_ns.saturating_mul(SKEW_PART) < open.frame.end_ns - open.frame.start_ns;
        let of = |candidate: &Candidate| members.get(candidate.member as usize);
        may_be
            && of(child).zip(of(next)).is_some_and(|(child, next)| !run_side_by_side(child, next))
            && self.events_between(open, next.start_ns, child.end_ns) == 2
    }

    /// How many children begin or end from `start_ns` to `end_ns`, both included.
    fn events_between(&mut self, open: &mut Open, start_ns: u64, end_ns: u64) -> usize {
        let candidates = self.candidates.get(open.candidates..).unwrap_or_default();
        if self.starts.len() == open.starts {
            self.starts.extend(candidates.iter().map(|child| child.start_ns));
            if let Some(starts) = self.starts.get_mut(open.starts..) {
                starts.sort_unstable();
            }
        }
        let starts = self.starts.get(open.starts..).unwrap_or_default();
        let begun = starts.partition_point(|&start| start <= end_ns)
            - starts.partition_point(|&start| start < start_ns);
        // Candidates are sorted by falling ends.
        let ended = candidates.partition_point(|child| child.end_ns >= start_ns)
            - candidates.partition_point(|child| child.end_ns > end_ns);
        begun + ended
    }
}

/// The children of a member, as [`Walk`] sorts them.
fn children_of<'a>(firsts: &[u32], children: &'a [u32], member: u32) -> &'a [u32] {
    let range = firsts.get(member as usize).zip(firsts.get(member as usize + 1));
    range.and_then(|(&first, &last)| children.get(first as usize..last as usize)).unwrap_or_default()
}

/// What of the section around `own` came before it, unless that is around `inner` as well.
fn around_alone(members: &[Member], own: &Member, inner: u32) -> Option<Candidate> {
    let around = members.get(own.parent as usize).filter(|_| !is_around(members, own.parent, inner))?;
    let before = Candidate { is_part: true, ..candidate(around, own.parent) };
    let before = Candidate { end_ns: before.end_ns.min(own.start_ns), ..before };
    (before.start_ns < before.end_ns).then_some(before)
}

#[cfg(test)]
mod tests;
