//! Phases as a summary names them, and their time on the steps.

use std::fmt;

use serde::{Serialize, Serializer};
use stepscope_core::{Phase, PhaseClass};

/// A phase: one of ours, or the user's own word.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PhaseName {
    /// One of ours.
    Known(Phase),
    /// The user's own; of class [`PhaseClass::Other`].
    Custom(String),
}

impl PhaseName {
    /// The name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(phase) => phase.as_str(),
            Self::Custom(word) => word,
        }
    }

    /// The class that decides precedence.
    #[must_use]
    pub const fn class(&self) -> PhaseClass {
        match self {
            Self::Known(phase) => phase.class(),
            Self::Custom(_) => PhaseClass::Other,
        }
    }

    /// Whether time exposed in it is time spent on input.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Known(phase) if phase.is_input())
    }

    /// Whether it is this one of ours.
    #[must_use]
    pub fn is(&self, phase: Phase) -> bool {
        *self == Self::Known(phase)
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(feature = "schema")]
crate::schema::string!(PhaseName, "A phase: one of stepscope's, or the user's own word.");

impl Serialize for PhaseName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How the phase of a section is known; earlier wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseSource {
    /// The section says so itself.
    Tagged,
    /// Its name implies it (`stepscope_core::Phase::infer`), or that it is a batch.
    Inferred,
    /// A section around it has it.
    Inherited,
}

/// Time of one phase on all steps that were recorded, by the processes' own sums: all modes, warm-up included, on
/// whatever thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSum {
    /// The phase; absent for the time that no section with a phase covers.
    pub phase: Option<PhaseName>,
    /// Calls of sections that begin it; steps, where there is no phase.
    pub calls: u64,
    /// Time of those sections, without that of sections of other phases inside them.
    pub total_ns: u64,
    /// `total_ns` / time of the steps. Sections that ran at the same time as each other count each, so that shares may
    /// sum to more than 1.
    pub share: f64,
}

/// Time of one phase on the steps of one mode, warm-up excluded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseRow {
    /// The phase.
    pub phase: PhaseName,
    /// Spans in it.
    pub spans: u64,
    /// Time the driving thread spent in this phase while nothing of higher rank ran there, or with nothing else to do
    /// than to wait for a section of another thread in this phase. Over all phases,
    /// with the mode's unattributed time, exactly the time of the steps.
    pub exposed_ns: u64,
    /// `exposed_ns` / time of the steps.
    pub exposed_share: f64,
    /// Time during which any span of the step was in this phase, on whatever thread: the union, clamped to
    /// the step.
    pub total_ns: u64,
    /// `total_ns` / time of the steps; phases overlap, so that shares may sum to more than 1.
    pub total_share: f64,
    /// Self time of the spans in this phase, on whatever thread.
    pub self_ns: u64,
}
