//! The path by definition: of all chains of sections that follow each other, the one whose sequence of (end, start, id),
//! latest first, is the greatest; the rest of the window is the member's own. Every chain is tried, so that no order of
//! trying matters; only for few members.

use crate::critical_path::tests::{Member, RunInterval};

/// A section that may be in a chain, cut to the window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    start_ns: u64,
    end_ns: u64,
    /// Where it began, before it was cut.
    begun_ns: u64,
    member: usize,
    /// How far it was moved back.
    moved_ns: u64,
    /// Whether it is no child of the window's.
    is_guest: bool,
    /// Whether something waits for it, or for what came after it.
    is_awaited: bool,
    /// Whether it was waited for inside of the section taken before it, and goes on where that was left.
    is_left: bool,
    /// Whether it is there only with what ended before something else began in it.
    is_part: bool,
}

/// A window: of whom, and what ran on its thread while it was suspended.
struct Window<'a> {
    members: &'a [Member],
    run_intervals: &'a [RunInterval],
    at: usize,
    start_ns: u64,
    end_ns: u64,
    links: Vec<Link>,
    /// What the path is inside of, from the outermost to the window itself.
    inside: Vec<usize>,
}

/// The path through member 0, latest piece first.
pub(crate) fn path(members: &[Member]) -> Vec<(u32, u64, u64)> {
    path_with(members, &[])
}

/// The same, where it is known when some members ran.
pub(crate) fn path_with(members: &[Member], run_intervals: &[RunInterval]) -> Vec<(u32, u64, u64)> {
    let mut path = Vec::new();
    let own = link(members, 0);
    follow(members, run_intervals, own, &[], &[], &mut path);
    path.sort_by_key(|piece| std::cmp::Reverse(piece.1));
    path
}

fn link(members: &[Member], member: usize) -> Link {
    let Member { start_ns, end_ns, .. } = members[member];
    Link {
        start_ns,
        end_ns,
        begun_ns: start_ns,
        member,
        moved_ns: 0,
        is_guest: false,
        is_awaited: false,
        is_left: false,
        is_part: false,
    }
}

/// Earlier by so much.
fn earlier(link: Link, by_ns: u64) -> Link {
    Link {
        start_ns: link.start_ns.saturating_sub(by_ns),
        end_ns: link.end_ns.saturating_sub(by_ns),
        begun_ns: link.begun_ns.saturating_sub(by_ns),
        moved_ns: link.moved_ns + by_ns,
        ..link
    }
}

/// A member and all around it, outwards.
fn around(members: &[Member], member: usize) -> Vec<usize> {
    let above = |at: &usize| Some(members[*at].parent as usize).filter(|&at| at < members.len());
    std::iter::successors(Some(member), above).collect()
}

/// What a member that is in the window as `own` waited for, until its own end at most, and nothing that it is inside of.
fn awaited(members: &[Member], own: &Link, inside: &[usize]) -> Option<Link> {
    let waiter = &members[own.member];
    let at = waiter.awaits as usize;
    let awaited = members.get(at).filter(|_| at != own.member && !inside.contains(&at))?;
    if awaited.end_ns > waiter.end_ns && awaited.start_ns >= waiter.end_ns {
        return None;
    }
    let whole = link(members, at);
    let awaited = earlier(Link { end_ns: whole.end_ns.min(waiter.end_ns), ..whole }, own.moved_ns);
    Some(Link { is_guest: true, is_awaited: true, ..awaited })
}

/// Goes through a window. Gives what is on the path from there on if it goes back to before the window.
fn follow(
    members: &[Member],
    run_intervals: &[RunInterval],
    own: Link,
    guests: &[Link],
    around: &[usize],
    path: &mut Vec<(u32, u64, u64)>,
) -> Option<Link> {
    let window = Window::new(members, run_intervals, own, guests, around);
    let mut best = Vec::new();
    window.extend(&mut Vec::new(), &mut best);
    let mut point_ns = own.end_ns;
    for length in 1..=best.len() {
        let chain = &best[..length];
        let link = window.last(chain);
        if link.end_ns < point_ns {
            path.push((own.member as u32, link.end_ns, point_ns));
        }
        if window.leaves(&link) {
            return Some(Link { start_ns: link.begun_ns, is_left: true, ..link });
        }
        point_ns = window.below(chain, path).map_or(link.start_ns, |left| left.end_ns);
    }
    if own.start_ns < point_ns {
        path.push((own.member as u32, own.start_ns, point_ns));
    }
    None
}

