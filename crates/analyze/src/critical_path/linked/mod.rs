//! Waits on critical paths and how what they waited for was made. Steps, batches and other roots are traces of their own,
//! which come in any order; so both sides are kept by the trace that is linked to, and put together at the end: while it was
//! at work, the path of the wait goes through its sections, and from stage to stage into what these wait for. Kept are those
//! of as many traces as there is room for, drawn by the hash of their ids. Sums over all waits are with the sections that wait.

pub(crate) mod observe;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stepscope_core::identity::{TraceId, mix};

use crate::step_view::links::LINKS;

/// Traces kept that are waited for or are batches.
const TRACES: usize = 1_024;
/// Traces kept that are neither: of many nobody waits for any.
const OTHERS: usize = 1_024;
/// Waits by one trace that are kept: its first.
const WAITS: usize = 8;
/// Pieces of the path of one trace that are kept: its last. What was before counts for its root.
pub(crate) const PIECES: usize = 64;
/// Stages, one waiting for the other, that are followed.
const STAGES: usize = 16;
/// Links of the sections that made it that are followed of one wait.
const FOLLOWED: usize = 256;

/// A piece of a critical path on which a section waited for another trace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Waited {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Kind of the window.
    pub(crate) kind: u8,
    /// Of the section that waited.
    pub(crate) path: Box<str>,
    /// What it links to: at least one.
    pub(crate) links: Vec<TraceId>,
    /// Whether it may work on what it links to, so that it waited only for what ended meanwhile.
    pub(crate) must_end: bool,
}

/// A piece of the critical path of a trace that may be waited for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) path: Box<str>,
    /// What it waited for; empty where it did not wait.
    pub(crate) links: Vec<TraceId>,
    /// As for waits.
    pub(crate) must_end: bool,
}

/// How such a trace was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct Made {
    /// Of its root.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// What its root links to.
    pub(crate) links: Vec<TraceId>,
    pub(crate) pieces: Vec<Piece>,
}

impl Made {
    /// Whether it is within the bounds: what is read back from bytes may say anything.
    fn is_bounded(&self) -> bool {
        let is_bounded = |links: &[TraceId]| links.len() <= LINKS;
        let are_pieces = self.pieces.iter().all(|piece| is_bounded(&piece.links));
        !self.pieces.is_empty() && self.pieces.len() <= PIECES && is_bounded(&self.links) && are_pieces
    }
}

/// By which traces are kept: first the number by which they are drawn.
type Key = (u64, TraceId);

/// Both ends of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Ends {
    waits: BTreeSet<Waited>,
    /// Absent where the trace was not read, or is no batch.
    made: Option<Made>,
}

/// Waits and the making of what they waited for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Linked {
    /// Batches, and waits: each by that of the traces it links to whose key is the largest, so that there is room for all.
    kept: BTreeMap<Key, Ends>,
    /// Other roots.
    others: BTreeMap<Key, Made>,
}

/// Time of waits of one kind of window that are kept, and what of it was time of other sections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Through {
    /// By the section that waited.
    pub(crate) kept_ns: BTreeMap<Box<str>, u128>,
    /// By the section that waited and the one that it waited for: time, and traces.
    pub(crate) making: BTreeMap<(Box<str>, Box<str>), (u128, u64)>,
}

/// A trace that is linked to, at the end.
enum End<'a> {
    Read(&'a Made),
    Absent,
    /// It may have been read, but there was no room.
    Beyond,
}

fn has_room<T>(kept: &BTreeMap<Key, T>, room: usize, trace: &TraceId) -> bool {
    kept.len() < room || kept.last_key_value().is_some_and(|(last, _)| key(trace) <= *last)
}

fn enforce<T>(kept: &mut BTreeMap<Key, T>, room: usize) {
    while kept.len() > room {
        kept.pop_last();
    }
}

impl Linked {
    /// Whether there is room for a batch, or for waits for a trace, of what was seen so far.
    pub(crate) fn admits(&self, trace: &TraceId) -> bool {
        has_room(&self.kept, TRACES, trace)
    }

    /// Whether there is room for a root that is no batch.
    pub(crate) fn admits_other(&self, trace: &TraceId) -> bool {
        has_room(&self.others, OTHERS, trace)
    }

    /// Whether there is room for a wait.
    pub(crate) fn admits_wait(&self, links: &[TraceId]) -> bool {
        links.iter().all(|trace| self.admits(trace))
    }

    /// Adds a wait.
    pub(crate) fn waited(&mut self, piece: Waited) {
        let Some(key) = piece.links.iter().map(key).max() else { return };
        let ends = self.kept.entry(key).or_default();
        ends.waits.insert(piece);
        if ends.waits.len() > WAITS {
            ends.waits.pop_last();
        }
        enforce(&mut self.kept, TRACES);
    }

    /// Adds how a batch was made.
    pub(crate) fn made(&mut self, batch: TraceId, made: Made) {
        // An entry that says nothing would be lost when partials are merged.
        if !made.is_bounded() {
            return;
        }
        let ends = self.kept.entry(key(&batch)).or_default();
        // The same batch twice, differently: whichever is the greater, so that order does not matter.
        ends.made = ends.made.take().max(Some(made));
        enforce(&mut self.kept, TRACES);
    }

