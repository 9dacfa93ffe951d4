//! What threads were seen doing during the last deep steps, until the background thread takes it. The program's own threads have
//! nothing to do with it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use stepscope_core::ThreadState;

use crate::os::processors::CpuTime;
use crate::shared::lock::lock;

/// Samples of a step at most.
pub(crate) const MAX_SAMPLES: usize = 4_096;

/// Deep steps whose samples are kept until somebody takes them.
const MAX_STEPS: usize = 8;

/// What one look at a thread saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The number of the look at all threads that it is a part of.
    pub round: u32,
    /// The system's id of the thread.
    pub thread: u64,
    /// Since the step began.
    pub after_ns: u64,
    pub state: ThreadState,
    /// Of the futex that it waits for, else 0.
    pub address: u64,
}

/// What was seen during one step.
#[derive(Debug, Default)]
pub(crate) struct StepSamples {
    /// Of the step's span.
    pub span_id: u64,
    /// In the order of time, whole rounds.
    pub samples: Vec<Sample>,
    /// Looks that saw nothing.
    pub dropped: u64,
    /// As it was at the end.
    pub cpu_time: Option<CpuTime>,
}

#[derive(Debug, Default)]
struct Inner {
    steps: VecDeque<StepSamples>,
    /// Room for another step.
    spare: Vec<Sample>,
    /// Steps of which nobody took what was seen.
    untaken: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ThreadSamples(Mutex<Inner>);

impl ThreadSamples {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }

    /// A step is looked at from now on.
    pub(crate) fn begin(&self, span_id: u64) {
        let mut inner = self.lock();
        if inner.steps.len() >= MAX_STEPS
            && let Some(oldest) = inner.steps.pop_front()
        {
            inner.untaken += 1;
            inner.spare = oldest.samples;
        }
        let mut samples = std::mem::take(&mut inner.spare);
        samples.clear();
        samples.reserve(MAX_SAMPLES);
        inner.steps.push_back(StepSamples { span_id, samples, ..StepSamples::default() });
    }

    /// Does `change` to what was seen of the step that was begun last; `false` where that was taken already.
    pub(crate) fn change(&self, span_id: u64, change: impl FnOnce(&mut StepSamples)) -> bool {
        let mut inner = self.lock();
        let step = inner.steps.back_mut().filter(|step| step.span_id == span_id);
        step.map(change).is_some()
    }

    /// Takes what was seen of a step; of those before it nothing is asked for any more.
    pub(crate) fn take(&self, span_id: u64) -> Option<StepSamples> {
        let mut inner = self.lock();
        let position = inner.steps.iter().position(|step| step.span_id == span_id)?;
        inner.steps.remove(position)
    }

    /// Gives the room back of what was taken.
    pub(crate) fn give_back(&self, samples: Vec<Sample>) {
        self.lock().spare = samples;
    }

    /// Steps of which nobody took what was seen.
    #[cfg(test)]
    fn untaken(&self) -> u64 {
        self.lock().untaken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_of_a_step_is_taken_once_and_that_of_the_last_ones_is_kept() {
        let all = ThreadSamples::default();
        let sample = Sample { round: 0, thread: 1, after_ns: 2, state: ThreadState::Futex, address: 3 };
        for span_id in 1..=10 {
            all.begin(span_id);
            assert!(all.change(span_id, |step| step.samples.push(sample)));
        }
        assert_eq!(all.untaken(), 2);
        assert!(all.take(2).is_none());
        let taken = all.take(10).unwrap();
        assert_eq!((taken.span_id, taken.samples), (10, vec![sample]));
        assert!(!all.change(10, |_| ()) && all.take(10).is_none());
        assert!(all.take(3).is_some());
    }
}