impl<'a> Window<'a> {
    fn new(
        members: &'a [Member],
        run_intervals: &'a [RunInterval],
        own: Link,
        guests: &[Link],
        around: &[usize],
    ) -> Self {
        let Link { start_ns, end_ns, member: at, .. } = own;
        let inside = [around, &[at]].concat();
        let mut window = Self { members, run_intervals, at, start_ns, end_ns, links: Vec::new(), inside };
        let children = members.iter().enumerate().filter(|(at, child)| {
            child.parent == own.member as u32 && !child.is_detached && *at != own.member
        });
        let children = children.map(|(member, _)| earlier(link(members, member), own.moved_ns));
        let all: Vec<Link> = children.chain(guests.iter().copied()).collect();
        let all = all.into_iter().filter_map(|link| {
            let is_over = !own.is_part || link.end_ns <= own.end_ns;
            let on_thread = !link.is_guest && window.is_call(&members[link.member]);
            let part = Link { end_ns: own.end_ns, is_part: true, ..link };
            is_over.then_some(link).or_else(|| (on_thread && link.start_ns < own.end_ns).then_some(part))
        });
        window.links = all.filter_map(|link| window.cut(link, own.end_ns)).collect();
        window
    }

    fn cut(&self, link: Link, end_ns: u64) -> Option<Link> {
        let is_inside = link.start_ns < end_ns && link.end_ns > self.start_ns;
        let is_moment = link.start_ns == link.end_ns && (self.start_ns..=end_ns).contains(&link.start_ns);
        let (start_ns, end_ns) = (link.start_ns.max(self.start_ns), link.end_ns.min(end_ns));
        (is_inside || is_moment).then_some(Link { start_ns, end_ns, ..link })
    }

    fn key(&self, link: &Link) -> (u64, u64, u64, bool) {
        (link.end_ns, link.start_ns, self.members[link.member].id, link.is_awaited)
    }

    /// Where the sections of a chain come to lie.
    fn place(&self, chain: &[Link]) -> Vec<Link> {
        let mut point_ns = self.end_ns;
        let place = |link: &Link| {
            let moved_ns = if link.is_left { 0 } else { link.end_ns.saturating_sub(point_ns) };
            let end_ns = link.end_ns - moved_ns;
            let start_ns = link.start_ns.saturating_sub(moved_ns).max(self.start_ns).min(end_ns);
            point_ns = start_ns;
            let begun_ns = link.begun_ns.saturating_sub(moved_ns);
            Link { start_ns, end_ns, begun_ns, moved_ns: link.moved_ns + moved_ns, ..*link }
        };
        chain.iter().map(place).collect()
    }

    /// Where the last of a chain comes to lie.
    fn last(&self, chain: &[Link]) -> Link {
        self.place(chain)[chain.len() - 1]
    }

    /// Whether the path goes on around the window with a section.
    fn leaves(&self, placed: &Link) -> bool {
        let window = &self.members[self.inside[0]];
        placed.is_awaited && placed.begun_ns < self.start_ns && window.start_ns < self.start_ns
    }

    /// Goes through the last of a chain.
    fn below(&self, chain: &[Link], path: &mut Vec<(u32, u64, u64)>) -> Option<Link> {
        let (link, chosen) = (self.last(chain), &chain[chain.len() - 1]);
        let later_ns = chosen.end_ns - link.end_ns;
        let invited = self.links.iter().flat_map(|other| self.guests_of(other, chosen));
        let invited =
            invited.map(|other| Link { is_guest: true, is_awaited: false, ..earlier(other, later_ns) });
        let invited: Vec<Link> = invited.chain(awaited(self.members, &link, &self.inside)).collect();
        follow(self.members, self.run_intervals, link, &invited, &self.inside, path)
    }

