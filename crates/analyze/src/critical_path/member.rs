//! What a path goes through and what comes of it: spans as the walk sees them, how they stand to each other, pieces.

use stepscope_core::path::MAX_DEPTH;

use crate::step_view::forest;

/// No parent among the members.
pub const NO_PARENT: u32 = u32::MAX;

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
    /// Its thread there, where known.
    pub thread: Option<i64>,
    /// Whether it was suspended for a part of its time, as asynchronous sections are.
    pub is_suspended: bool,
    /// Whether its parent cannot have waited for it.
    pub is_detached: bool,
    /// Index of the member that it waited for, whoever caused that, or [`NO_PARENT`]. Members may await each other.
    pub awaits: u32,
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

/// Whether two that overlap are known to have done so by one clock.
pub(crate) fn run_side_by_side(one: &Member, other: &Member) -> bool {
    let on_two_threads = one.thread.zip(other.thread).is_some_and(|(one, other)| one != other);
    one.process == other.process && (on_two_threads || one.is_suspended || other.is_suspended)
}

/// Whether a child was on its parent's own thread for all of its time, as calls are.
pub(crate) fn is_inside_on(parent: &Member, child: &Member) -> bool {
    let is_there = child.thread.is_some() && (child.process, child.thread) == (parent.process, parent.thread);
    is_there && !child.is_suspended && !child.is_detached
}

/// Whether a member is another, or around it.
pub(crate) fn is_around(members: &[Member], outer: u32, inner: u32) -> bool {
    let parent_of = |at: u32| members.get(at as usize).map(|member| member.parent);
    forest::is_around(parent_of, outer, inner, MAX_DEPTH.into())
}
