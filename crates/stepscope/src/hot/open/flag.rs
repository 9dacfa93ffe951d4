//! What an open section is, beside its kind: flags among its bits.

pub(crate) const IS_ROOT: u64 = 1 << 17;
/// It has the path of the section around it: a part of that one.
pub(crate) const COLLAPSED: u64 = 1 << 18;
pub(crate) const IS_ERROR: u64 = 1 << 19;
/// Ended without being what it was opened as (a step without work).
pub(crate) const DISCARDED: u64 = 1 << 20;
pub(crate) const HAS_RSS: u64 = 1 << 21;
/// Not on the thread of its trace's root.
pub(crate) const ON_FOREIGN_THREAD: u64 = 1 << 22;
/// A root that leaves it to others to say how many spans the trace has.
pub(crate) const IS_PART: u64 = 1 << 23;
/// It has poll intervals of its owner.
pub(crate) const POLLED: u64 = 1 << 16;
/// From this bit on, the flags of a section that those inside of it go by: what leaves no span has none inside, so
/// that every span has its path.
pub(crate) const LEAVING: u32 = 24;
/// A span leaves for it, beside its part in the aggregates; so it holds its trace.
pub(crate) const EXPORTED: u64 = 1 << 24;
/// It leaves no span, and is counted as left out, because of the level at its start.
pub(crate) const BY_LEVEL: u64 = 1 << 25;
/// As `BY_LEVEL`, because of a filter.
pub(crate) const BY_FILTER: u64 = 1 << 26;
/// As `BY_LEVEL`, because it is none of those sampled.
pub(crate) const BY_SAMPLING: u64 = 1 << 27;
/// It leaves as a span, if it does not turn out too small by its end, and there is room for it then.
pub(crate) const MAY_BE_SMALL: u64 = 1 << 28;
/// It is recorded as a part of a deep step, at `comprehensive`.
pub(crate) const DEEP: u64 = 1 << 29;
/// Beyond those: it knows what the system had counted at its begin.
pub(crate) const READ: u64 = 1 << 32;
/// Why a section that leaves no span is counted as left out; none of them in a run that was told to have none.
pub(crate) const LEFT_OUT: u64 = BY_LEVEL | BY_FILTER | BY_SAMPLING;
