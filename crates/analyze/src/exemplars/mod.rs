//! Steps that are kept with their spans, so that a person can look into them: the first, the slowest, and a sample from
//! which the one nearest to the median is taken at the end. Of each class of step numbers ([`crate::accumulate::residue_classes`]) the slowest
//! is kept as well, so that what is slow every so often does not crowd out the rest. Which they are depends on the set
//! of steps only: each of the rules keeps so many of the smallest by its own order, and a step stays while any rule
//! keeps it. How one is cut out of a trace is in `observe`; what is said about it in the end, in `finish`.

pub(crate) mod finish;
pub(crate) mod observe;
pub(crate) mod summary;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::{TraceId, mix};

use crate::accumulate::residue_classes::{self, Moduli};
use crate::accumulate::smallest::{Place, Smallest};
use crate::config::{EXAMPLE_BYTES, EXAMPLE_SPANS};
use crate::phases::PhaseKey;
use crate::steps::StepRecord;

/// Steps kept because they are the first.
pub(crate) const FIRST: usize = 2;

/// Steps kept because they are the slowest. More than are shown, since some turn out to be warm-up.
pub(crate) const SLOWEST: usize = 8;

/// Steps kept because the hashes of their traces are the smallest.
const SAMPLE: usize = 16;

/// Of each class by these the slowest step is kept.
const CLASSES: Moduli = &[8, 9, 25, 7, 11];

/// No parent among the spans kept.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// What one span costs at most, its texts aside.
pub(crate) const SPAN_BYTES: usize = 96;

/// What one interval in which a span ran costs.
pub(crate) const RUN_BYTES: usize = 16;

/// A thread that spans of a step ran on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub(crate) thread: Option<i64>,
    /// Empty where nobody named it.
    pub(crate) name: Box<str>,
}

/// The batch that a span waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Batch {
    /// The trace in which it was made, where the span links to it.
    pub(crate) trace: Option<TraceId>,
    pub(crate) produce_ns: Option<u64>,
    pub(crate) queue_ns: Option<u64>,
}

/// A span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ExampleSpan {
    /// Its place in `names`.
    pub(crate) name: u32,
    /// The nearest span around it that is kept, or [`NO_PARENT`].
    pub(crate) parent: u32,
    pub(crate) lane: u32,
    pub(crate) phase: PhaseKey,
    /// Start, after that of the step.
    pub(crate) offset_ns: i64,
    pub(crate) duration_ns: u64,
    pub(crate) is_error: bool,
    pub(crate) batch: Option<Batch>,
    /// When it ran, after the start of the step and for how long, where it was entered several times.
    pub(crate) running: Vec<(i64, u64)>,
}

/// A piece of the critical path: span, start after that of the step, length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ExamplePiece {
    pub(crate) span: u32,
    pub(crate) offset_ns: u64,
    pub(crate) duration_ns: u64,
}

/// The spans of one step: the longest [`EXAMPLE_SPANS`], fewer where their texts are long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Example {
    /// Spans that the step had.
    pub(crate) spans_in_step: u64,
    pub(crate) names: Vec<Box<str>>,
    /// The step's own first.
    pub(crate) lanes: Vec<Lane>,
    /// The step first, then in the order of their starts.
    pub(crate) spans: Vec<ExampleSpan>,
    /// In the order of time; together as long as the step. What spans left out held up counts for the nearest around
    /// them that is kept.
    pub(crate) pieces: Vec<ExamplePiece>,
}

impl Example {
    /// Whether it is within the bounds: what is read back from bytes may say anything.
    fn is_bounded(&self) -> bool {
        let texts = self.names.iter().map(|name| name.len()).sum::<usize>()
            + self.lanes.iter().map(|lane| lane.name.len()).sum::<usize>()
            + self
                .spans
                .iter()
                .map(|span| text_of(&span.phase) + span.running.len() * RUN_BYTES)
                .sum::<usize>();
        self.spans.len() <= EXAMPLE_SPANS
            && self.lanes.len() <= EXAMPLE_SPANS
            && self.names.len() <= EXAMPLE_SPANS
            && self.spans.len().saturating_mul(SPAN_BYTES).saturating_add(texts) <= EXAMPLE_BYTES
            && self.pieces.len() <= MAX_PIECES
    }
}

/// Pieces of a path that are kept: neighbours of one span are one piece, so that there are at most two for each span.
pub(crate) const MAX_PIECES: usize = 2 * EXAMPLE_SPANS + 1;

/// Bytes that the word of a phase takes.
pub(crate) fn text_of(phase: &PhaseKey) -> usize {
    match phase {
        PhaseKey::Custom(word) => word.len(),
        PhaseKey::Known(_) | PhaseKey::Absent => 0,
    }
}

/// The steps kept of one mode.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Exemplars {
    pub(crate) kept: BTreeMap<Id, (StepRecord, Example)>,
    /// What keeps them, in the order of tables: as the first, as the slowest, as the sample, and by class.
    #[serde(skip)]
    tables: Smallest<(u64, Id)>,
}

/// Which step it is, in the order of steps.
type Id = (u64, Option<u64>, TraceId, u64);

const fn id(step: &StepRecord) -> Id {
    (step.start_ns, step.step, step.trace, step.span)
}

/// Where a step goes.
fn places(step: &StepRecord) -> impl Iterator<Item = Place<(u64, Id)>> {
    let id = id(step);
    // Slower ones first; deep ones, which take longer by what they record, only where there are no others.
    let slowness = if step.is_deep { u64::MAX } else { u64::MAX - step.duration_ns() };
    let classes = step.step.into_iter().flat_map(|number| residue_classes::classes(CLASSES, number));
    let rules = [(0, FIRST, 0), (1, SLOWEST, slowness), (2, SAMPLE, draw(step))];
    let all = rules.into_iter().chain(classes.map(move |at| (3 + at, 1, slowness)));
    all.map(move |(at, bound, order)| (at, bound, (order, id)))
}

impl Exemplars {
    /// Whether a step would be kept, of what was seen so far.
    pub(crate) fn wants(&self, step: &StepRecord) -> bool {
        step.is_whole && self.tables.admits(places(step))
    }

    /// The steps, in their order.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &StepRecord> {
        self.kept.values().map(|(step, _)| step)
    }

    /// A step with its spans.
    pub(crate) fn get(&self, step: &StepRecord) -> Option<&Example> {
        self.kept.get(&id(step)).map(|(_, example)| example)
    }

    /// Adds a step.
    pub(crate) fn add(&mut self, step: &StepRecord, example: Example) {
        let new = (step.clone(), example);
        match self.kept.entry(id(step)) {
            // The same step twice, differently: whichever is the smaller, so that order does not matter.
            Entry::Occupied(mut mine) if *mine.get() > new => drop(mine.insert(new)),
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(new);
                for (_, gone) in self.tables.add(places(step)) {
                    let holds = |(step, _): &(StepRecord, Example)| self.tables.holds(places(step));
                    if !self.kept.get(&gone).is_some_and(holds) {
                        self.kept.remove(&gone);
                    }
                }
            }
        }
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (step, example) in other.kept.values().filter(|(_, example)| example.is_bounded()) {
            if self.wants(step) {
                self.add(step, example.clone());
            }
        }
    }
}

/// The number by which the sample is drawn: of the trace and, since foreign ones may hold several steps, the span.
fn draw(step: &StepRecord) -> u64 {
    let (high, low) = step.trace.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    mix(mix(mix(word(high)) ^ word(low)) ^ step.span)
}

#[cfg(test)]
mod tests;
