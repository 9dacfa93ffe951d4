//! The work that steps did, by mode: how many there were, how long they took, and what they say themselves that they
//! processed. Added up by the thread that ends a step, as the sums are: exact, whatever becomes of its span.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_core::vocabulary::Attribute;
use stepscope_core::{Mode, attr};

use crate::shared::attrs::{FieldName, for_each_amount};
use crate::shared::callsite::{Source, full_name};
use crate::shared::sequence::Sequence;

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

    pub(crate) fn add(&mut self, more: &Self) {
        let sum = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (one, other) => one.or(other),
        };
        self.steps += more.steps;
        self.total_ns = self.total_ns.saturating_add(more.total_ns);
        self.samples = sum(self.samples, more.samples);
        self.tokens = sum(self.tokens, more.tokens);
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

/// Adds up two of them.
pub(crate) fn add(sums: &mut WorkByMode, more: &WorkByMode) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| sum.add(more));
}

/// An amount that some steps say.
#[derive(Debug, Default)]
struct Amount {
    sum: AtomicU64,
    is_said: AtomicU64,
}

impl Amount {
    fn add(&self, amount: Option<u64>) {
        if let Some(amount) = amount {
            self.sum.store(self.sum.load(Ordering::Relaxed).saturating_add(amount), Ordering::Relaxed);
            self.is_said.store(1, Ordering::Relaxed);
        }
    }

    fn get(&self) -> Option<u64> {
        (self.is_said.load(Ordering::Relaxed) > 0).then(|| self.sum.load(Ordering::Relaxed))
    }
}

/// A [`StepWork`] in cells.
#[derive(Debug, Default)]
struct Cells {
    steps: AtomicU64,
    total_ns: AtomicU64,
    amounts: [Amount; 2],
}

impl Cells {
    fn get(&self) -> StepWork {
        let [samples, tokens] = self.amounts.each_ref().map(Amount::get);
        let (steps, total_ns) = (self.steps.load(Ordering::Relaxed), self.total_ns.load(Ordering::Relaxed));
        StepWork { steps, total_ns, samples, tokens }
    }
}

/// The work of the steps that one thread has ended.
#[derive(Debug)]
pub(crate) struct Work {
    sequence: Sequence,
    modes: [Cells; Mode::ALL.len()],
}

impl Work {
    pub(crate) fn new() -> Self {
        Self { sequence: Sequence::new(), modes: Default::default() }
    }

