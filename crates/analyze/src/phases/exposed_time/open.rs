//! The sweep over any spans, event by event: overlapping siblings, children that outlive their parents, sections that
//! take turns. What competes at a moment is kept by section with the best of all inside it, so that an event costs no more
//! than its section is deep.

use crate::phases::exposed_time::ranking::{Ranking, Shape};
use crate::phases::exposed_time::{BlockedOn, Member, NO_PARENT, PollSlice, class_of, is_around};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time_ns: u64,
    member: u32,
    change: Change,
}

/// What a member is at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    is_open: bool,
    /// Turns that it is in; those of several threads overlap.
    poll_slices: u32,
    /// What it waits for.
    waits: u32,
    /// In how many of those directly inside it something runs, these included.
    inside: u32,
    /// How many wait inside it for what is joined, itself included.
    waiting: u32,
}

impl State {
    /// Whether it runs itself, as far as is known.
    const fn runs(&self, member: &Member) -> bool {
        self.is_open && (!member.takes_turns || self.poll_slices > 0)
    }

    const fn is_waiting(&self) -> bool {
        self.is_open && self.waits > 0
    }

    /// Whether it runs, or something inside it.
    const fn is_running(&self, member: &Member) -> bool {
        self.runs(member) || (self.is_open && (self.inside > 0 || self.waiting > 0))
    }

    /// Whether it runs itself, or something inside it, also after its end.
    const fn is_active(&self, member: &Member) -> bool {
        self.runs(member) || self.inside > 0
    }

    /// Whether it is the innermost that runs where it is.
    const fn is_innermost(&self, member: &Member) -> bool {
        self.runs(member) && self.inside == 0
    }
}

/// Of a member that competes, if it does, and the best inside it: that one, where it is of no lower class.
fn better(members: &[Member], own: Option<u32>, inside: Option<u32>) -> Option<u32> {
    let class = |at: u32| members.get(at as usize).map(Member::class);
    match (own, inside) {
        (Some(own), Some(inside)) if class(own) < class(inside) => Some(own),
        (own, inside) => inside.or(own),
    }
}

/// Attributes the time of any spans; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Concurrent {
    events: Vec<Event>,
    states: Vec<State>,
    shape: Shape,
    /// Of each member the best of itself and all inside it, of those that run.
    running: Ranking,
    /// As these, of those that are suspended.
    suspended: Ranking,
    /// How many run with nothing inside that does, and the sum of their places: that of the one, where it is alone.
    innermost: (u32, u64),
    /// Who waits at the moment, and for which of the joins.
    joined: Option<(u32, u32)>,
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
                self.events.push(Event { time_ns: start_ns, member, change: starts });
                self.events.push(Event { time_ns: end_ns, member, change: ends });
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
        self.states.clear();
        self.states.resize(members.len(), State::default());
        self.shape.take(members);
        self.running.clear(members);
        self.suspended.clear(members);
        self.innermost = (0, 0);
        self.joined = None;
        let mut now_ns = 0;
        for index in 0..self.events.len() {
            let Some(&event) = self.events.get(index) else { break };
            if event.time_ns > now_ns {
                let spender = self.spender(members, joins);
                if let Some(slot) = spender.and_then(|at| exposed.get_mut(at)) {
                    *slot += event.time_ns - now_ns;
                }
                now_ns = event.time_ns;
            }
            self.change(members, event);
        }
    }

    /// Whose the moment is: the place of a member, or behind all of them that of what is joined.
    fn spender(&self, members: &[Member], joins: &[BlockedOn]) -> Option<usize> {
        let state = |at: u32| self.states.get(at as usize);
        let waits = |&(waiter, _): &(u32, u32)| {
            state(waiter).is_some_and(|state| state.is_waiting() && state.inside == 0)
        };
        let Some((waiter, at)) = self.joined.filter(waits) else {
            return self.best(members).map(|best| best as usize);
        };
        let best = self.running.best_inside(&self.shape, NO_PARENT)?;
        let (owner, joined) = (members.get(best as usize)?, joins.get(at as usize)?);
        let is_given = owner.yields_to(class_of(joined.rank)) && is_around(members, best, waiter);
        Some(if is_given { members.len() + at as usize } else { best as usize })
    }

    /// The best of those that compete while nothing is joined.
    fn best(&self, members: &[Member]) -> Option<u32> {
        let of_running = self.running.best_inside(&self.shape, NO_PARENT);
        if self.suspended.is_empty() {
            return of_running;
        }
        let only = match self.innermost {
            (0, _) => return self.suspended.best_inside(&self.shape, NO_PARENT),
            (1, place) => place as u32,
            _ => return of_running,
        };
        if members.get(only as usize).is_none_or(|member| member.takes_turns) {
            return of_running;
        }
        // All that runs is around it.
        let Some(mut best) = self.suspended.best_inside(&self.shape, only) else { return of_running };
        let mut around = only;
        for _ in 0..members.len() {
            let Some((member, state)) = members.get(around as usize).zip(self.states.get(around as usize))
            else {
                break;
            };
            best = better(members, Some(around).filter(|_| state.is_open), Some(best)).unwrap_or(best);
            around = member.parent;
        }
        Some(best)
    }

    /// Brings a member and those around it up to date.
    fn change(&mut self, members: &[Member], event: Event) {
        let mut at = event.member;
        let (mut starts, mut ends) = (false, false);
        let (mut begins, mut goes_on) = (false, false);
        // No chain of parents is longer than there are members.
        for _ in 0..members.len() {
            let (Some(member), Some(state)) = (members.get(at as usize), self.states.get_mut(at as usize))
            else {
                break;
            };
            let was_innermost = state.is_innermost(member);
            let was_active = state.is_active(member);
            state.inside = (state.inside + u32::from(starts)).saturating_sub(ends.into());
            state.waiting = (state.waiting + u32::from(begins)).saturating_sub(goes_on.into());
            if at == event.member {
                let waited = state.is_waiting();
                match event.change {
                    Change::Open => state.is_open = true,
                    Change::Close => state.is_open = false,
                    Change::Enter => state.poll_slices += 1,
                    Change::Leave => state.poll_slices = state.poll_slices.saturating_sub(1),
                    Change::Wait(joined) => {
                        state.waits += 1;
                        self.joined = Some((at, joined));
                    }
                    Change::GoOn(joined) => {
                        state.waits = state.waits.saturating_sub(1);
                        self.joined = self.joined.filter(|&(_, last)| last != joined);
                    }
                }
                let waits = state.is_waiting();
                (begins, goes_on) = (waits && !waited, waited && !waits);
                state.waiting = (state.waiting + u32::from(begins)).saturating_sub(goes_on.into());
            }
            let is_active = state.is_active(member);
            (starts, ends) = (is_active && !was_active, was_active && !is_active);
            if state.is_innermost(member) != was_innermost {
                let (count, sum) = self.innermost;
                self.innermost = match was_innermost {
                    true => (count - 1, sum - u64::from(at)),
                    false => (count + 1, sum + u64::from(at)),
                };
            }
            let own = Some(at).filter(|_| state.is_open);
            let is_running = state.is_running(member);
            let shape = &self.shape;
            let best = better(members, own.filter(|_| is_running), self.running.best_inside(shape, at));
            let mut is_other = self.running.replace(shape, members, at, best);
            let best = better(members, own.filter(|_| !is_running), self.suspended.best_inside(shape, at));
            is_other |= self.suspended.replace(shape, members, at, best);
            if !(starts || ends || begins || goes_on || is_other) {
                break;
            }
            at = member.parent;
        }
    }
}
