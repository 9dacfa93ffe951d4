//! What an analysis knows about one run: plain figures, sorted, free of judgement. Made by
//! [`crate::Partial::finish`]; rules, reports and renderers read nothing else. How the figures are computed
//! is in the modules that fold; what they mean for the user is the rules' business.

pub use crate::accumulate::stats::Stats;
pub(crate) use crate::changepoints::summary::is_input_told;
pub use crate::changepoints::summary::{ChangeCause, ChangeKind, ChangeSection, StepChange};
pub(crate) use crate::changepoints::summary::{EXPLAINED_SHARE, stands_out};
pub use crate::critical_path::summary::{CriticalPath, CriticalSection, ThroughBatches, WaitParts};
pub use crate::exemplars::summary::{
    Example, ExampleBatch, ExamplePiece, ExampleRole, ExampleRun, ExampleSpan, Lane,
};
pub use crate::live_memory::summary::{
    AllocatedLine, AllocatedRow, LiveAge, LiveAt, LiveBetween, LiveBirths, LiveChange, LiveFrame, LiveLine,
    LiveMemory, LiveModule, LiveMoment, LivePeak, LiveRow, LiveSection, SourceLine, SymbolState,
};
pub use crate::loaders::summary::{
    AfterWarmup, BatchSummary, BetweenStepsRow, InputFigures, LoaderRow, LoaderStall, SlowestProcess,
    UnderDemand, WaitSummary, WaitedBy, WorkerRow,
};
pub use crate::memory::summary::{
    CourseVerdict, MemoryCourse, MemoryFall, MemorySummary, ProcessMemory, RetainedFigures, RetainedPoint,
    RetainedSection, RetainedSeries, Trend, TrendPair,
};
pub use crate::metrics::summary::{
    FigureRow, GpuFigures, Gpus, HostFigures, Hosts, MetricsSummary, NotJoined, ProcessFigures, Stretch,
};
pub use crate::phases::summary::{PhaseName, PhaseRow, PhaseSource, PhaseSum};
pub use crate::run::coverage::{Coverage, Shortfall};
pub use crate::run::summary::{InstanceRow, Limit, LossRow, Losses, OtherRun, RunIdentity, RunState};
pub use crate::sections::summary::{
    FigureSource, FigureSum, InSteps, SectionMemory, SectionResident, SectionRow,
};
pub use crate::steps::distribution::DurationBucket;
pub use crate::steps::few_steps::FewSteps;
pub use crate::steps::periodicity::summary::{PeriodCause, PeriodicSteps, StepPeriod};
pub use crate::steps::series::{
    Gauge, PhasePoint, PhaseSeries, PhaseTime, SeriesPoint, StepSeries, ValuePoint, ValueSeries,
};
pub use crate::steps::summary::{
    ModeSummary, SlowStep, StepGap, StepNumbers, StepPhase, Throughput, Warmup, WholeSteps,
};

pub use crate::threads::summary::{
    ModeThreads, Processors, SectionThreads, StateLooks, StepUseRow, ThreadLine, ThreadShares,
    ThreadTimeline, Threads, TimedSection, TimedState,
};

use std::collections::BTreeMap;

use serde::Serialize;
use stepscope_core::{LossReason, Mode};

