//! The traces of a training loop: training steps, evaluation steps, batches. What is below their first level
//! is grown at random.

use stepscope_core::{Mode, Phase, SectionKind};

use super::grow::Grower;
use super::plan::{Batch, Plan, Section};

/// The thread of the training loop.
pub(super) const MAIN_THREAD: u64 = 100;

/// First of the loaders' threads.
pub(super) const LOADER_THREADS: u64 = 200;

/// Samples of a batch.
const BATCH_SAMPLES: u64 = 32;

/// Steps after which the generated process holds this much more.
const LIVE_BYTES: u64 = 64 << 20;

/// The part of a section's time that lies between two shares of a thousand.
fn part(start_ns: u64, end_ns: u64, from: u64, to: u64) -> (u64, u64) {
    let at = |share: u64| start_ns + ((u128::from(end_ns - start_ns) * u128::from(share)) / 1_000) as u64;
    (at(from), at(to))
}

/// Which step, and what surrounds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepAt {
    pub number: u64,
    pub epoch: Option<u64>,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Until when the step waited for its batch.
    pub wait_end_ns: u64,
    pub batch: Option<Batch>,
    pub has_checkpoint: bool,
    pub is_deep: bool,
}

impl Grower<'_> {
    /// Plans a training step of `spans_per_step` sections.
    pub(super) fn training_step(&mut self, at: &StepAt) {
        let root = self.root("train_step", SectionKind::Step, at.start_ns, at.end_ns, MAIN_THREAD);
        self.plan.sections[root].samples = Some(BATCH_SAMPLES);
        self.describe(at, Mode::Train);
        if let Some(batch) = at.batch {
            let wait = self.push_phase("wait_batch", Phase::DataWait, root, (at.start_ns, at.wait_end_ns));
            self.plan.sections[wait].waited_for = Some(batch);
        }
        if at.has_checkpoint {
            let ends = part(at.wait_end_ns, at.end_ns, 900, 990);
            self.push_phase("save_checkpoint", Phase::Checkpoint, root, ends);
        }
        if at.is_deep {
            let ends = part(at.wait_end_ns, at.end_ns, 860, 890);
            let index = self.push("search", root, MAIN_THREAD, ends.0, ends.1);
            self.recurse(index);
        }
        let parts: [(&str, Option<Phase>, u64, u64); 5] = [
            ("forward", Some(Phase::Forward), 20, 330),
            ("backward", Some(Phase::Backward), 330, 700),
            ("optimizer", Some(Phase::Optimizer), 710, 800),
            ("host_to_device", Some(Phase::HostToDevice), 0, 15),
            ("log_metrics", None, 810, 850),
        ];
        let mut rest = self.options.spans_per_step.saturating_sub(1);
        let used = parts.len().min(rest as usize);
        rest -= used as u32;
        for (position, &(name, phase, from, to)) in parts.iter().take(used).enumerate() {
            let ends = part(at.wait_end_ns, at.end_ns, from, to);
            let index = match phase {
                Some(phase) => self.push_phase(name, phase, root, ends),
                None => self.push(name, root, MAIN_THREAD, ends.0, ends.1),
            };
            let share = if position + 1 == used {
                rest
            } else {
                self.random.within(u64::from(rest) / 4, u64::from(rest)) as u32
            };
            rest -= share;
            self.grow(index, share, 1);
        }
        self.plan.complete();
    }

    /// Plans an evaluation step.
    pub(super) fn evaluation_step(&mut self, at: &StepAt) {
        let root = self.root("eval_step", SectionKind::Step, at.start_ns, at.end_ns, MAIN_THREAD);
        self.plan.sections[root].samples = Some(BATCH_SAMPLES * 2);
        self.describe(at, Mode::Eval);
        let ends = part(at.start_ns, at.end_ns, 50, 900);
        let index = self.push_phase("evaluate", Phase::Evaluation, root, ends);
        self.grow(index, 2, 1);
        self.plan.complete();
    }

    /// Plans the production of a batch: its trace's three sections.
    pub(super) fn batch(&mut self, batch: &Batch, start_ns: u64, end_ns: u64) {
        let root = self.root("produce_batch", SectionKind::Batch, start_ns, end_ns, batch.worker);
        self.plan.sections[root].made = Some(*batch);
        self.plan.sections[root].phase = self.options.phases.then_some(Phase::DataLoading);
        let ends = part(start_ns, end_ns, 10, 400);
        self.push("read_samples", root, batch.worker, ends.0, ends.1);
        let ends = part(start_ns, end_ns, 400, 950);
        self.push_phase("augment", Phase::Augmentation, root, ends);
        self.plan.complete();
    }

    fn root(
        &mut self,
        name: &'static str,
        kind: SectionKind,
        start_ns: u64,
        end_ns: u64,
        thread: u64,
    ) -> usize {
        self.plan.clear();
        let mut root = Section::new(name, None, thread, start_ns, end_ns);
        root.kind = kind;
        root.own = self.memory();
        self.plan.push(root)
    }

    fn describe(&mut self, at: &StepAt, mode: Mode) {
        let loss = 2.0 / (1.0 + at.number as f64 / 100.0);
        let noise = self.random.below(1 << 20);
        let Plan { root, .. } = &mut *self.plan;
        root.step = Some(at.number);
        root.epoch = at.epoch;
        root.mode = Some(mode);
        if mode == Mode::Train {
            root.loss = Some(loss);
        }
        if self.options.memory {
            root.live_bytes = Some(LIVE_BYTES + noise);
            root.rss_bytes = Some(2 * LIVE_BYTES + noise);
        }
    }
}
