//! A section as the report lists it: the summary's row with the figures of its distribution flat.

use serde::Serialize;
use stepscope_core::SectionKind;

use crate::summary::{FigureSource, FigureSum, InSteps, PhaseName, PhaseSource, SectionMemory, SectionRow};

/// A call path. Durations in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// Names from the root section down, joined by `/`.
    pub path: String,
    /// The last name.
    pub name: String,
    /// Number of names.
    pub depth: u16,
    /// `section`, `step`, `batch`, ….
    #[serde(serialize_with = "kind_name")]
    pub kind: SectionKind,
    /// Phase.
    pub phase: Option<PhaseName>,
    /// How the phase is known.
    pub phase_source: Option<PhaseSource>,
    /// Whether figures come from aggregates or spans.
    pub source: FigureSource,
    /// Calls.
    pub count: u64,
    /// Sum of the durations.
    pub total_ns: u64,
    /// Duration without the union of the children, summed.
    pub self_ns: Option<u64>,
    /// Entered time without nested entered time on the same thread.
    pub self_busy_ns: Option<u64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub std: Option<f64>,
    /// Shortest.
    pub min: Option<u64>,
    /// Longest.
    pub max: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Median absolute deviation.
    pub mad: Option<u64>,
    /// Standard deviation / mean.
    pub cv: Option<f64>,
    /// Whether quantiles are exact or within 0.55 %.
    pub is_exact: bool,
    /// Calls whose time is inside that of the call around them.
    pub collapsed_calls: u64,
    /// Time entered on some thread.
    pub busy_ns: Option<FigureSum>,
    /// Time open but entered nowhere.
    pub idle_ns: Option<FigureSum>,
    /// CPU time.
    pub cpu_ns: Option<FigureSum>,
    /// Samples.
    pub samples: Option<FigureSum>,
    /// Tokens.
    pub tokens: Option<FigureSum>,
    /// Bytes.
    pub bytes: Option<FigureSum>,
    /// Floating-point operations.
    pub flops: Option<FigureSum>,
    /// Allocations.
    pub alloc: Option<SectionMemory>,
    /// Calls that ended with an error.
    pub errors: u64,
    /// Its part in steps.
    pub in_steps: Vec<InSteps>,
}

impl From<&SectionRow> for Section {
    fn from(row: &SectionRow) -> Self {
        let stats = row.stats;
        Self {
            path: row.path.clone(),
            name: row.name.clone(),
            depth: row.depth,
            kind: row.kind,
            phase: row.phase.clone(),
            phase_source: row.phase_source,
            source: row.source,
            count: stats.count,
            total_ns: stats.total,
            self_ns: row.self_ns,
            self_busy_ns: row.self_busy_ns,
            mean: stats.mean,
            std: stats.std,
            min: stats.min,
            max: stats.max,
            p50: stats.p50,
            p90: stats.p90,
            p95: stats.p95,
            p99: stats.p99,
            mad: stats.mad,
            cv: stats.cv,
            is_exact: stats.is_exact,
            collapsed_calls: row.collapsed_calls,
            busy_ns: row.busy_ns,
            idle_ns: row.idle_ns,
            cpu_ns: row.cpu_ns,
            samples: row.samples,
            tokens: row.tokens,
            bytes: row.bytes,
            flops: row.flops,
            alloc: row.memory,
            errors: row.errors,
            in_steps: row.in_steps.clone(),
        }
    }
}

impl Section {
    /// Its part in the steps of one mode.
    #[must_use]
    pub fn in_mode(&self, mode: stepscope_core::Mode) -> Option<&InSteps> {
        self.in_steps.iter().find(|part| part.mode == mode)
    }
}

fn kind_name<S: serde::Serializer>(kind: &SectionKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}
