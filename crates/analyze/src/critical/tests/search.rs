//! The path by definition: of all chains of sections that follow each other, the one whose sequence of (end, start, id),
//! latest first, is the greatest; the rest of the window is the member's own. Every chain is tried, so that no order of
//! trying matters; only for few members.

use super::{Member, NO_PARENT};

/// A section that may be in a chain, cut to the window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    start_ns: u64,
    end_ns: u64,
    member: usize,
    /// How far it was moved back.
    moved_ns: u64,
}

/// A window: of whom, and what ran on its thread while it was suspended.
struct Window<'a> {
    members: &'a [Member],
    at: usize,
    start_ns: u64,
    end_ns: u64,
    links: Vec<Link>,
}

/// The path through member 0, latest piece first.
pub(super) fn path(members: &[Member]) -> Vec<(u32, u64, u64)> {
    let mut path = Vec::new();
    let own = Link { start_ns: members[0].start_ns, end_ns: members[0].end_ns, member: 0, moved_ns: 0 };
    follow(members, own, &[], &mut path);
    path.sort_by_key(|piece| std::cmp::Reverse(piece.1));
    path
}

fn follow(members: &[Member], own: Link, guests: &[Link], path: &mut Vec<(u32, u64, u64)>) {
    let window = Window::new(members, own, guests);
    let mut best = Vec::new();
    window.extend(&mut Vec::new(), &mut best);
    let placed = window.place(&best);
    let mut point_ns = own.end_ns;
    for (link, chosen) in placed.into_iter().zip(&best) {
        if link.end_ns < point_ns {
            path.push((own.member as u32, link.end_ns, point_ns));
        }
        let later_ns = chosen.end_ns - link.end_ns;
        let invited: Vec<Link> = window
            .links
            .iter()
            .filter(|other| window.is_guest_of(other, chosen))
            .map(|other| Link {
                start_ns: other.start_ns - later_ns.min(other.start_ns),
                end_ns: other.end_ns - later_ns,
                moved_ns: other.moved_ns + later_ns,
                ..*other
            })
            .collect();
        point_ns = link.start_ns;
        follow(members, link, &invited, path);
    }
    if own.start_ns < point_ns {
        path.push((own.member as u32, own.start_ns, point_ns));
    }
}

impl<'a> Window<'a> {
    fn new(members: &'a [Member], own: Link, guests: &[Link]) -> Self {
        let mut window =
            Self { members, at: own.member, start_ns: own.start_ns, end_ns: own.end_ns, links: Vec::new() };
        let children = members.iter().enumerate().filter(|(at, child)| {
            child.parent == own.member as u32 && !child.is_detached && *at != own.member
        });
        let children = children.map(|(member, child)| Link {
            start_ns: child.start_ns.saturating_sub(own.moved_ns),
            end_ns: child.end_ns.saturating_sub(own.moved_ns),
            member,
            moved_ns: own.moved_ns,
        });
        let all: Vec<Link> = children.chain(guests.iter().copied()).collect();
        window.links = all.into_iter().filter_map(|link| window.cut(link, own.end_ns)).collect();
        window
    }

    fn cut(&self, link: Link, end_ns: u64) -> Option<Link> {
        let is_inside = link.start_ns < end_ns && link.end_ns > self.start_ns;
        let is_moment = link.start_ns == link.end_ns && (self.start_ns..=end_ns).contains(&link.start_ns);
        let (start_ns, end_ns) = (link.start_ns.max(self.start_ns), link.end_ns.min(end_ns));
        (is_inside || is_moment).then_some(Link { start_ns, end_ns, ..link })
    }

    fn key(&self, link: &Link) -> (u64, u64, u64) {
        (link.end_ns, link.start_ns, self.members[link.member].id)
    }

