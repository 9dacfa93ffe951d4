//! Spans that begin before their parents, which cannot be: times that come from clocks that differ, or that were made
//! up. They are told, and nothing is moved: by how much a clock is off is not known from what lies outside.
//!
//! Children that end after their parent, or begin after its end, are usual (work that goes on in another task), and are
//! not told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::IssueKind;
use crate::issues::{FileId, Issues};

/// Clocks that are corrected while they run, and writers that round, are off by this much.
const ROUNDING_NS: u64 = 10_000;
/// The part of the parent's duration that is too little to be told.
const TOO_LITTLE: u64 = 100;

/// Spans of one file's traces that begin before their parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Early {
    /// How many.
    pub(crate) spans: u64,
    /// Of them, those of another process than their parent.
    elsewhere: u64,
    /// By how much, in all.
    sum_ns: u128,
    max_ns: u64,
}

impl Early {
    /// Looks at a child that begins so long before its parent, which takes `parent_ns`.
    pub(crate) fn note(&mut self, early_ns: u64, parent_ns: u64, is_elsewhere: bool) {
        if early_ns > ROUNDING_NS.max(parent_ns / TOO_LITTLE) {
            let elsewhere = is_elsewhere.into();
            self.absorb(Self { spans: 1, elsewhere, sum_ns: early_ns.into(), max_ns: early_ns });
        }
    }

    fn absorb(&mut self, other: Self) {
        self.spans = self.spans.saturating_add(other.spans);
        self.elsewhere = self.elsewhere.saturating_add(other.elsewhere);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    fn reason(&self) -> String {
        let mean_ns = self.sum_ns.checked_div(self.spans.into()).unwrap_or(0);
        let advice = match self.elsewhere {
            0 => "they are of one process: let the program take all start times from one clock",
            all if all == self.spans => "they are of other processes: synchronise the clocks of their hosts",
            _ => "synchronise the clocks of all hosts, and let a program take all start times from one clock",
        };
        format!(
            "spans begin before their parents, by {} on average and {} at most, which cannot be; what lies outside of a \
             step is in none of its phases and not on its critical path; {advice}",
            length(u64::try_from(mean_ns).unwrap_or(u64::MAX)),
            length(self.max_ns)
        )
    }
}

/// A length of time in words.
fn length(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{} µs", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{}.{} ms", ns / 1_000_000, ns / 100_000 % 10),
        _ => format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10),
    }
}

/// One file as it travels in partials: index of its name, what it holds.
pub(crate) type SkewState = (u32, Early);

/// Spans that begin before their parents, by file.
#[derive(Debug, Default)]
pub(crate) struct Skews(BTreeMap<FileId, Early>);

impl Skews {
    /// Adds those of a trace, or of a file that another reader read.
    pub(crate) fn add(&mut self, file: FileId, early: Early) {
        if early.spans > 0 {
            self.0.entry(file).or_default().absorb(early);
        }
    }

    /// Everything; `name` gives the index of a file's name.
    pub(crate) fn to_states(&self, name: impl Fn(FileId) -> u32) -> Vec<SkewState> {
        let mut states: Vec<SkewState> = self.0.iter().map(|(&file, &early)| (name(file), early)).collect();
        states.sort_unstable_by_key(|&(name, _)| name);
        states
    }

    /// The files that [`Self::to_states`] names.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.0.keys().copied()
    }

    /// Tells of them, once everything has been read.
    pub(crate) fn report(&self, issues: &mut Issues) {
        for (&file, early) in &self.0 {
            issues.add(file, IssueKind::ClockSkew, None, early.spans, || early.reason());
        }
    }
}
