//! Live memory by sample as the report has it: by section and line, with the stacks behind it and over the moments.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What was live in one process: the one that held most. Sizes are estimates: of so many bytes one was chosen, and stands for
/// the others.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveMemory {
    /// Its rank.
    pub rank: Option<i64>,
    /// Processes that took samples.
    pub processes: u64,
    /// Of so many bytes one was chosen; blocks of as many bytes and more are all there.
    pub period_bytes: u64,
    /// When that was: the last moment that is not of a process which has given back most of its memory.
    pub time_ns: u64,
    /// The step that had begun last; null where numbers do not tell steps apart.
    pub step: Option<u64>,
    /// The first step.
    pub first_step: Option<u64>,
    /// Steps that the process had begun by then, of all modes.
    pub steps: u64,
    /// How many of them came after warm-up.
    pub steady_steps: u64,
    /// Live bytes.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
    /// Bytes of what is too small to be told by itself: in none of `lines`.
    pub other_bytes: u64,
    /// By section and line of the program, those with most bytes older than two steps first.
    pub lines: Vec<LiveLine>,
    /// By section and line of the program, what was allocated since sampling began, freed or not, most bytes first.
    pub allocated: Vec<AllocatedLine>,
    /// By section and stack, the same; the rest has neither.
    #[serde(skip)]
    pub allocated_rows: Vec<AllocatedRow>,
    /// By section, stack and age, most bytes first.
    #[serde(skip)]
    pub rows: Vec<LiveRow>,
    /// Stacks that rows name by place: places in `frames`, innermost first.
    #[serde(skip)]
    pub stacks: Vec<Vec<usize>>,
    /// Frames that stacks name.
    #[serde(skip)]
    pub frames: Vec<LiveFrame>,
    /// Places of frames that are the allocator's, of which nothing else is known.
    #[serde(skip)]
    pub(crate) shims: BTreeSet<usize>,
    /// Files that frames name by place.
    pub modules: Vec<LiveModule>,
    /// Where sections begin in the source, `file:line`.
    #[serde(skip)]
    pub(crate) sections: BTreeMap<String, String>,
    /// What was live over the time.
    pub moments: Vec<LiveMoment>,
    /// When most was live.
    pub peak: Option<LivePeak>,
    /// By section and place of a stack, what was live at each of `moments`.
    #[serde(skip)]
    pub(crate) courses: BTreeMap<(Option<String>, usize), Vec<Held>>,
    /// What changed between two steps, if that was asked for.
    pub between: Option<LiveBetween>,
    /// Chosen blocks that found no room: figures are too small by as much.
    pub samples_dropped: u64,
    /// Samples whose stack found no room.
    pub stacks_dropped: u64,
    /// Samples whose stack could not be followed to its end.
    pub stacks_truncated: u64,
}

/// What a section has allocated at one line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocatedLine {
    /// The section; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where the section begins; null where that is not known.
    pub section_place: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The function.
    pub function: Option<String>,
    /// Bytes allocated; of blocks that grow their growth alone.
    pub bytes: u64,
    /// Blocks allocated.
    pub blocks: u64,
}

/// What a section has allocated by one stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllocatedRow {
    /// The section; none outside of sections.
    pub section: Option<String>,
    /// Place of the stack.
    pub stack: Option<usize>,
    /// Bytes.
    pub bytes: u64,
    /// Blocks.
    pub blocks: u64,
}

/// What blocks of one section and stack held at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    pub(crate) bytes: u64,
    /// Of that, what was not allocated in the step of the moment: what is in use then says nothing of what stays.
    pub(crate) stayed_bytes: u64,
}

/// Blocks of a section that were allocated at one line.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveLine {
    /// The section; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where the section begins; null where that is not known.
    pub section_place: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The source file.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The function.
    pub function: Option<String>,
    /// Who calls it, with its line, where other sections allocate at the same line, too.
    pub caller: Option<String>,
    /// Live bytes.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
    /// Bytes that were allocated two steps ago or earlier.
    pub old_bytes: u64,
    /// When they were allocated.
    pub births: LiveBirths,
    /// Bytes a step that stayed, of what was allocated all along.
    pub bytes_per_step: Option<f64>,
    /// By age, youngest first.
    pub ages: Vec<LiveAge>,
    /// Places of their stacks.
    #[serde(skip)]
    pub stacks: Vec<usize>,
}

