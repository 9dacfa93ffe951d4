//! When the steps of a process were, as far as that is known: what is between them is told from these.

use stepscope_core::Mode;

use crate::accumulate::stats::Stats;
use crate::run::InstanceAcc;
use crate::steps::steady::SteadySteps;

/// Time of steps of other modes from the first to the last of `steady`.
pub(crate) fn other_steps_ns(acc: &InstanceAcc, primary: Option<Mode>, steady: &SteadySteps) -> u64 {
    let Some((first_ns, last_ns)) = steady.sums.first_ns.zip(steady.sums.last_ns) else { return 0 };
    let common_ns = |start_ns: u64, end_ns: u64| end_ns.min(last_ns).saturating_sub(start_ns.max(first_ns));
    let others = acc.steps.iter().zip(Mode::ALL).filter(|(_, mode)| primary != Some(**mode));
    others.fold(0, |sum, (steps, _)| {
        let kept = steps.kept.iter().map(|record| common_ns(record.start_ns, record.end_ns));
        let later = steps.folded.first_ns.zip(steps.folded.last_ns);
        let later_ns = later.map_or(0, |(start_ns, end_ns)| common_ns(start_ns, end_ns));
        let later_ns = later_ns.min(Stats::of(&steps.folded.durations.0).total);
        kept.fold(later_ns.saturating_add(sum), u64::saturating_add)
    })
}

/// Start and end of the first steps of a process, in order, and the time up to which they are all that there are.
pub(crate) fn first_steps(acc: &InstanceAcc) -> (Vec<(u64, u64)>, u64) {
    let cut = acc.steps.iter().filter(|steps| steps.folded.durations.count() > 0);
    let until_ns = cut.filter_map(|steps| Some(steps.kept.last()?.start_ns)).min().unwrap_or(u64::MAX);
    let kept = acc.steps.iter().flat_map(|steps| &steps.kept).filter(|record| record.start_ns <= until_ns);
    let mut times: Vec<(u64, u64)> = kept.map(|record| (record.start_ns, record.end_ns)).collect();
    times.sort_unstable();
    (times, until_ns)
}
