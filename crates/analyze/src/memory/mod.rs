//! Memory over the steps: whether it leaks, and which section leaves it behind. The only owner of [`Leak`]; how it is told
//! is the business of the rule `memory_growth`.

pub(crate) mod by_process;
mod declared;
pub mod detector;
pub(crate) mod finish;
mod growth;
mod left_behind;
pub(crate) mod retained;
mod spread;
pub(crate) mod summary;
mod urgency;

use serde::Serialize;

pub(crate) use growth::Growth;
pub(crate) use spread::Spread;
pub(crate) use urgency::Urgency;

use crate::live_memory::Culprit;
use crate::summary::Summary;
use crate::thresholds::Names;

thresholds! {
    /// How near to the growth a section's own balance must be to be named: difference as a part of the growth.
    max_section_deviation: f64 = 0.5;
    /// Memory that the process may use, bytes; 0 where unknown.
    limit_bytes: u64 = 0;
    /// Sections (`train/cache`), files and lines (`src/cache.rs:88`) that are caches: what grows there is told, and is no leak.
    caches: Names = Names::default();
}

/// Growth as the `leaks` of the report list it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leak {
    /// The section that leaves about as much behind; absent where none does.
    pub section: Option<String>,
    /// How sure it is.
    pub verdict: LeakVerdict,
    /// Slope, bytes a step.
    pub bytes_per_step: f64,
    /// Its 95 % confidence interval.
    #[cfg_attr(feature = "schema", schemars(with = "(Option<f64>, Option<f64>)"))]
    pub confidence_interval: (f64, f64),
    /// Probability of such a trend by chance.
    pub p_value: f64,
    /// Ranks that grow like that, of a run that has several.
    pub ranks: Vec<i64>,
    /// Memory at the end: live bytes of a growing heap, resident bytes of a suspected leak.
    pub live_bytes: u64,
    /// Lines whose allocations stayed, those that hold most first; empty where samples do not tell.
    pub lines: Vec<Culprit>,
    /// Call stacks of these, innermost call first, with ` < ` between.
    pub stacks: Vec<String>,
}

/// How sure a leak is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeakVerdict {
    /// Bytes allocated and not freed grow.
    Growing,
    /// Only resident memory grows, as far as is known.
    Suspected,
}

/// The growth of the run, if there is one.
#[must_use]
pub fn leaks(summary: &Summary, thresholds: &Thresholds) -> Vec<Leak> {
    Growth::of(summary, thresholds).ok().and_then(Result::ok).into_iter().map(|growth| growth.leak).collect()
}
