//! The report: everything that is said about a run, as one versioned value that renderers turn into text or
//! JSON. `schema/report.schema.json` describes its JSON form and a test holds both together. Nothing here
//! reads input, a clock or the environment: the same spans give the same bytes.

mod build;
pub(crate) mod coverage;
pub(crate) mod finding;
pub(crate) mod names;
#[cfg(feature = "schema")]
pub mod schema;
pub mod units;
mod verdict;

use std::collections::BTreeSet;

use serde::Serialize;
use stepscope_core::SectionKind;
use stepscope_model::{IssueKind, ReadIssue};

pub use crate::loaders::{InputShare, InputVerdict};
pub use crate::memory::{Leak, LeakVerdict};
use crate::summary::{
    BatchSummary, BetweenStepsRow, Coverage, CriticalPath, Example, Gpus, Hosts, InstanceRow, Limit,
    LiveMemory, MemoryCourse, ModeSummary, OtherRun, PeriodicSteps, PhaseRow, PhaseSeries, PhaseSum,
    ProcessMemory, RetainedSeries, SectionRow, Stats, StepChange, StepSeries, Threads, Throughput, TrendPair,
    ValueSeries, WaitSummary,
};
pub use build::build;
pub use finding::{
    Evidence, Finding, FindingType, Gain, GainMethod, Note, TimeBase, Verdict, rounded, severity,
};

/// Version of the JSON form: raised when a field changes its meaning or goes away, not when one is added.
pub const SCHEMA_VERSION: u32 = 2;

/// The schema of the JSON form (JSON Schema, draft 2020-12).
pub const SCHEMA: &str = include_str!("../../schema/report.schema.json");

/// A file or stream that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// Path as found, or `-` for standard input.
    pub path: String,
    /// Format, as the reader names it; absent where it was not recognised.
    pub format: Option<String>,
    /// Size as stored.
    pub bytes: u64,
    /// Spans in it, repeated ones too.
    pub spans: u64,
}

/// What a reader has to say about the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// What was read.
    pub inputs: Vec<Input>,
    /// What was wrong with it.
    pub issues: Vec<ReadIssue>,
}

/// A report. Fields that do not apply are null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA_VERSION)))]
    pub schema_version: u32,
    /// Who made it.
    pub tool: Tool,
    /// What was read, by path.
    pub inputs: Vec<Input>,
    /// What was wrong with it, by (file, kind).
    pub read_issues: Vec<ReadIssue>,
    /// What was recorded and did not arrive.
    pub losses: Losses,
    /// Which run it is about.
    pub run: Run,
    /// The verdict and the figures it rests on.
    pub summary: Overview,
    /// Sections by path.
    pub sections: Vec<SectionRow>,
    /// What held up the end of the steps; null where no step was read whole.
    pub critical_path: Option<CriticalPath>,
    /// Steps with their spans: the first, the median, the slowest of each mode.
    pub exemplars: Vec<Example>,
    /// Findings by severity, direct share of their gain, id.
    pub findings: Vec<FindingRow>,
    /// What is worth knowing and not a finding.
    pub notes: Vec<Note>,
    /// Memory that grows.
    pub leaks: Vec<Leak>,
    /// Memory over the steps; null where nothing is known about it.
    pub memory: Option<Memory>,
    /// What the run's machines did while its steps ran; null where nobody measured it.
    pub host: Option<Hosts>,
    /// What its GPUs did; null where nobody measured it.
    pub gpu: Option<Gpus>,
    /// The processes of the run, by (rank, resource).
    pub ranks: Vec<InstanceRow>,
    /// Not computed yet: null.
    pub comparison: Option<()>,
    /// What threads did while steps ran.
    pub threads: Threads,
    /// Everything else.
    pub detailed_metrics: Details,
}

/// Part of a file from which on what was not read of it makes figures doubtful.
const MUCH_LOST: f64 = 0.01;