/// Everything about one run. Lists are sorted by what their field says, ties by id, so that the same set of
/// spans gives the same summary.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Whether there was a run to summarise (with a selection: whether that run is there). Everything else is
    /// empty where not, but for `other_runs`.
    pub found: bool,
    /// Which run this is.
    pub run: RunIdentity,
    /// How far it came and what of it was read.
    pub state: RunState,
    /// The other runs of the input, by (id, attempt).
    pub other_runs: Vec<OtherRun>,
    /// Bounds that were reached, so that figures are coarser or missing.
    pub limits: Vec<Limit>,
    /// Losses that the processes themselves counted.
    pub losses: Losses,
    /// How much of the steps was read.
    pub coverage: Coverage,
    /// Process instances by (rank, resource): the table of ranks.
    pub instances: Vec<InstanceRow>,
    /// Steps by mode: train, eval, inference; modes without steps are left out.
    pub modes: Vec<ModeSummary>,
    /// How sure shares are, by mode as `modes`: of those with few steps.
    pub few_steps: Vec<FewSteps>,
    /// What goes into input; about [`Self::primary`].
    pub input: InputFigures,
    /// What driving threads did between steps, by phase of the outermost section; longest total first.
    pub between_steps: Vec<BetweenStepsRow>,
    /// What outermost sections took on driving threads before the steady steps, after the last one and beside them, by
    /// path: it is in `sections`, and not in `outside`.
    pub not_between_steps_ns: BTreeMap<String, u64>,
    /// Batches that loaders made.
    pub batches: BatchSummary,
    /// Waits for batches, of the threads that drive steps.
    pub waits: WaitSummary,
    /// What held up the end of the steps; absent where no step was read whole.
    pub critical_path: Option<CriticalPath>,
    /// Sections by path.
    pub sections: Vec<SectionRow>,
    /// Indices into `sections`: largest self time first, at most 20; sections that are parts of steps or
    /// stand between them (no runs, epochs, steps or batches).
    pub slowest: Vec<usize>,
    /// Indices into `sections`: most variable durations first, at most 20, of sections with at least
    /// [`crate::Config::min_calls`] calls: by robust coefficient of variation, then by the ordinary one.
    pub most_variable: Vec<usize>,
    /// Memory over steps.
    pub memory: MemorySummary,
    /// Live memory by section and line, by sample; absent where none was taken.
    pub live_memory: Option<LiveMemory>,
    /// What machines, GPUs and processes did while steps ran.
    pub metrics: MetricsSummary,
    /// Figures over step numbers, by mode as `modes`.
    pub series: Vec<StepSeries>,
    /// Where step times change, by (mode, step).
    pub changes: Vec<StepChange>,
    /// Steps that take longer every so often, by mode; none where no period was found.
    pub periodic: Vec<PeriodicSteps>,
    /// Exposed time by phase over step numbers, by mode as `modes`.
    pub phase_series: Vec<PhaseSeries>,
    /// Steps kept with their spans, by mode as `modes`: the first, the median, the slowest.
    pub exemplars: Vec<Example>,
    /// What threads did while steps ran.
    pub threads: Threads,
    /// The user's own values over step numbers, by name.
    pub values: Vec<ValueSeries>,
}

impl Summary {
    /// The mode that verdicts are about: training where there are training steps, else the mode with most
    /// steps.
    #[must_use]
    pub fn primary(&self) -> Option<&ModeSummary> {
        self.mode(Mode::Train)
            .or_else(|| self.modes.iter().max_by_key(|mode| (mode.all.count, std::cmp::Reverse(mode.mode))))
    }

    /// Spans that were lost and that this input lacks, those left out on purpose apart.
    #[must_use]
    pub fn lost_spans(&self) -> u64 {
        let (state, losses) = (&self.state, &self.losses);
        let is_on_purpose = |reason: Option<LossReason>| reason.is_some_and(LossReason::is_on_purpose);
        let left_out = losses.lacking(is_on_purpose);
        let counted = losses.lacking(|reason| !is_on_purpose(reason));
        let absent = losses.absent.map_or(counted, |absent| absent.saturating_sub(left_out));
        // What roots miss is mostly what processes dropped: the largest figure, never the sum.
        counted.min(absent).max(state.missing_spans).max(state.dropped_spans.saturating_sub(left_out))
    }

    /// The steps of one mode.
    #[must_use]
    pub fn mode(&self, mode: Mode) -> Option<&ModeSummary> {
        self.modes.iter().find(|row| row.mode == mode)
    }

    /// The series of one mode.
    #[must_use]
    pub fn series_of(&self, mode: Mode) -> Option<&StepSeries> {
        self.series.iter().find(|series| series.mode == mode)
    }

    /// The section of a path, written as `stepscope_core::path::join` writes it.
    #[must_use]
    pub fn section(&self, path: &str) -> Option<&SectionRow> {
        let at = self.sections.binary_search_by(|row| row.path.as_str().cmp(path)).ok()?;
        self.sections.get(at)
    }
}
