//! The work that steps did, by mode: how many there were, how long they took, and what their own spans say that they
//! processed. Added up by the background thread as it takes steps in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stepscope_core::{Mode, SectionKind, attr};

use crate::attrs::{Entries, Entry, FieldValue};
use crate::callsite::Known;
use crate::export::encode::full_name;
use crate::record::SectionRecord;

/// Work of the steps of one mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepWork {
    /// How many steps ended.
    pub steps: u64,
    /// The sum of their durations, in nanoseconds.
    pub total_ns: u64,
    /// Samples that they processed; absent where none of them says.
    pub samples: Option<u64>,
    /// Tokens that they processed; absent where none of them says.
    pub tokens: Option<u64>,
}

impl StepWork {
    fn per_second(&self, amount: u64) -> Option<f64> {
        (self.total_ns > 0).then(|| amount as f64 / self.total_ns as f64 * 1e9)
    }

    /// Steps per second of step time; absent without any.
    #[must_use]
    pub fn steps_per_second(&self) -> Option<f64> {
        self.per_second(self.steps)
    }

    /// Samples per second of step time.
    #[must_use]
    pub fn samples_per_second(&self) -> Option<f64> {
        self.per_second(self.samples?)
    }

    /// Tokens per second of step time.
    #[must_use]
    pub fn tokens_per_second(&self) -> Option<f64> {
        self.per_second(self.tokens?)
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let amount = |now: Option<u64>, then: Option<u64>| {
            now.map(|now| now.saturating_sub(then.unwrap_or(0)))
                .filter(|&amount| amount > 0 || then.is_none())
        };
        Self {
            steps: self.steps.saturating_sub(earlier.steps),
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            samples: amount(self.samples, earlier.samples),
            tokens: amount(self.tokens, earlier.tokens),
        }
    }
}

/// By mode, in the order of [`Mode::ALL`].
pub(crate) type WorkByMode = [StepWork; Mode::ALL.len()];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Work(Mutex<WorkByMode>);

impl Work {
    fn lock(&self) -> MutexGuard<'_, WorkByMode> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self) -> WorkByMode {
        *self.lock()
    }

    /// Adds `record`, if it is a step's, with its entries as bytes.
    pub(crate) fn take(&self, record: &SectionRecord, entries: &[u8], callsite: Option<&Known>) {
        let Some(root) = record.root.as_ref().filter(|_| record.kind == SectionKind::Step) else { return };
        let samples = amount(attr::SAMPLES, entries, callsite);
        let tokens = amount(attr::TOKENS, entries, callsite);
        let mut modes = self.lock();
        if let Some(work) = modes.get_mut(root.mode as usize) {
            work.steps += 1;
            let duration_ns = record.end_ns.saturating_sub(record.start_ns);
            work.total_ns = work.total_ns.saturating_add(duration_ns);
            let add = |sum: &mut Option<u64>, amount: Option<u64>| {
                *sum = amount.map_or(*sum, |amount| Some(sum.unwrap_or(0).saturating_add(amount)));
            };
            add(&mut work.samples, samples);
            add(&mut work.tokens, tokens);
        }
    }
}

/// What a section says of `key`: by that name first, by the vocabulary's other names for it after that, and of the same
/// name the last one.
fn amount(key: &str, entries: &[u8], callsite: Option<&Known>) -> Option<u64> {
    let row = attr::find(key)?;
    let mut found: Option<(usize, u64)> = None;
    for entry in Entries::new(entries, Known::fields(callsite)) {
        let Entry::Field(name, value) = entry else { continue };
        let name = full_name(callsite.map(|known| &known.source), name);
        let rank = if name == row.key {
            0
        } else {
            let Some(position) = row.aliases.iter().position(|&alias| alias == name) else { continue };
            position + 1
        };
        let value = match value {
            FieldValue::Int(value) => u64::try_from(value).ok(),
            FieldValue::Uint(value) => i64::try_from(value).ok().map(|_| value),
            _ => None,
        };
        if let Some(value) = value.filter(|_| found.is_none_or(|(best, _)| rank <= best)) {
            found = Some((rank, value));
        }
    }
    found.map(|(_, value)| value)
}
