//! Settings of a thread's queue of records: how large it may be, and what is left out when it is full.

/// What a thread leaves out when it ends sections faster than they are taken: for
/// [`Builder::overflow`](crate::Builder::overflow) and `STEPSCOPE_OVERFLOW`. What is left out is counted (`ring_full`), and sums
/// stay exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// What ends while there is no room; a little is kept free for steps and their like (`newest`).
    #[default]
    DropNewest,
    /// What has waited longest, however much of it (`oldest`). A section costs some more then: each takes the longer way.
    DropOldest,
    /// Sections without a phase, as soon as half of the room is in use: the rest is for steps, epochs, batches and phases
    /// (`steps`).
    KeepSteps,
}

impl Overflow {
    /// The one of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "newest" => Some(Self::DropNewest),
            "oldest" => Some(Self::DropOldest),
            "steps" => Some(Self::KeepSteps),
            _ => None,
        }
    }
}

/// Words that only urgent records may use.
pub(crate) const RING_RESERVE_WORDS: usize = if cfg!(loom) { 2 } else { 512 };

/// Bytes that a queue has.
pub(crate) const RING_BYTES: std::ops::RangeInclusive<usize> = 8 * 4 * RING_RESERVE_WORDS..=1 << 31;