    /// Adds how another root was made.
    pub(crate) fn made_other(&mut self, root: TraceId, made: Made) {
        if !made.is_bounded() {
            return;
        }
        let other = self.others.entry(key(&root)).or_default();
        *other = std::mem::take(other).max(made);
        enforce(&mut self.others, OTHERS);
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&(_, trace), ends) in &other.kept {
            if !self.admits(&trace) {
                continue;
            }
            // What is read back from bytes may say anything.
            for piece in ends.waits.iter().filter(|piece| piece.links.len() <= LINKS).take(WAITS) {
                self.waited(piece.clone());
            }
            if let Some(made) = &ends.made {
                self.made(trace, made.clone());
            }
        }
        for (&(_, trace), made) in &other.others {
            if self.admits_other(&trace) {
                self.made_other(trace, made.clone());
            }
        }
    }

    fn find(&self, trace: &TraceId) -> End<'_> {
        let key = key(trace);
        let batch = self.kept.get(&key).and_then(|ends| ends.made.as_ref());
        match batch.or_else(|| self.others.get(&key)) {
            Some(made) => End::Read(made),
            None if self.admits(trace) => End::Absent,
            None => End::Beyond,
        }
    }

    /// Puts the ends together, for one kind of window.
    pub(crate) fn through(&self, kind: usize) -> Through {
        let mut through = Through::default();
        for ends in self.kept.values() {
            let mut traces: BTreeMap<(&str, &str), u128> = BTreeMap::new();
            for wait in ends.waits.iter().filter(|wait| usize::from(wait.kind) == kind) {
                let mut path = Path { linked: self, stages: Vec::new(), left: FOLLOWED, made: Vec::new() };
                if path.follow((&wait.links, wait.must_end), wait.start_ns, wait.end_ns).is_none() {
                    continue;
                }
                let waited_ns = wait.end_ns.saturating_sub(wait.start_ns);
                *through.kept_ns.entry(wait.path.clone()).or_default() += u128::from(waited_ns);
                for (made, ns) in path.made {
                    *traces.entry((&wait.path, made)).or_default() += u128::from(ns);
                }
            }
            for ((wait, made), ns) in traces {
                let sums = through.making.entry((wait.into(), made.into())).or_default();
                *sums = (sums.0 + ns, sums.1 + 1);
            }
        }
        through
    }
}

/// The path of one wait.
struct Path<'a> {
    linked: &'a Linked,
    /// The traces that are being gone through.
    stages: Vec<TraceId>,
    /// How often it may go on yet.
    left: usize,
    /// Sections that are on it, and for how long.
    made: Vec<(&'a str, u64)>,
}

impl<'a> Path<'a> {
    /// Goes on from a wait between two times. Gives how long of it other sections are on the path; nothing where a trace
    /// is needed for which there was no room.
    fn follow(
        &mut self,
        (links, must_end): (&'a [TraceId], bool),
        start_ns: u64,
        end_ns: u64,
    ) -> Option<u64> {
        if links.is_empty() || start_ns >= end_ns || self.stages.len() >= STAGES || self.left == 0 {
            return Some(0);
        }
        self.left -= 1;
        let linked = self.linked;
        let mut last: Option<((bool, u64, TraceId), &'a Made)> = None;
        // What waits for itself did not.
        for trace in links.iter().filter(|trace| !self.stages.contains(trace)) {
            let made = match linked.find(trace) {
                End::Read(made) => made,
                End::Absent => continue,
                End::Beyond => return None,
            };
            if must_end && !(start_ns < made.end_ns && made.end_ns <= end_ns) {
                continue;
            }
            // The one that ended last, but not after the wait.
            let order = (made.end_ns <= end_ns, made.end_ns, *trace);
            if last.is_none_or(|(least, _)| least < order) {
                last = Some((order, made));
            }
        }
        let Some(((_, _, trace), made)) = last else { return Some(0) };
        self.stages.push(trace);
        let mut moved_ns = self.follow((&made.links, false), start_ns, end_ns.min(made.start_ns))?;
        for piece in &made.pieces {
            let (start_ns, end_ns) = (piece.start_ns.max(start_ns), piece.end_ns.min(end_ns));
            if start_ns < end_ns {
                let elsewhere_ns = self.follow((&piece.links, piece.must_end), start_ns, end_ns)?;
                let own_ns = (end_ns - start_ns).saturating_sub(elsewhere_ns);
                if own_ns > 0 {
                    self.made.push((&piece.path, own_ns));
                }
                moved_ns = moved_ns.saturating_add(end_ns - start_ns);
            }
        }
        self.stages.pop();
        Some(moved_ns)
    }
}

fn key(trace: &TraceId) -> Key {
    (draw(trace), *trace)
}

/// The number by which traces are drawn.
fn draw(trace: &TraceId) -> u64 {
    let (high, low) = trace.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    mix(mix(word(high)) ^ word(low))
}

#[cfg(test)]
pub(crate) mod tests;
