//! What the walk keeps of the members that it is going through, and of those that come next. Where it goes is decided by the
//! walk.

use crate::critical_path::Member;

/// A member whose children are to be walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) member: u32,
    /// What of it counts, on the window's clock.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// How far it was moved back.
    pub(crate) moved_ns: u64,
    /// Absent on the path.
    pub(crate) slack_ns: Option<u64>,
    /// Its range of guests.
    pub(crate) guests: (u32, u32),
    /// As for candidates.
    pub(crate) is_part: bool,
}

/// How far a member was walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) frame: Frame,
    /// Where what is kept of it begins, and what is there next.
    pub(crate) candidates: usize,
    pub(crate) starts: usize,
    pub(crate) own: usize,
    pub(crate) is_own_read: bool,
    pub(crate) index: usize,
    /// All that came after is explained.
    pub(crate) point_ns: u64,
    /// The one taken last, and what held the thread of it.
    pub(crate) next: Option<Candidate>,
    pub(crate) holder: Option<Held>,
}

/// What comes of walking on.
pub(crate) enum Way {
    /// A child is on the path, and has to be walked first.
    Below(Frame),
    /// The member is explained up to its start, or to the end of what goes back to before that.
    Over(Option<Held>),
}

/// A child cut to its parent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Where it began, before it was cut.
    pub(crate) begun_ns: u64,
    pub(crate) id: u64,
    pub(crate) member: u32,
    pub(crate) is_guest: bool,
    /// Whether it is awaited, or came before what is.
    pub(crate) is_awaited: bool,
    /// Whether only what of it came before one of its children is meant: children that ended later take no part.
    pub(crate) is_part: bool,
}

/// What held the thread of a child.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) candidate: Candidate,
    pub(crate) moved_ns: u64,
    /// Whether it was waited for inside of the one taken last, and goes on where that was left.
    pub(crate) is_left: bool,
}

impl Candidate {
    /// What is compared: the greatest comes first. One that is there twice is awaited first of all.
    pub(crate) const fn key(&self) -> (u64, u64, u64, bool) {
        (self.end_ns, self.start_ns, self.id, self.is_awaited)
    }

    /// Cut to a window; absent outside of it.
    pub(crate) fn within(self, start_ns: u64, end_ns: u64) -> Option<Self> {
        let is_inside = self.start_ns < end_ns && self.end_ns > start_ns;
        let is_moment = self.start_ns == self.end_ns && start_ns <= self.start_ns && self.start_ns <= end_ns;
        (is_inside || is_moment).then(|| Self {
            start_ns: self.start_ns.max(start_ns),
            end_ns: self.end_ns.min(end_ns),
            ..self
        })
    }

    /// Earlier by so much.
    pub(crate) const fn moved(self, moved_ns: u64) -> Self {
        Self {
            start_ns: self.start_ns.saturating_sub(moved_ns),
            end_ns: self.end_ns.saturating_sub(moved_ns),
            begun_ns: self.begun_ns.saturating_sub(moved_ns),
            ..self
        }
    }
}

/// A member as it was.
pub(crate) fn candidate(member: &Member, index: u32) -> Candidate {
    Candidate {
        start_ns: member.start_ns,
        end_ns: member.end_ns.max(member.start_ns),
        begun_ns: member.start_ns,
        id: member.id,
        member: index,
        is_guest: false,
        is_awaited: false,
        is_part: false,
    }
}
