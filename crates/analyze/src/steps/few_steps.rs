//! What is said of how sure shares of few steps are. How that follows from the steps is in `uncertainty`.

use std::collections::BTreeMap;

use serde::Serialize;
use stepscope_core::Mode;

/// How far shares of the time of few steps may be from those of other steps of the program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FewSteps {
    /// Their mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    pub mode: Mode,
    /// How many, after warm-up.
    pub steps: u64,
    /// Half of the 95 % confidence interval by phase; by the empty name that of the time in no phase.
    pub by_phase: BTreeMap<String, f64>,
    /// The same by the path of a section, of its own exposed time.
    pub by_section: BTreeMap<String, f64>,
    /// Whether the steps say what they waited before they began, which is then a part of these shares.
    pub has_input_before: bool,
}
