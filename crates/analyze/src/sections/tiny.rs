//! Sections so short that recording them takes about as long: their calls, on the threads of the steps and elsewhere.

use crate::accumulate::saturate::saturate;
use crate::steps::judged::Steps;
use crate::summary::{InSteps, SectionRow, Summary};

/// Tiny sections of the steps that were read whole, or of all by the sums.
pub(crate) struct Tiny<'a> {
    /// Calls on the threads that drive steps; by the sums, which know none, those that are not known to be on others.
    pub(crate) calls: u64,
    /// Calls on other threads.
    pub(crate) elsewhere: u64,
    /// The one with most calls on the former, of equals the first path, and these.
    pub(crate) most: Option<(&'a SectionRow, u64)>,
    pub(crate) steps: u64,
    pub(crate) steps_ns: u64,
}

impl<'a> Tiny<'a> {
    /// Those whose calls take `tiny_ns` on average at most.
    pub(crate) fn of(summary: &'a Summary, steps: &Steps<'_>, tiny_ns: u64) -> Self {
        let whole = steps.mode.whole_after_warmup();
        let (in_steps, steps_ns) = match &steps.sums {
            Some(sums) => (sums.steps, sums.steps_ns),
            None => (whole.steps, whole.total_ns),
        };
        let mut tiny = Self { calls: 0, elsewhere: 0, most: None, steps: in_steps, steps_ns };
        for row in summary.sections.iter().filter(|row| row.is_part()) {
            let part = row.in_mode(steps.mode.mode).map(InSteps::after_warmup);
            let called = match &steps.sums {
                Some(sums) => {
                    sums.inside.get(row.path.as_str()).map(|row| (row.stats.count, row.stats.total))
                }
                None => part.map(|part| (part.calls, part.total_ns)),
            };
            let Some((calls, total_ns)) = called else { continue };
            if calls == 0 || total_ns > tiny_ns.saturating_mul(calls) {
                continue;
            }
            let driving = part.map_or(calls, |part| on_driving_threads(calls, &part));
            tiny.calls = tiny.calls.saturating_add(driving);
            tiny.elsewhere = tiny.elsewhere.saturating_add(calls - driving);
            if driving > 0 && tiny.most.is_none_or(|(_, most)| driving > most) {
                tiny.most = Some((row, driving));
            }
        }
        tiny
    }
}

/// Of so many calls of a section those on threads that drive steps: as large a part as of its time. Of calls that take no time
/// at all nobody knows it.
fn on_driving_threads(calls: u64, part: &InSteps) -> u64 {
    let driving = u128::from(calls).saturating_mul(part.driving_ns.min(part.total_ns).into());
    driving.checked_div(part.total_ns.into()).map_or(0, saturate)
}
