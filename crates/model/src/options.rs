//! What a reader may use: [`ReadOptions`].

use std::path::PathBuf;

/// Bounds of a [`Reader`](crate::Reader). All of them have defaults that suit a laptop.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Spans of open traces held in memory; beyond it they go to temporary files. A trace and those that continue it may take
    /// four times as much when they are joined. 64 MiB.
    pub memory_bytes: usize,
    /// Where temporary files are created; the system's place for them if absent.
    pub spill_dir: Option<PathBuf>,
    /// Messages and lines larger than this are skipped with an issue. 64 MiB.
    pub max_message_bytes: usize,
    /// Most bytes of open traces that [`Reader::suspend`](crate::Reader::suspend) puts into one
    /// [`Unfinished`](crate::Unfinished). 1 GiB.
    pub max_unfinished_bytes: usize,
    /// Threads that decode, the caller's included: 1, or 2 to have another one decode ahead where an input is large, and do
    /// the caller's [`Errand`](crate::Errand) besides. What comes out is the same. 1.
    pub threads: usize,
    /// Whether names that differ in addresses, or with 100 siblings or more in numbers alone, are one in what profilers wrote as
    /// trace events; how many is told ([`IssueKind::NamesFolded`](crate::IssueKind::NamesFolded)). `false`.
    pub folds_names: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            spill_dir: None,
            max_message_bytes: 64 << 20,
            max_unfinished_bytes: 1 << 30,
            threads: 1,
            folds_names: false,
        }
    }
}
