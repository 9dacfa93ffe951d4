//! What a generated run looks like.

/// Shape of a generated run. Shares are in thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForestOptions {
    /// Everything random follows from it.
    pub seed: u64,
    /// Identity of the run.
    pub run_id: String,
    /// How often the run was started before.
    pub attempt: u64,
    /// Processes of the run.
    pub ranks: u32,
    /// Training steps of each rank.
    pub steps: u64,
    /// Sections of a training step's trace, the step itself included; a trace with a deep recursion or a
    /// checkpoint has more.
    pub spans_per_step: u32,
    /// Nesting below the step, at least 1.
    pub depth: u32,
    /// Groups of sections that overlap because they are asynchronous.
    pub async_per_mille: u32,
    /// Sections called like their parent.
    pub recursion_per_mille: u32,
    /// Groups of sections that run on threads of their own.
    pub threads_per_mille: u32,
    /// Sections on threads of their own that outlive their parent.
    pub overflow_per_mille: u32,
    /// Whether batches are made in traces of their own and waited for (4 further sections a step).
    pub batches: bool,
    /// Whether sections carry allocations.
    pub memory: bool,
    /// Whether sections carry phases.
    pub phases: bool,
    /// Whether the cumulative sums are written.
    pub metrics: bool,
    /// Training steps an epoch; 0 for no epochs.
    pub steps_per_epoch: u64,
    /// An evaluation step after every so many training steps; 0 for none.
    pub eval_every: u64,
    /// A checkpoint in every so manieth step; 0 for none.
    pub checkpoint_every: u64,
    /// A recursion of 80 levels in every so manieth step; 0 for none.
    pub deep_every: u64,
    /// Whether the run came to its end: without, the run's and the last epoch's section are missing.
    pub ended: bool,
    /// A step takes about so long.
    pub step_ns: u64,
    /// When the run starts.
    pub start_unix_ns: u64,
    /// Spans a message.
    pub spans_per_message: u32,
}

impl Default for ForestOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            run_id: "generated".into(),
            attempt: 0,
            ranks: 1,
            steps: 100,
            spans_per_step: 14,
            depth: 4,
            async_per_mille: 150,
            recursion_per_mille: 50,
            threads_per_mille: 100,
            overflow_per_mille: 100,
            batches: true,
            memory: true,
            phases: true,
            metrics: true,
            steps_per_epoch: 50,
            eval_every: 10,
            checkpoint_every: 25,
            deep_every: 40,
            ended: true,
            step_ns: 3_000_000,
            start_unix_ns: 1_760_000_000_000_000_000,
            spans_per_message: 500,
        }
    }
}