/// Files of whose content some may be wrong: compressed ones that are damaged, although something of them was read, and traces of
/// profilers that are cut off or lack a part: their events have no order, so that any step may lack some.
pub(crate) fn doubtful_files<'a>(issues: &'a [ReadIssue], inputs: &[Input]) -> BTreeSet<&'a str> {
    let profile_bytes = |issue: &ReadIssue| {
        let input = inputs.iter().find(|input| input.path == issue.file)?;
        input.format.as_deref()?.starts_with(stepscope_model::CHROME).then_some(input.bytes)
    };
    let is_doubtful = |issue: &&ReadIssue| match issue.kind {
        IssueKind::BadCompression => issue.offset.is_none_or(|at| at > 0),
        IssueKind::Truncated => issue.offset.is_some() && profile_bytes(issue).is_some(),
        IssueKind::Corrupt => profile_bytes(issue)
            .zip(issue.lost_bytes)
            .is_some_and(|(all, lost)| lost as f64 >= MUCH_LOST * all as f64),
        _ => false,
    };
    issues.iter().filter(is_doubtful).map(|issue| issue.file.as_str()).collect()
}

impl Report {
    /// Whether there is a run at all; the input need not say what it is called.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.run.id.is_some() || self.run.spans > 0 || !self.sections.is_empty()
    }

    /// Whether there were steps, be it that none was read.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.summary.mode.is_some() || self.sections.iter().any(|row| row.kind == SectionKind::Step)
    }

    /// What the run is called; one without a name is told from none.
    #[must_use]
    pub fn run_name(&self) -> &str {
        let without = if self.has_run() { "a run without a name" } else { "no run" };
        self.run.id.as_deref().unwrap_or(without)
    }

    /// The highest severity of its findings.
    #[must_use]
    pub fn max_severity(&self) -> Option<f64> {
        self.findings.iter().map(|row| row.severity).max_by(f64::total_cmp)
    }
}

/// Who made a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// `stepscope`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// Spans that did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Losses {
    /// Spans that ended and were meant to be exported; null where no process said so.
    pub emitted: Option<u64>,
    /// Spans taken for good, by sink.
    pub exported: Vec<Exported>,
    /// Spans lost, by sink and reason.
    pub dropped: Vec<Dropped>,
    /// Spans lost for any reason on the way to any sink.
    pub dropped_total: u64,
    /// Spans lost that this input lacks, those thinned out on purpose apart.
    pub lost: u64,
    /// Spans that ended and are not among those read, for whatever reason; null where no process counted.
    pub absent: Option<u64>,
    /// Traces that were not complete.
    pub incomplete_traces: u64,
    /// Spans that were announced and are not there.
    pub missing_spans: u64,
    /// Sections read that are in no row of `sections`: what was around them was not read (still open when the run was
    /// killed, or lost) and could be one of several.
    pub unplaced: u64,
}

/// Spans taken by a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exported {
    /// `directory` or `otlp`.
    pub sink: String,
    /// How many.
    pub spans: u64,
}

/// Spans lost for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dropped {
    /// Sink; null where lost before any.
    pub sink: Option<String>,
    /// Why, as the vocabulary names it; null where it is not one of its reasons.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<crate::schema::Word<stepscope_core::LossReason>>")
    )]
    pub reason: Option<&'static str>,
    /// How many.
    pub spans: u64,
    /// What to do about it.
    pub advice: Option<&'static str>,
    /// Whether the input lacks them. What one sink lost, another may have kept.
    pub is_missing_here: bool,
}

/// The run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Its id; the service's name where the input names no run; null where there is no run.
    pub id: Option<String>,
    /// How often it was started before.
    pub attempt: i64,
    /// Whether the input names no run.
    pub is_foreign: bool,
    /// Name of the program.
    pub service: Option<String>,
    /// Host of the first rank.
    pub host: Option<String>,
    /// Every host, by name.
    pub hosts: Vec<String>,
    /// Processes that were read.
    pub ranks: u64,
    /// Ranks as the run announced them.
    pub world_size: Option<i64>,
    /// Recording level.
    pub level: Option<String>,
    /// Start of the first span, nanoseconds since the Unix epoch.
    pub started_ns: Option<u64>,
    /// End of the last span.
    pub last_ns: Option<u64>,
    /// The time between both.
    pub elapsed_ns: Option<u64>,
    /// Whether every process finished cleanly; null where the input does not say.
    pub ended: Option<bool>,
    /// The signal that ended a process, `SIGINT` or `SIGTERM`; null where none did, and where the input does not say.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Word<stepscope_core::Signal>>"))]
    pub ended_by: Option<&'static str>,
    /// Epochs begun.
    pub epochs_started: u64,
    /// Epochs ended.
    pub epochs_ended: u64,
    /// Traces read.
    pub traces: u64,
    /// Spans read.
    pub spans: u64,
    /// Spans with an error.
    pub errors: u64,
    /// Other runs of the same input.
    pub other_runs: Vec<OtherRun>,
}

