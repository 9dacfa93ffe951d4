//! Live memory as it is published: samples of the allocator summed by section, stack and age. Gathered in `worker`, written
//! in `export`.

use std::collections::BTreeMap;

use crate::os::memory::live;
use crate::os::sys::Module;

/// Live bytes of one section, stack and age; all `None` for the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the path; `None` outside of sections.
    pub path: Option<u32>,
    pub stack: Option<u32>,
    /// At least so many steps ago, fewer than the next power of two; `None` of what was allocated at any time, too.
    pub age_steps: Option<u64>,
    pub bytes: u64,
    pub blocks: u64,
}

/// What is live at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveMemory {
    pub period_bytes: u64,
    /// The largest ones, largest first, then the rest, if there is any.
    pub rows: Vec<Row>,
    /// What was allocated so far, freed or not, in the same way; without ages.
    pub allocated: Vec<Row>,
    /// Frames of the stacks that rows name.
    pub stacks: BTreeMap<u32, String>,
    /// Modules that these frames name, by the names that they have there.
    pub modules: Vec<(String, Module)>,
    pub dropped: live::Dropped,
    /// Somebody waits for it.
    pub is_asked: bool,
}
