//! The sweep over any spans, from event to event: overlapping siblings, children that outlive their parents, sections that
//! take turns. Between two events all that is open is looked at, which is little in traces of programs.

use crate::phases::exposed_time::{BlockedOn, Member, NO_PARENT, PollSlice, class_of, is_around};

/// Of more that is open at once the latest are looked at, so that no input takes forever.
const OPEN: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Open,
    Close,
    /// A turn begins.
    Enter,
    /// A turn ends.
    Leave,
    /// It waits for what is joined, of this place.
    Wait(u32),
    GoOn(u32),
}

/// Marks on members; those of another round than the present one mean nothing.
#[derive(Debug, Clone, Default)]
struct Marks {
    rounds: Vec<u32>,
    round: u32,
}

impl Marks {
    fn clear(&mut self, members: usize) {
        self.rounds.clear();
        self.rounds.resize(members, 0);
        self.round = 0;
    }

    /// Marks what is around a member.
    fn mark_around(&mut self, members: &[Member], at: u32) {
        let parent = |at: u32| members.get(at as usize).map_or(NO_PARENT, |member| member.parent);
        let mut around = parent(at);
        while let Some(mark) = self.rounds.get_mut(around as usize).filter(|mark| **mark != self.round) {
            *mark = self.round;
            around = parent(around);
        }
    }

    fn has(&self, at: u32) -> bool {
        self.rounds.get(at as usize) == Some(&self.round)
    }
}

/// Attributes the time of any spans; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Concurrent {
    /// Time, member, what happens to it.
    events: Vec<(u64, u32, Change)>,
    /// In the order of their starts.
    open: Vec<u32>,
    /// Of each member the turns that it is in; those of several threads overlap.
    turns: Vec<u32>,
    /// Who has something inside that runs, that waits for what is joined, or that competes and is of the highest class.
    around_running: Marks,
    around_waiting: Marks,
    around_best: Marks,
}

impl Concurrent {
    /// As [`crate::phases::exposed_time::Sweep::run`].
    pub(crate) fn run(
        &mut self,
        members: &[Member],
        poll_slices: &[PollSlice],
        joins: &[BlockedOn],
        exposed: &mut [u64],
    ) {
        self.events.clear();
        let mut add = |start_ns: u64, end_ns: u64, member: u32, starts: Change, ends: Change| {
            if start_ns < end_ns {
                self.events.extend([(start_ns, member, starts), (end_ns, member, ends)]);
            }
        };
        for (member, at) in members.iter().zip(0..) {
            add(member.start_ns, member.end_ns, at, Change::Open, Change::Close);
        }
        for turn in poll_slices {
            add(turn.start_ns, turn.end_ns, turn.member, Change::Enter, Change::Leave);
        }
        for (joined, at) in joins.iter().zip(0..) {
            add(joined.start_ns, joined.end_ns, joined.waiter, Change::Wait(at), Change::GoOn(at));
        }
        self.events.sort_unstable();
        self.open.clear();
        self.turns.clear();
        self.turns.resize(members.len(), 0);
        for marks in [&mut self.around_running, &mut self.around_waiting, &mut self.around_best] {
            marks.clear(members.len());
        }
        let (mut now_ns, mut joined) = (0, None);
        for index in 0..self.events.len() {
            let Some(&(time_ns, member, change)) = self.events.get(index) else { break };
            if time_ns > now_ns {
                let owner = self.owner(members, joins, joined);
                if let Some(slot) = owner.and_then(|at| exposed.get_mut(at)) {
                    *slot += time_ns - now_ns;
                }
                now_ns = time_ns;
            }
            let turns = self.turns.get_mut(member as usize);
            match change {
                Change::Open => self.open.push(member),
                Change::Close => self.open.retain(|&open| open != member),
                Change::Enter => turns.into_iter().for_each(|turns| *turns += 1),
                Change::Leave => turns.into_iter().for_each(|turns| *turns = turns.saturating_sub(1)),
                Change::Wait(at) => joined = Some((member, at)),
                Change::GoOn(at) => joined = joined.filter(|&(_, last)| last != at),
            }
        }
    }

    /// Whose the moment is: the place of a member, or behind all of them that of what is joined.
    fn owner(
        &mut self,
        members: &[Member],
        joins: &[BlockedOn],
        joined: Option<(u32, u32)>,
    ) -> Option<usize> {
        let Self { open, turns, around_running, around_waiting, around_best, .. } = self;
        let open = open.get(open.len().saturating_sub(OPEN)..)?;
        let runs = |at: u32| {
            let takes_turns = members.get(at as usize).is_some_and(|member| member.takes_turns);
            !takes_turns || turns.get(at as usize).is_some_and(|&turns| turns > 0)
        };
        around_running.round += 1;
        let running = || open.iter().copied().filter(|&at| runs(at));
        running().for_each(|at| around_running.mark_around(members, at));
        let joined = joined.filter(|&(waiter, _)| open.contains(&waiter) && !around_running.has(waiter));
        around_waiting.round += 1;
        joined.iter().for_each(|&(waiter, _)| around_waiting.mark_around(members, waiter));
        let waits = |at: u32| joined.is_some_and(|(waiter, _)| waiter == at) || around_waiting.has(at);
        // What is suspended competes while all that runs is around it, and the innermost of these takes no turns.
        let mut innermost = running().filter(|&at| !around_running.has(at));
        let may_wait_in = match (innermost.next(), innermost.next()) {
            _ if joined.is_some() => None,
            (None, _) => Some(NO_PARENT),
            (Some(only), None) => {
                Some(only).filter(|&at| members.get(at as usize).is_some_and(|it| !it.takes_turns))
            }
            (Some(_), Some(_)) => None,
        };
        let may_wait = |at: u32| {
            may_wait_in.is_some_and(|only| only == NO_PARENT || (at != only && is_around(members, only, at)))
        };
        let competes = |&at: &u32| runs(at) || around_running.has(at) || waits(at) || may_wait(at);
        let class = |at: u32| members.get(at as usize).map(Member::class);
        let competing: Vec<u32> = open.iter().copied().filter(competes).collect();
        let highest = competing.iter().map(|&at| class(at)).min()?;
        let of_class = || competing.iter().copied().filter(|&at| class(at) == highest);
        around_best.round += 1;
        of_class().for_each(|at| around_best.mark_around(members, at));
        let order = |at: &u32| members.get(*at as usize).map(|member| (member.rank, member.id, *at));
        let best = of_class().filter(|&at| !around_best.has(at)).min_by_key(order)?;
        let owner = members.get(best as usize)?;
        let given = joined.filter(|&(_, at)| {
            let rank = joins.get(at as usize).map(|joined| joined.rank);
            waits(best) && rank.is_some_and(|rank| owner.yields_to(class_of(rank)))
        });
        Some(given.map_or(best as usize, |(_, at)| members.len() + at as usize))
    }
}
