//! The thread that looks at the others during deep steps: what each one with sections does, some fifty times a step. It is parked
//! otherwise, records nothing and is looked at by nobody; no thread of the program ever waits for it.

use std::sync::Arc;
use std::time::Duration;

use crate::hot::deep_steps::UnderWay;
use crate::hot::recorder::Recorder;
use crate::os::clock::now_ns;
use crate::os::processors::ProcessorReader;
use crate::os::thread_state::{WatchedThread, is_told};
use crate::shared::thread_samples::{MAX_SAMPLES, Sample, StepSamples};
use crate::worker::own_thread;

/// Name of the thread.
const THREAD_NAME: &str = "stepscope-look";

/// Threads that are looked at, at most.
const MAX_THREADS: usize = 64;

/// Looks at a thread come so many times in a usual step…
const LOOKS: u64 = 50;
/// …and this far from each other at least.
const MIN_INTERVAL_NS: u64 = 100_000;
/// A step that turns out longer has half of so many rounds at least.
const MAX_ROUNDS: u32 = 128;

/// The thread rests for so many times what a round takes.
const REST: u64 = 8;

struct Looker {
    recorder: Arc<Recorder>,
    threads: Vec<WatchedThread>,
    /// The threads that had begun to record when these were chosen, and how many of them are not looked at.
    begun: u64,
    others: u64,
    ids: Vec<u64>,
    round: Vec<Sample>,
    processors: ProcessorReader,
    is_told: bool,
}

/// Starts the thread; where there is none to be had, deep steps have no samples.
pub(crate) fn start(recorder: &Arc<Recorder>) {
    let looker = Looker {
        recorder: Arc::clone(recorder),
        threads: Vec::with_capacity(MAX_THREADS),
        begun: 0,
        others: 0,
        ids: Vec::with_capacity(MAX_THREADS),
        round: Vec::with_capacity(MAX_THREADS),
        processors: ProcessorReader::default(),
        is_told: false,
    };
    if let Ok(thread) = own_thread::spawn(THREAD_NAME, move || looker.run()) {
        recorder.deep_steps.set_looker(thread);
    }
}

impl Looker {
    fn run(mut self) {
        self.is_told = is_told();
        let recorder = Arc::clone(&self.recorder);
        let mut last = 0;
        while !recorder.deep_steps.is_over() {
            match recorder.deep_steps.under_way().filter(|step| step.span_id != last) {
                Some(step) => {
                    last = step.span_id;
                    self.follow(step);
                }
                None => std::thread::park(),
            }
        }
    }

    /// Looks at the threads until a step has ended.
    fn follow(&mut self, step: UnderWay) {
        let recorder = Arc::clone(&self.recorder);
        let (deep_steps, samples) = (&recorder.deep_steps, &recorder.thread_samples);
        let is_under_way = || deep_steps.is_it(step.span_id) && !deep_steps.is_over();
        samples.begin(step.span_id);
        let mut interval_ns = (deep_steps.usual_ns() / LOOKS).max(MIN_INTERVAL_NS);
        // Steps are alike: looks that always come at the same place of one see nothing of the others.
        let mut next_ns =
            step.start_ns.saturating_add(stepscope_core::identity::mix(step.span_id) % interval_ns);
        // Every round has a number; of those of a long step every second, fourth, … is left.
        let (mut number, mut stride, mut is_wanted) = (0_u32, 1_u32, true);
        self.begun = 0;
        while is_wanted && is_under_way() {
            let begun_ns = now_ns();
            if begun_ns < next_ns {
                std::thread::park_timeout(Duration::from_nanos(next_ns - begun_ns));
                continue;
            }
            let dropped = if self.is_told { self.look(step, number) } else { 0 };
            let (round, mut is_full) = (&self.round, false);
            is_wanted = samples.change(step.span_id, |seen| {
                seen.dropped += dropped;
                seen.samples.extend_from_slice(round);
                is_full = number / stride >= MAX_ROUNDS || seen.samples.len() + MAX_THREADS > MAX_SAMPLES;
                if is_full {
                    keep_one_in(seen, 2 * stride);
                }
            });
            if is_full {
                stride = stride.saturating_mul(2);
                interval_ns = interval_ns.saturating_mul(2);
            }
            number = (number / stride).saturating_add(1).saturating_mul(stride);
            let now_ns = now_ns();
            interval_ns = interval_ns.max(now_ns.saturating_sub(begun_ns).saturating_mul(REST));
            next_ns = next_ns.saturating_add(interval_ns);
            if next_ns <= now_ns {
                next_ns = now_ns.saturating_add(interval_ns);
            }
        }
        let cpu_time = self.processors.read();
        samples.change(step.span_id, |seen| seen.cpu_time = Some(cpu_time));
    }

    /// Looks at each thread once; returns at how many it could not.
    fn look(&mut self, step: UnderWay, number: u32) -> u64 {
        self.choose(step.thread);
        self.round.clear();
        let mut dropped = self.others;
        let Self { threads, round, .. } = self;
        threads.retain_mut(|watched| {
            let Some((state, address)) = watched.look() else {
                dropped += 1;
                return false;
            };
            let after_ns = now_ns().saturating_sub(step.start_ns);
            round.push(Sample { round: number, thread: watched.id, after_ns, state, address });
            true
        });
        dropped
    }

    /// Chooses the threads to look at, where others have begun to record: the one of the step, and the latest.
    fn choose(&mut self, first: u64) {
        let registry = &self.recorder.thread_registry;
        let begun = registry.begun();
        if begun == self.begun {
            return;
        }
        let is_new_step = std::mem::replace(&mut self.begun, begun) == 0;
        let beyond = registry.latest(&mut self.ids, MAX_THREADS);
        if let Some(position) = self.ids.iter().position(|&id| id == first) {
            self.ids.swap(0, position);
        } else {
            // It is there, and not among the latest.
            self.ids.insert(0, first);
            self.ids.truncate(MAX_THREADS);
        }
        let Self { ids, threads, .. } = self;
        if is_new_step {
            threads.retain(|watched| ids.contains(&watched.id));
        }
        let lasting = ids.len() as u64 + beyond;
        for &id in &*ids {
            // Those that are looked at in a step are until its end.
            if threads.len() < MAX_THREADS && threads.iter().all(|watched| watched.id != id) {
                threads.push(WatchedThread::new(id));
            }
        }
        self.others = lasting.saturating_sub(threads.len() as u64);
    }
}

/// Keeps one round in so many.
fn keep_one_in(seen: &mut StepSamples, stride: u32) {
    seen.samples.retain(|sample| sample.round.is_multiple_of(stride));
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_core::ThreadState;

    #[test]
    fn of_a_long_step_every_second_round_goes() {
        let sample =
            |round, thread| Sample { round, thread, after_ns: 0, state: ThreadState::Running, address: 0 };
        let rounds = (0..7).flat_map(|round| [sample(round, 1), sample(round, 2)]);
        let mut seen = StepSamples { samples: rounds.collect(), ..StepSamples::default() };
        keep_one_in(&mut seen, 2);
        let left: Vec<u32> = seen.samples.iter().map(|sample| sample.round).collect();
        assert_eq!(left, [0, 0, 2, 2, 4, 4, 6, 6]);
    }
}
