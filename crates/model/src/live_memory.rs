//! Points about live memory by sample, as analyses see them. How they are decoded is in `intake/live_memory`, what they mean in
//! `stepscope_core::metric::live`.

/// One point; those of one moment have one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LivePoint {
    /// Bytes of a row.
    Bytes(LiveRow),
    /// Blocks of a row.
    Blocks(LiveRow),
    /// Bytes that were allocated so far, freed or not; without ages.
    AllocatedBytes(LiveRow),
    /// Blocks of the same.
    AllocatedBlocks(LiveRow),
    /// Of so many bytes one was chosen.
    PeriodBytes(u64),
    /// Something that was dropped, cumulative.
    Dropped(LiveDropped, u64),
    /// A stack that rows name.
    Stack {
        /// Its number in the process.
        id: u64,
        /// Its frames as written: `module+0xoffset`, innermost first, with one space between.
        frames: String,
    },
    /// Where a section begins that rows name.
    Section {
        /// Its call path.
        path: String,
        /// The source file.
        file: String,
        /// The line.
        line: u32,
    },
    /// A file that frames name.
    Module(Module),
}

/// What was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LiveDropped {
    /// Chosen blocks that found no room.
    Samples,
    /// Stacks that found none.
    Stacks,
    /// Stacks that could not be followed to their end.
    Truncated,
}

/// Blocks of one section, place and age.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveRow {
    /// Call path as written; empty outside of sections.
    pub path: String,
    /// Number of the stack; `None` where it is not known.
    pub stack: Option<u64>,
    /// At least so many steps ago; `None` of the rest, all rows that are not written taken together, and of what was allocated.
    pub age_steps: Option<u64>,
    /// How much there is of it.
    pub amount: u64,
}

/// A file that code was loaded from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Module {
    /// What frames call it.
    pub name: String,
    /// Its build id in hexadecimal digits; empty where it has none.
    pub build_id: String,
    /// Where it was.
    pub path: String,
}