    /// Tries every chain that begins with `chain`.
    fn extend(&self, chain: &mut Vec<Link>, best: &mut Vec<Link>) {
        let keys = |links: &[Link]| links.iter().map(|link| self.key(link)).collect::<Vec<_>>();
        if keys(chain) > keys(best) {
            best.clone_from(chain);
        }
        let last = chain.last().copied();
        if last.is_some_and(|_| self.leaves(&self.last(chain))) {
            return;
        }
        // Nothing but what goes on comes before it.
        if let Some(left) = last.and_then(|_| self.below(chain, &mut Vec::new())) {
            chain.push(left);
            self.extend(chain, best);
            chain.pop();
            return;
        }
        let may_follow = |link: &&Link| {
            last.is_none_or(|last| {
                self.key(link) < self.key(&last) && (link.end_ns <= last.start_ns || self.skewed(link, &last))
            })
        };
        let mut further: Vec<Link> = self.links.iter().filter(may_follow).copied().collect();
        further.extend(last.and_then(|last| self.holder(&last, self.last(chain).start_ns)));
        for link in further {
            chain.push(link);
            self.extend(chain, best);
            chain.pop();
        }
    }

    fn skewed(&self, link: &Link, next: &Link) -> bool {
        let between = next.start_ns..=link.end_ns;
        let events = self.links.iter().flat_map(|link| [link.start_ns, link.end_ns]);
        let (one, other) = (&self.members[link.member], &self.members[next.member]);
        // Of one process only what may have been on one thread, as far as is known.
        let by_one_clock = one.process == other.process;
        let may_be_one_thread = one.thread.is_none() || other.thread.is_none() || one.thread == other.thread;
        (!by_one_clock || (may_be_one_thread && !one.is_suspended && !other.is_suspended))
            && link.end_ns < next.end_ns
            && link.start_ns < next.start_ns
            && link.end_ns > next.start_ns
            && 100 * (link.end_ns - next.start_ns) < self.end_ns - self.start_ns
            && events.filter(|time| between.contains(time)).count() == 2
    }

    /// When `other` ran on the thread that `own` waited for while it was suspended.
    fn guests_of(&self, other: &Link, own: &Link) -> Vec<Link> {
        let (ran, waited) = (&self.members[other.member], &self.members[own.member]);
        let is_near =
            ran.process == waited.process && self.key(other) < self.key(own) && other.end_ns > own.start_ns;
        if !is_near || !waited.is_suspended || waited.thread.is_none() {
            return Vec::new();
        }
        let earlier = |time_ns: u64| time_ns.saturating_sub(other.moved_ns);
        let of = |member: usize| self.run_intervals.iter().filter(move |stint| stint.member == member as u32);
        let runs: Vec<(u64, u64, Option<i64>)> = if ran.is_suspended {
            let whole = of(other.member).filter(|stint| stint.is_whole);
            whole.map(|stint| (stint.start_ns, stint.end_ns, stint.thread)).collect()
        } else {
            vec![(ran.start_ns, ran.end_ns, ran.thread)]
        };
        let bounds = of(own.member).flat_map(|stint| [stint.start_ns, stint.end_ns]);
        let bounds: Vec<u64> = bounds.chain([waited.start_ns, waited.end_ns]).collect();
        // Which thread it waits for between two neighbouring bounds: that of the first stint which is not over.
        let thread = |from: u64, to: u64| {
            let is_open = waited.start_ns <= from && to <= waited.end_ns;
            match of(own.member).find(|stint| stint.end_ns > from) {
                Some(next) if next.is_whole && next.start_ns <= from => None,
                Some(next) => next.thread.or(waited.thread).filter(|_| is_open),
                None => waited.thread.filter(|_| is_open),
            }
        };
        let mut guests: Vec<Link> = Vec::new();
        for (from, to, on) in runs {
            let mut times: Vec<u64> =
                bounds.iter().copied().filter(|time| (from..=to).contains(time)).chain([from, to]).collect();
            times.sort_unstable();
            times.dedup();
            let mut parts: Vec<(u64, u64)> = Vec::new();
            if from == to {
                let near = |&(before, after): &(u64, u64)| {
                    thread(before, after) == on && before <= from && from <= after
                };
                let mut sorted = bounds.clone();
                sorted.sort_unstable();
                sorted.dedup();
                let is_near = sorted.windows(2).map(|pair| (pair[0], pair[1])).any(|pair| near(&pair));
                parts.extend((on.is_some() && is_near).then_some((from, to)));
            }
            for pair in times.windows(2).filter(|pair| on.is_some() && thread(pair[0], pair[1]) == on) {
                match parts.last_mut() {
                    Some(last) if last.1 == pair[0] => last.1 = pair[1],
                    _ => parts.push((pair[0], pair[1])),
                }
            }
            for (start, end) in parts {
                let (start_ns, end_ns) = (earlier(start).max(other.start_ns), earlier(end).min(other.end_ns));
                let is_there = start_ns < end_ns || start == end && start_ns == end_ns;
                guests.extend(is_there.then_some(Link { start_ns, end_ns, ..*other }));
            }
        }
        guests
    }

