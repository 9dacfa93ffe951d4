//! What the background thread does for deep steps: it adds to their records what was seen of threads meanwhile, and makes them
//! rarer where they take more than their budget. Both from records, so that the program's threads do nothing for it.

use std::sync::Arc;

use stepscope_core::{Mode, attr};

use crate::hot::deep_steps::{MAX_HALVINGS, one_in};
use crate::hot::recorder::Recorder;
use crate::os::processors::{CpuTime, ProcessorReader};
use crate::shared::attrs::{Encode, Entry};
use crate::shared::record::SectionRecord;
use crate::shared::thread_samples::StepSamples;
use crate::worker::thread_looks;

/// All deep steps may take one in so many of the time of steps.
const BUDGET: u64 = 1_000;

/// What a deep step takes beyond others is not known from fewer.
const MIN_DIFFERENCES: usize = 4;

/// What a read that comes too late may be ahead of the next one.
const MAX_BEHIND_NS: u64 = 1_000_000_000;

/// The last of each that count.
const ORDINARY: usize = 31;
const DIFFERENCES: usize = 16;

/// See the module.
#[derive(Default)]
pub(crate) struct DeepStepWatch {
    is_looking: bool,
    budget: DeepBudget,
    processors: ProcessorReader,
    /// As told of the deep step before.
    last: CpuTime,
    bytes: Vec<u8>,
}

impl DeepStepWatch {
    /// Starts the thread that looks at others, once there are steps.
    pub(crate) fn start_looking(&mut self, recorder: &Arc<Recorder>) {
        let deep_steps = &recorder.deep_steps;
        if !self.is_looking && deep_steps.is_on() && deep_steps.has_begun() {
            self.is_looking = true;
            thread_looks::start(recorder);
        }
    }

    /// A step has ended; what is known of a deep one is added to its entries.
    pub(crate) fn see(&mut self, recorder: &Recorder, record: &SectionRecord, entries: &mut Vec<u8>) {
        let Some(root) = record.root.filter(|root| root.announces) else { return };
        if !recorder.deep_steps.is_on() || root.mode != Mode::Train {
            return;
        }
        let duration_ns = record.end_ns.saturating_sub(record.start_ns);
        self.budget.observe(duration_ns, root.is_deep);
        recorder.deep_steps.adjust(self.budget.usual_ns, self.budget.halvings);
        if root.is_deep {
            // Where nobody came to look in time, one look at least was due.
            let missed = || StepSamples {
                dropped: u64::from(recorder.deep_steps.are_looked_at()),
                ..StepSamples::default()
            };
            let seen = recorder.thread_samples.take(record.span_id).unwrap_or_else(missed);
            self.add(&seen, duration_ns, entries);
            recorder.thread_samples.give_back(seen.samples);
        }
    }

    fn add(&mut self, seen: &StepSamples, duration_ns: u64, entries: &mut Vec<u8>) {
        self.bytes.clear();
        // The end of the step is seen a little later than it comes.
        for sample in seen.samples.iter().filter(|sample| sample.after_ns <= duration_ns) {
            let words = [sample.thread, sample.after_ns, sample.state as u64, sample.address];
            words.iter().for_each(|word| self.bytes.extend_from_slice(&word.to_le_bytes()));
        }
        let mut put = |word: u64| entries.extend_from_slice(&word.to_le_bytes());
        if !self.bytes.is_empty() {
            Entry::Samples(&self.bytes).encode(&mut put);
        }
        let cpu_time = seen.cpu_time.unwrap_or_else(|| self.processors.read());
        let cpu_time = CpuTime {
            host_ns: in_order(self.last.host_ns, cpu_time.host_ns),
            process_ns: in_order(self.last.process_ns, cpu_time.process_ns),
        };
        self.last = cpu_time;
        let figures = [
            (attr::THREAD_SAMPLES_DROPPED, Some(seen.dropped).filter(|&dropped| dropped > 0)),
            (attr::HOST_CPU_NS, cpu_time.host_ns),
            (attr::PROCESS_CPU_NS, cpu_time.process_ns),
        ];
        for (key, figure) in figures {
            if let Some(value) = figure {
                Entry::Own(key, value.into()).encode(&mut put);
            }
        }
    }
}

