//! Changes of the step time within a run.

use serde::Serialize;
use stepscope_core::Mode;

use crate::changepoints::MIN_PERCENT;
use crate::phases::summary::PhaseName;

/// How a level moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// From one step to the next.
    Sudden,
    /// Bit by bit: in three or more levels, each further than the one before.
    Gradual,
}

/// Steps of one mode that take longer, or less long, from some step on; found as [`crate::changepoints`] says, after warm-up. Where
/// steps say how long their threads waited for batches before them, they take that as well.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepChange {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// How.
    pub kind: ChangeKind,
    /// First step of the level before.
    pub from_step: u64,
    /// First step of the level after; of a gradual change, of the first level after.
    pub step: u64,
    /// Last step of the level after; of a gradual change, of the last level.
    pub to_step: u64,
    /// Step numbers that are looked at together: the change is told to this many steps.
    pub step_numbers: u64,
    /// Steps from `from_step` to before `step`, over all instances.
    pub steps_before: u64,
    /// Steps from `step` to `to_step`, over all instances.
    pub steps_after: u64,
    /// Step time before, the median; where a point holds several steps, of their means.
    pub before_ns: u64,
    /// The same after; of a gradual change, of its last level.
    pub after_ns: u64,
    /// What the steps alone take before, without the input before them: the median of that. Absent where no step says it.
    pub duration_before_ns: Option<u64>,
    /// The same after.
    pub duration_after_ns: Option<u64>,
    /// Bound of the probability that steps without a change show one so clear.
    pub p_value: f64,
    /// The phase that moved most in the same direction; absent where no whole steps are known on both sides.
    pub cause: Option<ChangeCause>,
}

impl StepChange {
    /// What steps take more as a share of before; negative where they take less, 0 where they took no time.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.before_ns == 0 { 0.0 } else { self.after_ns as f64 / self.before_ns as f64 - 1.0 }
    }

    /// Whether the input before the steps is a part of its times that is worth telling.
    #[must_use]
    pub fn has_input(&self) -> bool {
        let is_told = |all: u64, alone: Option<u64>| {
            alone.is_some_and(|alone| is_input_told(all.saturating_sub(alone), all))
        };
        is_told(self.before_ns, self.duration_before_ns) || is_told(self.after_ns, self.duration_after_ns)
    }

    /// The change of the steps alone; absent where all that changed is the input before them.
    #[must_use]
    pub fn of_steps_alone(&self) -> Option<Self> {
        let Some((before_ns, after_ns)) = self.duration_before_ns.zip(self.duration_after_ns) else {
            return Some(self.clone());
        };
        let by = u128::from(before_ns.abs_diff(after_ns)) * 100;
        let is_change = by >= u128::from(before_ns.min(after_ns)) * u128::from(MIN_PERCENT) && by > 0;
        is_change.then(|| Self { before_ns, after_ns, ..self.clone() })
    }
}

/// Whether input before steps changes figures as shown of a time that has it.
pub(crate) fn is_input_told(input_ns: u64, all_ns: u64) -> bool {
    const TOLD_FROM: f64 = 0.005;
    input_ns as f64 >= TOLD_FROM * all_ns.max(1) as f64
}

/// What changed in the whole steps, or in the input before them, in means of the level before and of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeCause {
    /// The phase; absent for time that no phase covers.
    pub phase: Option<PhaseName>,
    /// Whether it is before the steps, and not in them.
    pub is_between: bool,
    /// Exposed time of it in a step before.
    pub before_ns: u64,
    /// Exposed time of it in a step after.
    pub after_ns: u64,
    /// Time of a step before, with the input before it where that is in the times of the change.
    pub step_before_ns: u64,
    /// The same of a step after.
    pub step_after_ns: u64,
    /// The section of the phase that moved most in the same direction; absent where none did, or the points told too
    /// many sections apart.
    pub section: Option<ChangeSection>,
}

/// Share of what steps take more from which a part of them explains it.
pub(crate) const EXPLAINED_SHARE: f64 = 0.5;

/// What changed in a section, in means of whole steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSection {
    /// Its path.
    pub path: String,
    /// Exposed time of it in a step before.
    pub before_ns: u64,
    /// Exposed time of it in a step after.
    pub after_ns: u64,
}

impl ChangeCause {
    /// What of the steps' change the phase makes up; more than 1 where others moved against it.
    #[must_use]
    pub fn share(&self) -> f64 {
        let by = |before: u64, after: u64| after as f64 - before as f64;
        let all = by(self.step_before_ns, self.step_after_ns);
        if all == 0.0 { 0.0 } else { by(self.before_ns, self.after_ns) / all }
    }

    /// The section, if most of what the phase moved is its.
    #[must_use]
    pub fn section_that_explains(&self) -> Option<&ChangeSection> {
        let by = |before: u64, after: u64| i128::from(after) - i128::from(before);
        let (phase, section) = (by(self.before_ns, self.after_ns), self.section.as_ref()?);
        let moved = by(section.before_ns, section.after_ns);
        (moved.signum() == phase.signum() && moved.abs() * 2 >= phase.abs()).then_some(section)
    }

    /// Whether it makes up at least `least_share` of the steps' change, and the rest of the step moved less.
    #[must_use]
    pub fn explains(&self, least_share: f64) -> bool {
        let step = (self.step_before_ns as f64, self.step_after_ns as f64);
        self.share() >= least_share && stands_out(step, (self.before_ns as f64, self.after_ns as f64))
    }
}

/// Whether a part of the step moved more than the rest of it: by half as much again of its own time, at least. Times before
/// and after, of the same unit. What makes all of a step slower makes its longest part slower, too, and is no matter of
/// that part.
pub(crate) fn stands_out(step: (f64, f64), part: (f64, f64)) -> bool {
    const TIMES: f64 = 1.5;
    let relative = |(before, after): (f64, f64)| (after - before) / before.max(1.0);
    let rest = ((step.0 - part.0).max(0.0), (step.1 - part.1).max(0.0));
    let direction = (step.1 - step.0).signum();
    relative(part) * direction >= TIMES * relative(rest) * direction
}