    /// Where the sections of a chain come to lie.
    fn place(&self, chain: &[Link]) -> Vec<Link> {
        let mut point_ns = self.end_ns;
        let place = |link: &Link| {
            let moved_ns = link.end_ns.saturating_sub(point_ns);
            let end_ns = link.end_ns - moved_ns;
            let start_ns = link.start_ns.saturating_sub(moved_ns).max(self.start_ns).min(end_ns);
            point_ns = start_ns;
            Link { start_ns, end_ns, moved_ns: link.moved_ns + moved_ns, ..*link }
        };
        chain.iter().map(place).collect()
    }

    /// Tries every chain that begins with `chain`.
    fn extend(&self, chain: &mut Vec<Link>, best: &mut Vec<Link>) {
        let keys = |links: &[Link]| links.iter().map(|link| self.key(link)).collect::<Vec<_>>();
        if keys(chain) > keys(best) {
            best.clone_from(chain);
        }
        let last = chain.last().copied();
        let may_follow = |link: &&Link| {
            last.is_none_or(|last| {
                self.key(link) < self.key(&last) && (link.end_ns <= last.start_ns || self.skewed(link, &last))
            })
        };
        let mut further: Vec<Link> = self.links.iter().filter(may_follow).copied().collect();
        further.extend(last.and_then(|last| self.holder(&last, self.place(chain)[chain.len() - 1].start_ns)));
        for link in further {
            chain.push(link);
            self.extend(chain, best);
            chain.pop();
        }
    }

    fn skewed(&self, link: &Link, next: &Link) -> bool {
        let between = next.start_ns..=link.end_ns;
        let events = self.links.iter().flat_map(|link| [link.start_ns, link.end_ns]);
        self.members[link.member].process != self.members[next.member].process
            && link.end_ns < next.end_ns
            && link.start_ns < next.start_ns
            && link.end_ns > next.start_ns
            && 100 * (link.end_ns - next.start_ns) < self.end_ns - self.start_ns
            && events.filter(|time| between.contains(time)).count() == 2
    }

    /// Whether `other` ran on the thread of `own` while this was suspended.
    fn is_guest_of(&self, other: &Link, own: &Link) -> bool {
        let (ran, waited) = (&self.members[other.member], &self.members[own.member]);
        waited.is_suspended
            && !ran.is_suspended
            && waited.thread.is_some()
            && (ran.process, ran.thread) == (waited.process, waited.thread)
            && self.key(other) < self.key(own)
            && other.end_ns > own.start_ns
    }

    /// What held the thread of a section that is on the path from `start_ns` on.
    fn holder(&self, link: &Link, start_ns: u64) -> Option<Link> {
        let (own, around) = (&self.members[link.member], &self.members[self.at]);
        let thread = |member: &Member| (member.process, member.thread);
        own.thread?;
        if thread(own) == thread(around) || start_ns <= self.start_ns || start_ns >= self.end_ns {
            return None;
        }
        let stays = |member: &&Member| {
            let is_inner =
                member.parent != NO_PARENT && thread(&self.members[member.parent as usize]) == thread(member);
            thread(member) == thread(own)
                && !member.is_suspended
                && !is_inner
                && member.start_ns < member.end_ns
        };
        let before = self.members.iter().filter(stays).filter(|stay| stay.end_ns <= own.start_ns);
        let held = before.max_by_key(|stay| (stay.end_ns, stay.start_ns, stay.id))?;
        let is_sibling = held.parent == own.parent && !held.is_detached;
        let idle_ns = own.start_ns - held.end_ns;
        if is_sibling || 100 * idle_ns >= self.end_ns - self.start_ns {
            return None;
        }
        let moved_ns = own.start_ns - start_ns;
        let member = self.members.iter().position(|member| member.id == held.id)?;
        let link = Link {
            start_ns: held.start_ns.saturating_sub(moved_ns),
            end_ns: held.end_ns.saturating_sub(moved_ns),
            member,
            moved_ns,
        };
        self.cut(link, start_ns)
    }
}
