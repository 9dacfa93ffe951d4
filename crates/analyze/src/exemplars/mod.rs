//! Steps that are kept with their spans, so that a person can look into them: the first, the slowest, and a sample from
//! which the one nearest to the median is taken at the end. Of each class of step numbers ([`crate::accumulate::residue_classes`]) the slowest
//! is kept as well, so that what is slow every so often does not crowd out the rest. Which they are depends on the set
//! of steps only: each of the rules keeps so many of the smallest by its own order, and a step stays while any rule
//! keeps it. How one is cut out of a trace is in the fold; what is said about it in the end, in `finish`.

pub(crate) mod finish;
pub(crate) mod observe;
pub(crate) mod summary;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::{TraceId, mix};

use crate::accumulate::residue_classes::{self, Moduli};
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
    /// By the order of steps.
    pub(crate) kept: BTreeMap<StepRecord, Example>,
    /// Absent while there is room.
    #[serde(skip)]
    bar: Option<Bar>,
}

/// The last that each rule keeps: a step beyond all of them is not looked at any closer.
#[derive(Debug, Clone)]
struct Bar {
    /// Number and start.
    first: (Option<u64>, u64),
    duration_ns: u64,
    draw: u64,
    /// Of the slowest step of each class; absent where there is none.
    classes: Vec<Option<u64>>,
}

impl Bar {
    /// Whether the slowest step of each class of a number is slower.
    fn is_slower(&self, number: Option<u64>, duration_ns: u64) -> bool {
        let bar = |at: usize| self.classes.get(at).copied().flatten();
        number.is_none_or(|number| {
            residue_classes::classes(CLASSES, number).all(|at| bar(at).is_some_and(|bar| duration_ns < bar))
        })
    }
}

impl Exemplars {
    /// Whether a step would be kept, of what was seen so far.
    pub(crate) fn wants(&self, step: &StepRecord) -> bool {
        let is_beyond = |bar: &Bar| {
            step.duration_ns() < bar.duration_ns
                && (step.step, step.start_ns) > bar.first
                && draw(step) > bar.draw
                && bar.is_slower(step.step, step.duration_ns())
        };
        if self.bar.as_ref().is_some_and(is_beyond) {
            return false;
        }
        let (slow, draw) = (slowness(step), draw(step));
        let (mut earlier, mut slower, mut drawn) = (0, 0, 0);
        // By modulus, whether a slower one of the same class is there.
        let mut is_below = [step.step.is_none(); CLASSES.len()];
        for other in self.kept.keys() {
            earlier += usize::from(other < step);
            let is_slower = (slowness(other), other) < (slow, step);
            slower += usize::from(is_slower);
            if let Some((number, other)) = step.step.zip(other.step).filter(|_| is_slower) {
                let both =
                    residue_classes::classes(CLASSES, number).zip(residue_classes::classes(CLASSES, other));
                is_below.iter_mut().zip(both).for_each(|(is_below, (mine, its))| *is_below |= mine == its);
            }
            drawn += usize::from((crate::exemplars::draw(other), other) < (draw, step));
        }
        step.is_whole && (earlier < FIRST || slower < SLOWEST || drawn < SAMPLE || is_below.contains(&false))
    }

    /// Adds a step.
    pub(crate) fn add(&mut self, step: &StepRecord, example: Example) {
        match self.kept.get_mut(step) {
            // The same step twice, differently: whichever is the smaller, so that order does not matter.
            Some(mine) if *mine > example => *mine = example,
            Some(_) => {}
            None => {
                self.kept.insert(step.clone(), example);
                self.enforce();
            }
        }
    }

    /// Adds every step of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (step, example) in other.kept.iter().filter(|(_, example)| example.is_bounded()) {
            if self.wants(step) {
                self.add(step, example.clone());
            }
        }
    }

    fn enforce(&mut self) {
        if self.kept.len() <= FIRST.min(SLOWEST).min(SAMPLE) {
            return;
        }
        let mut slow: Vec<_> = self.kept.keys().map(|step| (slowness(step), step)).collect();
        let mut drawn: Vec<_> = self.kept.keys().map(|step| (draw(step), step)).collect();
        slow.sort_unstable();
        drawn.sort_unstable();
        let mut classes: Vec<Option<&StepRecord>> = vec![None; residue_classes::count(CLASSES)];
        for (_, step) in &slow {
            for at in step.step.into_iter().flat_map(|number| residue_classes::classes(CLASSES, number)) {
                if let Some(class) = classes.get_mut(at) {
                    class.get_or_insert(step);
                }
            }
        }
        self.bar = (|| {
            let first = self.kept.keys().nth(FIRST - 1)?;
            let (Reverse(duration_ns), _) = slow.get(SLOWEST - 1)?;
            Some(Bar {
                first: (first.step, first.start_ns),
                duration_ns: *duration_ns,
                draw: drawn.get(SAMPLE - 1)?.0,
                classes: classes.iter().map(|step| step.map(StepRecord::duration_ns)).collect(),
            })
        })();
        let mut stay: Vec<&StepRecord> = self.kept.keys().take(FIRST).collect();
        stay.extend(slow.into_iter().take(SLOWEST).map(|(_, step)| step));
        stay.extend(classes.into_iter().flatten());
        stay.extend(drawn.into_iter().take(SAMPLE).map(|(_, step)| step));
        let gone: Vec<StepRecord> = self.kept.keys().filter(|step| !stay.contains(step)).cloned().collect();
        for step in gone {
            self.kept.remove(&step);
        }
    }
}

/// Slower ones first.
fn slowness(step: &StepRecord) -> Reverse<u64> {
    Reverse(step.duration_ns())
}

/// The number by which the sample is drawn: of the trace and, since foreign ones may hold several steps, the span.
fn draw(step: &StepRecord) -> u64 {
    let (high, low) = step.trace.split_at(8);
    let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    mix(mix(mix(word(high)) ^ word(low)) ^ step.span)
}

#[cfg(test)]
mod tests;