/// A time that only grows, of steps in their order: of steps that are close together the later one may have been read first. Where
/// it is far behind, it is another one: that of other processors.
fn in_order(before_ns: Option<u64>, ns: Option<u64>) -> Option<u64> {
    let behind_ns = before_ns.unwrap_or(0).saturating_sub(ns?);
    if behind_ns < MAX_BEHIND_NS { before_ns.max(ns) } else { ns }
}

/// What deep steps take, and how rare they are to be for that. A deep step is compared with those right before and after it, so
/// that steps that become longer all the time make no difference.
#[derive(Debug, Default)]
struct DeepBudget {
    /// The last ones, in no order.
    ordinary: Vec<u64>,
    differences: Vec<i64>,
    seen: (usize, usize),
    before_ns: Option<u64>,
    /// A deep step whose successor has not come, and the step before it.
    waiting: Option<(u64, u64)>,
    usual_ns: u64,
    halvings: u32,
}

impl DeepBudget {
    fn observe(&mut self, duration_ns: u64, is_deep: bool) {
        if is_deep {
            self.waiting = self.before_ns.map(|before_ns| (before_ns, duration_ns));
            return;
        }
        if let Some((before_ns, deep_ns)) = self.waiting.take() {
            let around_ns = before_ns / 2 + duration_ns / 2;
            let difference = i64::try_from(deep_ns).unwrap_or(i64::MAX).saturating_sub_unsigned(around_ns);
            put(&mut self.differences, &mut self.seen.1, DIFFERENCES, difference);
        }
        self.before_ns = Some(duration_ns);
        put(&mut self.ordinary, &mut self.seen.0, ORDINARY, duration_ns);
        self.usual_ns = median(&self.ordinary).unwrap_or(0);
        if self.differences.len() >= MIN_DIFFERENCES {
            let more_ns = median(&self.differences).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
            self.halvings =
                (0..MAX_HALVINGS).find(|&halvings| self.has_room(more_ns, halvings)).unwrap_or(MAX_HALVINGS);
        }
    }

    /// Whether one step in so many may take so much more than the others.
    fn has_room(&self, more_ns: u64, halvings: u32) -> bool {
        u128::from(more_ns) * u128::from(BUDGET) <= u128::from(self.usual_ns) * u128::from(one_in(halvings))
    }
}

/// Puts a value in the place of the oldest of so many.
fn put<T>(last: &mut Vec<T>, seen: &mut usize, most: usize, value: T) {
    match last.get_mut(*seen % most) {
        Some(oldest) => *oldest = value,
        None => last.push(value),
    }
    *seen = seen.wrapping_add(1);
}

fn median<T: Copy + Ord>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    (!sorted.is_empty()).then(|| *sorted.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halvings after so many steps, every eighth of them deep and so much longer; steps become longer by 1 % each.
    fn halvings(more: impl Fn(u64) -> u64) -> u32 {
        let mut budget = DeepBudget::default();
        let mut usual_ns = 1_000_000_u64;
        for number in 0..200 {
            let is_deep = number % 8 == 4;
            budget.observe(if is_deep { usual_ns + more(usual_ns) } else { usual_ns }, is_deep);
            usual_ns += usual_ns / 100;
        }
        budget.halvings
    }

    #[test]
    fn deep_steps_become_rarer_until_they_take_a_thousandth() {
        assert_eq!(halvings(|_| 0), 0);
        // One in 64 may take 6.4 % more.
        assert_eq!(halvings(|usual_ns| usual_ns * 6 / 100), 0);
        assert_eq!(halvings(|usual_ns| usual_ns * 12 / 100), 1);
        assert_eq!(halvings(|usual_ns| usual_ns), 4);
        assert_eq!(halvings(|usual_ns| usual_ns * 1_000_000), MAX_HALVINGS);
    }

    #[test]
    fn times_of_steps_in_their_order_do_not_go_back() {
        assert_eq!(in_order(None, Some(5)), Some(5));
        assert_eq!(in_order(Some(7), Some(5)), Some(7));
        assert_eq!(in_order(Some(2 * MAX_BEHIND_NS), Some(5)), Some(5));
        assert_eq!(in_order(Some(7), None), None);
    }

    #[test]
    fn one_that_took_long_for_another_reason_makes_no_difference() {
        let mut budget = DeepBudget::default();
        for number in 0..100_u64 {
            let is_deep = number % 10 == 5;
            budget.observe(if number == 25 { 1_000_000 } else { 1_000 + number % 3 }, is_deep);
        }
        assert_eq!((budget.halvings, budget.usual_ns), (0, 1_001));
    }
}