/// When what is live was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LiveBirths {
    /// All along since warm-up: it grows.
    Throughout,
    /// Early, and not since: a state, a cache that is full.
    Early,
    /// In the last steps: it is in use, or bounded.
    Recent,
    /// Too few samples, or anything else.
    #[default]
    Unknown,
}

/// Blocks of one age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveAge {
    /// Allocated so many steps ago at least, and before the next one (twice as many).
    pub age_steps: u64,
    /// Live bytes.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
}

/// Blocks of one section, stack and age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRow {
    /// The section; null outside of sections.
    pub section: Option<String>,
    /// Place of the stack; null where it is not known.
    pub stack: Option<usize>,
    /// Allocated so many steps ago at least, and before the next class (twice as many).
    pub age_steps: u64,
    /// Live bytes.
    pub bytes: u64,
    /// Live blocks.
    pub blocks: u64,
}

/// A return address and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFrame {
    /// Place of its module; null where it lies in none.
    pub module: Option<usize>,
    /// Address in the module's file; an address of the process where it lies in none.
    pub offset: u64,
    /// Functions and lines, the innermost of what was inlined first; empty where nothing is known.
    pub lines: Vec<SourceLine>,
}

/// A place of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct SourceLine {
    /// The function.
    pub function: Option<String>,
    /// The file, from where it was compiled on if it is below.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
}

/// A file that code was loaded from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveModule {
    /// What frames call it.
    pub name: String,
    /// Where it was.
    pub path: String,
    /// Its build id in hexadecimal digits; null where it has none.
    pub build_id: Option<String>,
    /// What was found of its lines.
    pub symbols: SymbolState,
}

/// What was found of a module's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SymbolState {
    /// Nobody looked.
    #[default]
    NotLookedUp,
    /// Lines.
    Lines,
    /// Functions without lines: it was built without `debug = "line-tables-only"`.
    NoLines,
    /// Neither: it was stripped.
    Stripped,
    /// The file is not there, and no debug file of its build id.
    Missing,
    /// The file there has another build id: it was built anew.
    Differs,
    /// It has no build id, so that nobody can tell whether the file there is the one that ran.
    NoBuildId,
    /// The file there could not be read.
    Unreadable,
}

/// What was live at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveMoment {
    /// When.
    pub time_ns: u64,
    /// The step that had begun last; null before the first, and where numbers do not tell steps apart.
    pub step: Option<u64>,
    /// Live bytes.
    pub bytes: u64,
    /// Of that, by the sections that hold most at any moment, in the same order at all of them.
    pub sections: Vec<LiveSection>,
    /// Of that, by all others.
    pub other_bytes: u64,
}

/// The moment at which most was live, and the line that held most of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LivePeak {
    /// When.
    pub time_ns: u64,
    /// The step that had begun last; null before the first, and where numbers do not tell steps apart.
    pub step: Option<u64>,
    /// Live bytes.
    pub bytes: u64,
    /// The section of the line; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The function.
    pub function: Option<String>,
    /// Bytes that were live of that section and line.
    pub line_bytes: u64,
}

/// What changed between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveBetween {
    /// The first moment.
    pub from: LiveAt,
    /// The other one.
    pub to: LiveAt,
    /// Live bytes that came, less those that went.
    pub change_bytes: i64,
    /// By section and line, those that grew most first; without those that did not change.
    pub lines: Vec<LiveChange>,
    /// Of `change_bytes`, what is of no line: too small to be told, or without a stack.
    pub other_change_bytes: i64,
}

/// The moment nearest to a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveAt {
    /// The step that was asked for.
    pub asked_step: u64,
    /// The step that had begun last at the moment.
    pub step: u64,
    /// When it was.
    pub time_ns: u64,
    /// Live bytes.
    pub bytes: u64,
}

/// How a line changed between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveChange {
    /// The section; null outside of sections.
    pub section: Option<String>,
    /// `file:line` where the section begins; null where that is not known.
    pub section_place: Option<String>,
    /// `file:line` where that is known, else `module+0xoffset`.
    pub place: String,
    /// The function.
    pub function: Option<String>,
    /// Who calls it, with its line, where other sections allocate at the same line, too.
    pub caller: Option<String>,
    /// Live bytes at the first moment.
    pub from_bytes: u64,
    /// Live bytes at the other one.
    pub to_bytes: u64,
    /// The difference.
    pub change_bytes: i64,
}

/// What a section held at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LiveSection {
    /// The section; null outside of sections.
    pub section: Option<String>,
    /// Live bytes.
    pub bytes: u64,
}
