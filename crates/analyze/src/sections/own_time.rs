//! What sections cost the steps by themselves: own time that is exposed, nested sections excluded.

use stepscope_core::{Phase, PhaseClass};

use crate::report::units::{count, duration};
use crate::steps::judged::Steps;
use crate::summary::SectionRow;

/// Whether it is code of a step. What a device computes is what the step is for, and nothing that code can leave to others.
pub(crate) fn is_judged(row: &SectionRow) -> bool {
    row.is_part() && !row.is_on_device()
}

/// Stages that every step consists of, and those that other rules look at.
pub(crate) fn is_expected(row: &SectionRow, steps: &Steps<'_>) -> bool {
    // Spans hand their phase down to the sections inside them; the sums do not.
    let inherited = || steps.sums.as_ref().and_then(|sums| sums.phase_around(row));
    row.phase.as_ref().or_else(inherited).is_some_and(|phase| match phase.class() {
        PhaseClass::Input
        | PhaseClass::CpuOperation
        | PhaseClass::Copy
        | PhaseClass::Kernel
        | PhaseClass::Set
        | PhaseClass::Runtime
        | PhaseClass::Communication => true,
        PhaseClass::Other => phase.is(Phase::Checkpoint) || phase.is(Phase::Io),
    })
}

/// What a section costs the steps of the primary mode: after warm-up; by the sums, which know none, in all of them.
pub(crate) struct OwnTime<'a> {
    pub(crate) row: &'a SectionRow,
    pub(crate) exposed_ns: u64,
    pub(crate) calls: u64,
    /// Steps in which it could run.
    pub(crate) steps: u64,
    pub(crate) share: f64,
}

impl<'a> OwnTime<'a> {
    /// Nothing where it takes no such time.
    pub(crate) fn of(row: &'a SectionRow, steps: &Steps<'_>) -> Option<Self> {
        let (exposed_ns, calls, whole_ns, steps_in) = match &steps.sums {
            Some(sums) => {
                let row = sums.inside.get(row.path.as_str())?;
                (row.self_busy_ns?, row.stats.count, sums.steps_ns, sums.steps)
            }
            None => {
                let part = row.in_mode(steps.mode.mode)?.after_warmup();
                let whole = steps.mode.whole_after_warmup();
                (part.exposed_ns, part.calls, whole.total_ns, whole.steps)
            }
        };
        let share = steps.share_inside(exposed_ns, whole_ns);
        (exposed_ns > 0).then_some(Self {
            row,
            exposed_ns,
            calls: calls.max(1),
            steps: steps_in.max(1),
            share,
        })
    }

    pub(crate) fn per_call_ns(&self) -> u64 {
        self.exposed_ns / self.calls
    }

    /// What to do about it.
    pub(crate) fn advice(&self, steps: &Steps<'_>) -> String {
        let each = duration(self.per_call_ns());
        let often = match self.calls / self.steps {
            0 | 1 => format!("It takes {each} a call: do it less often, in another thread, or cheaper."),
            calls => {
                let times = count(calls);
                format!("It runs {times} times a step, {each} each: do the work once a step, or less often.")
            }
        };
        let phase = if self.row.phase.is_some() {
            ""
        } else {
            " If it is a regular stage of the step, give it its phase."
        };
        format!("{often}{phase}{}", steps.caveat())
    }
}
