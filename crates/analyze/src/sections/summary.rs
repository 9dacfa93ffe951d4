//! Sections: one row a call path.

use serde::Serialize;
use stepscope_core::{Mode, SectionKind};

use crate::accumulate::stats::Stats;
use crate::phases::summary::{PhaseName, PhaseSource};

/// Where count, total, extremes and allocations of a row come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FigureSource {
    /// The spans that were read.
    #[default]
    Spans,
    /// The processes' own aggregates, which are exact even where spans were lost. Used where they have seen
    /// at least as many calls as there are spans (a killed process has not sent its last ones).
    Aggregates,
}

/// A sum over those spans that carried a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureSum {
    /// Spans that carried it.
    pub spans: u64,
    /// The sum, saturating.
    pub sum: u64,
}

/// What a section allocated. Inclusive figures count nested sections, self figures do not (children on other
/// threads are not taken off: they allocate on their own account).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionMemory {
    /// Spans that carried these figures; 0 where they come from aggregates only.
    pub spans: u64,
    /// Bytes allocated, inclusive.
    pub alloc_bytes: u64,
    /// Bytes freed, inclusive.
    pub free_bytes: u64,
    /// Allocations, inclusive.
    pub alloc_count: u64,
    /// Bytes allocated by the section itself; absent where only spans could tell, and its children may not have
    /// been read or be in other traces, as the steps of an epoch are.
    pub self_alloc_bytes: Option<u64>,
    /// Bytes freed by the section itself; absent as `self_alloc_bytes` is.
    pub self_free_bytes: Option<u64>,
    /// `self_alloc_bytes − self_free_bytes`: what it left behind over the whole run; absent where they are.
    pub self_net_bytes: Option<i64>,
    /// Largest peak of live bytes above the start in one call.
    pub peak_bytes: Option<u64>,
}

/// Resident memory of the process over a section's calls: read at the ends of steps and other coarse sections, by sample for other
/// calls of 50 ms and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionResident {
    /// Calls of which it is known.
    pub spans: u64,
    /// How much more was resident at their ends than at their starts, all together.
    pub delta_bytes: i64,
    /// The same of the call in which it was most.
    pub largest_delta_bytes: i64,
    /// Most that was resident in any call of 50 ms and more.
    pub peak_bytes: Option<u64>,
}

/// A section's part in the steps of one mode, warm-up included: compare with [`crate::summary::ModeSummary::all`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InSteps {
    /// Mode of those steps.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// Steps in which it occurs.
    pub steps: u64,
    /// Calls inside steps.
    pub calls: u64,
    /// Most calls in one step.
    pub max_calls: u64,
    /// Sum of the durations of those calls, on whatever thread.
    pub total_ns: u64,
    /// Sum of the durations of those calls that ran on the step's driving thread.
    pub driving_ns: u64,
    /// Time during which it was the section that the step's exposed time was attributed to (the innermost of
    /// highest rank on the driving thread, or what this waited for on another thread), nested sections excluded.
    pub exposed_ns: u64,
    /// Of `calls` those in warm-up: in steps before the first number at which no process warms up. Of more than 2,048 sections
    /// in such a step not all are known; of one that is not, this and the following are 0.
    pub warmup_calls: u64,
    /// Of `total_ns` that of these calls.
    pub warmup_total_ns: u64,
    /// Of `driving_ns` the same.
    pub warmup_driving_ns: u64,
    /// Of `exposed_ns` the same.
    pub warmup_exposed_ns: u64,
    /// The longest call after warm-up, or, where those of the 16 step numbers with the longest calls are all warm-up, what it
    /// does not exceed; absent where steps have no numbers.
    pub longest_steady_ns: Option<u64>,
}

impl InSteps {
    /// The same without warm-up; `steps` and `max_calls` are not known without it, and stay.
    #[must_use]
    pub const fn after_warmup(&self) -> Self {
        Self {
            calls: self.calls.saturating_sub(self.warmup_calls),
            total_ns: self.total_ns.saturating_sub(self.warmup_total_ns),
            driving_ns: self.driving_ns.saturating_sub(self.warmup_driving_ns),
            exposed_ns: self.exposed_ns.saturating_sub(self.warmup_exposed_ns),
            warmup_calls: 0,
            warmup_total_ns: 0,
            warmup_driving_ns: 0,
            warmup_exposed_ns: 0,
            ..*self
        }
    }
}

/// One call path, as the report lists it. Durations in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionRow {
    /// Names from the root section down, as `stepscope_core::path::join` writes them.
    pub path: String,
    /// The last name.
    pub name: String,
    /// Number of names.
    pub depth: u16,
    /// What it is; where spans of a path differ, the first in declaration order but `section`.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<SectionKind>"))]
    pub kind: SectionKind,
    /// Its phase.
    pub phase: Option<PhaseName>,
    /// How the phase is known.
    pub phase_source: Option<PhaseSource>,
    /// Where counts, sums, `alloc` and `self_busy_ns` come from; quantiles are those of spans where these are as many.
    pub source: FigureSource,
    /// Durations. `total` counts recursive time once, `count` counts every call that has a
    /// duration of its own.
    #[serde(flatten)]
    pub stats: Stats,
    /// Calls beyond `count` that share the path of the call around them (depth or number of paths
    /// bounded), so that their time is inside that call's.
    pub collapsed_calls: u64,
    /// Duration − |union of children clamped to it|, summed over spans; absent where there are no spans, and where
    /// children may not have been read or may be in other traces, as the steps of an epoch are.
    pub self_ns: Option<u64>,
    /// Entered time without nested entered time on the same thread; only aggregates know it.
    pub self_busy_ns: Option<u64>,
    /// Time entered on some thread, of suspended sections.
    pub busy_ns: Option<FigureSum>,
    /// Time open but not entered, of suspended sections.
    pub idle_ns: Option<FigureSum>,
    /// CPU time of the thread.
    pub cpu_ns: Option<FigureSum>,
    /// Time in which the thread could have run and had no processor.
    pub run_queue_ns: Option<FigureSum>,
    /// Samples processed.
    pub samples: Option<FigureSum>,
    /// Tokens processed.
    pub tokens: Option<FigureSum>,
    /// Bytes processed.
    pub bytes: Option<FigureSum>,
    /// Floating-point operations.
    pub flops: Option<FigureSum>,
    /// Allocations.
    #[serde(rename = "alloc")]
    pub memory: Option<SectionMemory>,
    /// Resident memory over its calls.
    pub resident: Option<SectionResident>,
    /// Spans with an error.
    pub errors: u64,
    /// Calls that ran on an accelerator, as kernels and copies do.
    pub device_calls: u64,
    /// What calls of more than twice the median take above it, all together; absent without calls.
    pub slow_excess_ns: Option<u64>,
    /// Its part in steps, by mode; modes without calls are left out.
    pub in_steps: Vec<InSteps>,
}

impl SectionRow {
    /// Its part in the steps of one mode.
    #[must_use]
    pub fn in_mode(&self, mode: Mode) -> Option<&InSteps> {
        self.in_steps.iter().find(|row| row.mode == mode)
    }

    /// Whether it is a part of a step or stands between steps: not a run, epoch, step, batch or request.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        matches!(self.kind, SectionKind::Section | SectionKind::MicroStep)
    }

    /// Whether it is work of an accelerator, all but a few of its calls: no code of the program.
    #[must_use]
    pub const fn is_on_device(&self) -> bool {
        self.device_calls > self.stats.count / 2
    }
}