impl Overview {
    /// Share of the time of the whole steps that no phase covers.
    #[must_use]
    pub fn unattributed_share(&self) -> f64 {
        self.unattributed_ns as f64 / self.whole.total_ns.max(1) as f64
    }
}

/// The verdict and its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overview {
    /// One sentence.
    pub verdict: String,
    /// Whether the run waits for its input.
    pub input: InputShare,
    /// Mode of the steps below: train where there are such steps; null without steps.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Word<stepscope_core::Mode>>"))]
    pub mode: Option<&'static str>,
    /// Steps after warm-up.
    pub steps: u64,
    /// Half of the 95 % confidence interval of shares of these steps, that of the least certain phase; null from 20 steps on, and of
    /// one step, which says nothing of others.
    pub share_error: Option<f64>,
    /// Steps left out as warm-up.
    pub warmup_steps: u64,
    /// Duration of the steps after warm-up; null without steps.
    pub step_time: Option<Stats>,
    /// Work done by the steps read.
    pub throughput: Throughput,
    /// How much of the steps of all modes was read.
    pub coverage: Coverage,
    /// Steps after warm-up whose every span was read: what `phases` and `unattributed_ns` partition.
    pub whole: crate::summary::WholeSteps,
    /// Time of the whole steps by phase, longest exposed first.
    pub phases: Vec<PhaseRow>,
    /// Time of the whole steps that no phase covers.
    pub unattributed_ns: u64,
    /// Time of all recorded steps by phase, where the sums of sections tell it rather than the steps read, as
    /// `input.source` says; otherwise empty.
    pub phase_sums: Vec<PhaseSum>,
    /// Time of the steps.
    pub steps_ns: u64,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingRow {
    /// Identity within the report, stable over runs: the rule and what it is about.
    pub id: String,
    /// The rule that found it.
    pub rule: &'static str,
    /// What it is about.
    pub r#type: FindingType,
    /// 0 to 100.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 100.0)))]
    pub severity: f64,
    /// One sentence.
    pub title: String,
    /// Section.
    pub section: Option<String>,
    /// Phase.
    pub phase: Option<String>,
    /// Rank.
    pub rank: Option<i64>,
    /// The figures that led to it.
    pub evidence: Evidence,
    /// What to do.
    pub recommendation: String,
    /// What doing it can bring.
    pub predicted_gain: Option<Gain>,
}

/// Memory over the steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Bytes allocated and not freed, by the counting allocator.
    pub live: Option<TrendPair>,
    /// Resident bytes.
    pub rss: Option<TrendPair>,
    /// What it does; null where numbers do not tell steps apart.
    pub course: Option<MemoryCourse>,
    /// What processes say between steps.
    pub processes: Vec<ProcessMemory>,
    /// What sections hold over the steps; null where nothing is known about it.
    pub by_section: Option<RetainedSeries>,
    /// By section and line, by sample; null where no samples were taken.
    pub sampled: Option<LiveMemory>,
}

/// What does not fit elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Details {
    /// What every rule says.
    pub rules: Vec<RuleState>,
    /// Steps by mode.
    pub modes: Vec<ModeSummary>,
    /// What driving threads did between steps.
    pub between_steps: Vec<BetweenStepsRow>,
    /// Loaders and their batches.
    pub batches: BatchSummary,
    /// Waits for batches.
    pub waits: WaitSummary,
    /// Paths of the sections with the largest own time.
    pub slowest_sections: Vec<String>,
    /// Paths of the sections with the most variable durations.
    pub most_variable_sections: Vec<String>,
    /// Bounds of the analysis that were reached.
    pub limits: Vec<Limit>,
    /// Figures over step numbers, by mode.
    pub series: Vec<StepSeries>,
    /// Where step times change.
    pub changes: Vec<StepChange>,
    /// Steps that take longer every so often.
    pub periodic: Vec<PeriodicSteps>,
    /// Exposed time by phase over step numbers, by mode.
    pub phase_series: Vec<PhaseSeries>,
    /// The user's own values over step numbers.
    pub values: Vec<ValueSeries>,
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleState {
    /// The rule.
    pub rule: &'static str,
    /// `found`, `fine` or `unknown`.
    pub state: &'static str,
    /// Why it is fine, or what is missing; null where something was found.
    pub because: Option<String>,
}
