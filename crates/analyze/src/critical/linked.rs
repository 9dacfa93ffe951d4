//! Waits on critical paths and how the batches that they waited for were made. Steps and batches are traces of their own,
//! which come in any order and one at a time; so both sides are kept by the batch's trace, and put together at the end:
//! while a batch was being made, the path of a wait for it goes through the sections that made it. Kept are those of as
//! many batches as there is room for, drawn by the hash of their trace ids: which these are depends on the set of traces
//! only. Sums over all waits are with the sections that wait.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stepscope_core::identity::{TraceId, mix};

/// Batches kept.
const BATCHES: usize = 256;
/// Waits for one batch that are kept: its first.
const WAITS: usize = 8;
/// Pieces of the path of one batch that are kept: its last. What was before counts for the batch itself.
pub(crate) const PIECES: usize = 64;

/// A piece of a critical path on which a section waited for a batch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Waited {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Kind of the window.
    pub(crate) kind: u8,
    /// Of the section that waited.
    pub(crate) path: Box<str>,
}

/// A piece of the critical path of a batch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) path: Box<str>,
}

/// Both ends of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Ends {
    waits: BTreeSet<Waited>,
    /// Empty where the batch's trace was not read.
    made: Vec<Made>,
}

/// Waits and the making of what they waited for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Linked {
    kept: BTreeMap<(u64, TraceId), Ends>,
}

/// Time of waits of one kind of window that are kept, and what of it was time of other sections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Through {
    /// By the section that waited.
    pub(crate) kept_ns: BTreeMap<Box<str>, u128>,
    /// By the section that waited and the one that made the batch: time, and batches.
    pub(crate) making: BTreeMap<(Box<str>, Box<str>), (u128, u64)>,
}

impl Linked {
    /// Whether there is room for a batch, of what was seen so far.
    pub(crate) fn admits(&self, batch: &TraceId) -> bool {
        self.kept.len() < BATCHES
            || self.kept.last_key_value().is_some_and(|(last, _)| (draw(batch), *batch) <= *last)
    }

    /// Adds a wait for a batch.
    pub(crate) fn waited(&mut self, batch: TraceId, piece: Waited) {
        let ends = self.kept.entry((draw(&batch), batch)).or_default();
        ends.waits.insert(piece);
        if ends.waits.len() > WAITS {
            ends.waits.pop_last();
        }
        self.enforce();
    }

    /// Adds how a batch was made.
    pub(crate) fn made(&mut self, batch: TraceId, pieces: Vec<Made>) {
        // An entry that says nothing would be lost when partials are merged.
        if pieces.is_empty() {
            return;
        }
        let ends = self.kept.entry((draw(&batch), batch)).or_default();
        // The same batch twice, differently: whichever is the greater, so that order does not matter.
        if ends.made < pieces {
            ends.made = pieces;
        }
        self.enforce();
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&(_, batch), ends) in &other.kept {
            if !self.admits(&batch) {
                continue;
            }
            // What is read back from bytes may say anything.
            for piece in ends.waits.iter().take(WAITS) {
                self.waited(batch, piece.clone());
            }
            if !ends.made.is_empty() && ends.made.len() <= PIECES {
                self.made(batch, ends.made.clone());
            }
        }
    }

    fn enforce(&mut self) {
        while self.kept.len() > BATCHES {
            self.kept.pop_last();
        }
    }

    /// Puts the ends together, for one kind of window.
    pub(crate) fn through(&self, kind: usize) -> Through {
        let mut through = Through::default();
        for ends in self.kept.values() {
            let mut batches: BTreeMap<(&str, &str), u128> = BTreeMap::new();
            for wait in ends.waits.iter().filter(|wait| usize::from(wait.kind) == kind) {
                let waited_ns = wait.end_ns.saturating_sub(wait.start_ns);
                *through.kept_ns.entry(wait.path.clone()).or_default() += u128::from(waited_ns);
                for piece in &ends.made {
                    let start_ns = piece.start_ns.max(wait.start_ns);
                    let making_ns = piece.end_ns.min(wait.end_ns).saturating_sub(start_ns);
                    if making_ns > 0 {
                        *batches.entry((&wait.path, &piece.path)).or_default() += u128::from(making_ns);
                    }
                }
            }
            for ((wait, path), making_ns) in batches {
                let sums = through.making.entry((wait.into(), path.into())).or_default();
                *sums = (sums.0 + making_ns, sums.1 + 1);
            }
        }
        through
    }
}

/// The number by which batches are drawn.
fn draw(batch: &TraceId) -> u64 {
    let (high, low) = batch.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    mix(mix(word(high)) ^ word(low))
}
