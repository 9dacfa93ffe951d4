//! Thins a long run once its directory has used half of its bound: first steps, slow steps and a sample stay
//! whole, of the others only the root stays. Decided when a trace's root has ended; until then its records
//! wait here, bounded.

use std::collections::HashMap;

use stepscope_core::identity::TraceId;
use stepscope_core::{Distribution, SectionKind};

use crate::record::SectionRecord;

/// Steps before this number are always kept whole.
pub(crate) const FIRST_STEPS: u64 = 200;

/// One trace in this many is kept whole, chosen by the sampling bits of its id.
const SAMPLE: u64 = 20;

/// A step longer than this many halves of the median is slow.
const SLOW_HALVES: u64 = 3;

/// Words of records that may wait.
const MAX_WAITING_WORDS: usize = 1 << 21;

/// A record that waits: the record and its attached entries.
pub(crate) type Waiting = (SectionRecord, Vec<u8>);

/// What to write for one record that came in.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub write: Vec<Waiting>,
    pub thinned: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Thinner {
    waiting: HashMap<TraceId, Vec<Waiting>>,
    waiting_words: usize,
    durations: Distribution,
    median_ns: Option<u64>,
}

impl Thinner {
    /// Learns what a usual step takes; called for every step, thinned or not.
    pub(crate) fn observe(&mut self, record: &SectionRecord) {
        if record.kind == SectionKind::Step {
            self.durations.record(record.end_ns.saturating_sub(record.start_ns));
            // The median moves slowly: looking now and then is enough.
            if self.durations.count().is_power_of_two() || self.durations.count().is_multiple_of(1_024) {
                self.median_ns = self.durations.p50();
            }
        }
    }

    /// Takes a record; what is decided by it is to be written.
    pub(crate) fn add(&mut self, record: &SectionRecord, entries: &[u8]) -> Decision {
        if matches!(record.kind, SectionKind::Run | SectionKind::Epoch) {
            return Decision { write: vec![(*record, entries.to_vec())], thinned: 0 };
        }
        let Some(root) = record.root else {
            self.waiting_words += 32 + entries.len() / 8;
            self.waiting.entry(record.trace_id).or_default().push((*record, entries.to_vec()));
            if self.waiting_words > MAX_WAITING_WORDS {
                // Roots that do not come: whole traces are kept rather than held for ever.
                return self.release();
            }
            return Decision::default();
        };
        let mut children = self.waiting.remove(&record.trace_id).unwrap_or_default();
        let words: usize = children.iter().map(|(_, entries)| 32 + entries.len() / 8).sum();
        self.waiting_words = self.waiting_words.saturating_sub(words);
        if self.keeps(record) {
            children.push((*record, entries.to_vec()));
            return Decision { write: children, thinned: 0 };
        }
        let thinned = u64::from(root.trace_spans.saturating_sub(1));
        let mut alone = *record;
        if let Some(root) = &mut alone.root {
            root.trace_dropped = root.trace_dropped.saturating_add(root.trace_spans.saturating_sub(1));
            root.trace_spans = 1;
        }
        Decision { write: vec![(alone, entries.to_vec())], thinned }
    }

    /// Gives back everything that waits.
    pub(crate) fn release(&mut self) -> Decision {
        self.waiting_words = 0;
        Decision { write: self.waiting.drain().flat_map(|(_, records)| records).collect(), thinned: 0 }
    }

    fn keeps(&self, root: &SectionRecord) -> bool {
        let step = root.root.and_then(|root| root.step);
        let duration_ns = root.end_ns.saturating_sub(root.start_ns);
        let is_slow = root.kind == SectionKind::Step
            && self.median_ns.is_some_and(|median| duration_ns / SLOW_HALVES > median / 2);
        let sampling_bits = root.trace_id.iter().skip(9).fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        step.is_some_and(|step| step < FIRST_STEPS) || is_slow || sampling_bits.is_multiple_of(SAMPLE)
    }
}
