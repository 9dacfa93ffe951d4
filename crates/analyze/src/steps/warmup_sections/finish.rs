//! What of the sections' part in the steps is warm-up: that of the whole steps before the first number at which no
//! process is warming up, as far as these steps are kept.

use std::collections::BTreeMap;

use stepscope_core::Mode;
use stepscope_core::path::split;

use crate::accumulate::step_series::StepIndex;
use crate::phases::section_time::id_inside;
use crate::run::RunAcc;
use crate::sections::SectionAcc;
use crate::steps::finish::Steady;
use crate::steps::warmup_sections::WarmupStep;
use crate::summary::{InSteps, ModeSummary, SectionRow, WholeSteps};

/// The warm-up of all modes.
pub(crate) struct Warm<'a> {
    run: &'a RunAcc,
    steps: &'a Steady<'a>,
    /// The first number after it; absent where there is none.
    first: BTreeMap<Mode, u64>,
    sums: BTreeMap<Mode, WarmupStep>,
}

impl<'a> Warm<'a> {
    pub(crate) fn of(run: &'a RunAcc, steps: &'a Steady<'a>, modes: &[ModeSummary]) -> Self {
        let first = modes.iter().filter_map(|row| Some((row.mode, row.warmup.steady_step?))).collect();
        let mut warm = Self { run, steps, first, sums: BTreeMap::new() };
        let sum = |mode: Mode| {
            run.warmup_sections
                .get(mode as usize)
                .map(|warmup_sections| warmup_sections.sum(|place| warm.holds(mode, place)))
        };
        let sums = modes.iter().filter_map(|row| Some((row.mode, sum(row.mode)?))).collect();
        warm.sums = sums;
        warm
    }

    /// Whether a step is before its end.
    fn holds(&self, mode: Mode, place: StepIndex) -> bool {
        self.first.get(&mode).is_some_and(|&first| self.steps.numbers.of_mode(mode).number(place) < first)
    }

    /// Time for which the steps' own spans were on the critical path.
    pub(crate) fn other_ns(&self, mode: Option<Mode>) -> u64 {
        mode.and_then(|mode| self.sums.get(&mode)).map_or(0, |sum| sum.other_ns)
    }

    /// Tells the steps and the sections what of theirs it is.
    pub(crate) fn fill(&self, modes: &mut [ModeSummary], rows: &mut [SectionRow]) {
        for row in modes {
            if let Some(sum) = self.sums.get(&row.mode) {
                row.whole_warmup = WholeSteps { steps: sum.steps, total_ns: sum.total_ns };
            }
        }
        let tree = self.run.sections.tree();
        let accs: BTreeMap<u64, &SectionAcc> =
            self.run.sections.sorted().map(|(path, acc)| (tree.id(path), acc)).collect();
        for row in rows.iter_mut().filter(|row| !row.in_steps.is_empty()) {
            let id = split(&row.path).iter().fold(0, |around, name| id_inside(around, name));
            let Some(acc) = accs.get(&id) else { continue };
            row.in_steps.iter_mut().for_each(|part| self.tell_section(part, id, acc));
        }
    }

    fn tell_section(&self, part: &mut InSteps, id: u64, acc: &SectionAcc) {
        if let Some(warm) = self.sums.get(&part.mode).map(|sum| sum.of(id)) {
            part.warmup_calls = warm.calls;
            part.warmup_total_ns = warm.total_ns;
            part.warmup_driving_ns = warm.driving_ns;
            part.warmup_exposed_ns = warm.exposed_ns;
        }
        let all = acc.in_steps.get(part.mode as usize);
        let is_steady = |place| !self.holds(part.mode, place);
        part.longest_steady_ns = all.and_then(|all| all.longest.of(is_steady));
    }
}