    /// What held the thread of a section that is on the path from `start_ns` on, or began it.
    fn holder(&self, link: &Link, start_ns: u64) -> Option<Link> {
        if start_ns <= self.start_ns || start_ns >= self.end_ns {
            return None;
        }
        let moved_ns = self.members[link.member].start_ns.saturating_sub(start_ns);
        let found = [self.before(link), self.outer(link).filter(|_| link.is_awaited)];
        let found =
            found.into_iter().flatten().filter_map(|held| self.cut(earlier(held, moved_ns), start_ns));
        let held = found.max_by_key(|held| self.key(held))?;
        Some(Link { is_guest: link.is_guest, is_awaited: link.is_awaited, ..held })
    }

    /// What of the section around one came before it, where that is not around the window as well.
    fn outer(&self, link: &Link) -> Option<Link> {
        let own = &self.members[link.member];
        let outer = around(self.members, link.member).into_iter().nth(1)?;
        let end_ns = self.members[outer].end_ns.min(own.start_ns);
        let part =
            Link { end_ns, is_part: true, ..crate::critical_path::tests::search::link(self.members, outer) };
        let is_apart = !around(self.members, self.at).contains(&outer);
        (is_apart && part.start_ns < part.end_ns).then_some(part)
    }

    /// What held the thread of a section, or was on its parent's when it began.
    fn before(&self, link: &Link) -> Option<Link> {
        let (own, around) = (&self.members[link.member], &self.members[self.at]);
        let thread = |member: &Member| (member.process, member.thread);
        let is_elsewhere = match own.thread {
            Some(_) => thread(own) != thread(around),
            None => {
                link.is_guest
                    && crate::critical_path::tests::search::around(self.members, self.at)
                        .contains(&(own.parent as usize))
            }
        };
        if !is_elsewhere {
            return None;
        }
        let stays = |member: &&Member| {
            let parent = self.members.get(member.parent as usize);
            let is_near = match own.thread {
                Some(_) => thread(member) == thread(own) && parent.is_none_or(|up| thread(up) != thread(own)),
                None => member.thread.is_none() && member.parent == own.parent,
            };
            is_near && !member.is_suspended && member.start_ns < member.end_ns
        };
        let before = self.members.iter().filter(stays).filter(|stay| stay.end_ns <= own.start_ns);
        let last = before.max_by_key(|stay| (stay.end_ns, stay.start_ns, stay.id));
        let at_once = |stay: &&Member| {
            let idle_ns = own.start_ns - stay.end_ns;
            100 * idle_ns < self.end_ns - self.start_ns && 10 * idle_ns < stay.end_ns - stay.start_ns
        };
        let Some(held) = last.filter(at_once) else { return self.beginner(link) };
        let is_sibling = held.parent == own.parent && !held.is_detached && own.parent == self.at as u32;
        let member = self.members.iter().position(|member| member.id == held.id)?;
        (!is_sibling).then(|| crate::critical_path::tests::search::link(self.members, member))
    }

    /// Whether a child of the window's is a call on its thread.
    fn is_call(&self, child: &Member) -> bool {
        let around = &self.members[self.at];
        let is_there =
            child.thread.is_some() && (child.process, child.thread) == (around.process, around.thread);
        child.parent == self.at as u32 && is_there && !child.is_suspended && !child.is_detached
    }

    /// The call of the window's thread that began last before `link` did on another, if it went on.
    fn beginner(&self, link: &Link) -> Option<Link> {
        let (own, around) = (&self.members[link.member], &self.members[self.at]);
        if link.is_guest && !link.is_awaited
            || own.parent != self.at as u32
            || own.process != around.process
            || own.thread.is_none()
        {
            return None;
        }
        let begun = self
            .members
            .iter()
            .enumerate()
            .filter(|(_, call)| self.is_call(call) && call.start_ns < own.start_ns);
        let (at, last) = begun.max_by_key(|(_, call)| (call.start_ns, call.id))?;
        let part = Link {
            end_ns: own.start_ns,
            is_part: true,
            ..crate::critical_path::tests::search::link(self.members, at)
        };
        (last.end_ns > own.start_ns).then_some(part)
    }
}