    /// Adds a step that has ended. Owner only.
    pub(crate) fn add(&self, mode: Mode, duration_ns: u64, amounts: [Option<u64>; 2]) {
        let Some(cells) = self.modes.get(mode as usize) else { return };
        let begun = self.sequence.begin();
        cells.steps.store(cells.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let total_ns = cells.total_ns.load(Ordering::Relaxed).saturating_add(duration_ns);
        cells.total_ns.store(total_ns, Ordering::Relaxed);
        cells.amounts.iter().zip(amounts).for_each(|(sum, amount)| sum.add(amount));
        self.sequence.end(begun);
    }

    /// A copy, asking `wait` whether to try once more where the owner is writing: it is told how often it was asked. Where it says
    /// no, the last step may be there in part.
    pub(crate) fn get(&self, wait: impl Fn(usize) -> bool) -> WorkByMode {
        let read = || self.modes.each_ref().map(Cells::get);
        let mut rounds = 0;
        loop {
            if let Some(work) = self.sequence.read(read) {
                return work;
            }
            if !wait(rounds) {
                return read();
            }
            rounds += 1;
        }
    }

    /// How many steps have ended.
    pub(crate) fn count(&self) -> u64 {
        self.modes.iter().map(|cells| cells.steps.load(Ordering::Relaxed)).sum()
    }

    /// The time of all steps.
    pub(crate) fn total_ns(&self) -> u64 {
        self.modes.iter().map(|cells| cells.total_ns.load(Ordering::Relaxed)).sum()
    }
}

/// What a step may say that it processed, in the order of [`Cells::amounts`].
static AMOUNTS: LazyLock<[Option<&Attribute>; 2]> =
    LazyLock::new(|| [attr::SAMPLES, attr::TOKENS].map(attr::find));

/// What a section of `source` says that it processed in the words of its entries: samples and tokens.
pub(crate) fn amounts(words: &[u64], source: Source) -> [Option<u64>; 2] {
    let mut found: [Option<(usize, u64)>; 2] = [None; 2];
    for_each_amount(words, |name, value| {
        let name = match name {
            FieldName::Number(number) => source.field(number.into()),
            FieldName::Text(name) => Some(name),
        };
        let Some(name) = name.map(|name| full_name(Some(&source), name)) else { return };
        for (row, found) in AMOUNTS.iter().zip(&mut found) {
            let rank = row.and_then(|row| rank(row, name));
            if let Some(rank) = rank.filter(|rank| found.is_none_or(|(best, _)| *rank <= best)) {
                *found = Some((rank, value));
            }
        }
    });
    found.map(|found| found.map(|(_, value)| value))
}

/// Which of an attribute's names this is, its own at 0: what is said by that counts before what is said by others, and of the
/// same name the last one.
fn rank(row: &Attribute, name: &str) -> Option<usize> {
    if name == row.key {
        return Some(0);
    }
    row.aliases.iter().position(|&alias| alias == name).map(|position| position + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::attrs::{Attrs, Before, Declared, Entry, FieldValue};
    use crate::shared::callsite::Callsite;

    static STEP: Callsite = Callsite::new("step", None, "here", "", 0, &["samples", "note", "tokens"]);

    fn said(entries: &[Entry<'_>], declared: &[Declared<'_>]) -> [Option<u64>; 2] {
        let mut attrs = Attrs::default();
        declared.iter().for_each(|&declared| attrs.push(Before::default(), declared));
        entries.iter().for_each(|&entry| attrs.push(Before::default(), entry));
        amounts(attrs.words(), Source::Section(&STEP))
    }

    #[test]
    fn what_a_step_says_is_found_by_all_of_its_names() {
        let (int, uint) = (FieldValue::Int, FieldValue::Uint);
        assert_eq!(said(&[], &[]), [None, None]);
        let declared = [Declared(0, uint(32)), Declared(1, FieldValue::Str("a text")), Declared(2, int(7))];
        assert_eq!(said(&[], &declared), [Some(32), Some(7)]);
        // What is said later, and by the name of the vocabulary, which counts before others.
        assert_eq!(said(&[Entry::Field("samples", int(5))], &declared), [Some(5), Some(7)]);
        assert_eq!(said(&[Entry::Field("batch_size", int(5))], &declared[1..]), [Some(5), Some(7)]);
        assert_eq!(said(&[Entry::Field("batch_size", int(5))], &declared), [Some(32), Some(7)]);
        let both = [Entry::Field("stepscope.tokens", int(0)), Entry::Field("tokens.of.others", int(9))];
        assert_eq!(said(&both, &[]), [None, Some(0)]);
    }

    #[test]
    fn what_is_no_amount_says_nothing() {
        let others = [
            Entry::Field("samples", FieldValue::Int(-1)),
            Entry::Field("samples", FieldValue::Double(3.0)),
            Entry::Field("tokens", FieldValue::Str("3")),
            Entry::Field("tokens", FieldValue::Bool(true)),
            Entry::Field("tokens", FieldValue::Uint(1 << 63)),
            Entry::Own("tokens", FieldValue::Uint(3)),
            Entry::UserValue("tokens", 3.0),
            Entry::Event(3, true, "tokens"),
            Entry::Link([3; 16], 3),
            Entry::Polls(&[3; 16]),
        ];
        assert_eq!(said(&others, &[]), [None, None]);
        let behind = [&others[..], &[Entry::Field("tokens", FieldValue::Uint(4))]].concat();
        assert_eq!(said(&behind, &[]), [None, Some(4)]);
    }

    #[test]
    fn steps_add_up_by_mode() {
        let work = Work::new();
        work.add(Mode::Train, 10, [Some(1), None]);
        work.add(Mode::Train, 20, [None, None]);
        work.add(Mode::Eval, 5, [None, Some(u64::MAX)]);
        work.add(Mode::Eval, 5, [None, Some(1)]);
        let mut sums = WorkByMode::default();
        for _ in 0..2 {
            add(&mut sums, &work.get(|_| false));
        }
        let train = StepWork { steps: 4, total_ns: 60, samples: Some(2), tokens: None };
        assert_eq!(sums[Mode::Train as usize], train);
        let eval = StepWork { steps: 4, total_ns: 20, samples: None, tokens: Some(u64::MAX) };
        assert_eq!(sums[Mode::Eval as usize], eval);
        assert_eq!(work.total_ns(), 40);
    }

    /// Many steps that one thread adds while another copies: what a step adds is there at once.
    #[test]
    fn a_copy_is_of_whole_steps() {
        let work = Work::new();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut copies = 0;
                loop {
                    let [train, ..] = work.get(|_| true);
                    assert_eq!(train.total_ns, 3 * train.steps);
                    assert_eq!(train.samples.unwrap_or(0), 2 * train.steps);
                    copies += 1;
                    if train.steps == 100_000 {
                        return copies;
                    }
                }
            });
            (0..100_000).for_each(|_| work.add(Mode::Train, 3, [Some(2), None]));
            assert!(reader.join().unwrap() > 0);
        });
    }
}
