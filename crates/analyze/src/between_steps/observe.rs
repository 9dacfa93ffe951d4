//! One outermost section that is no step into what its thread does between steps.

use crate::between_steps::accumulator::{BetweenRecord, other};
use crate::phases::PhaseKey;
use crate::phases::observe::Exposure;
use crate::run::Target;
use crate::step_view::group::Group;
use crate::steps::step_point::StepPoint;

/// Adds a section whose thread waited so long for batches.
pub(crate) fn observe(group: &Group<'_>, wait_ns: u64, exposure: &Exposure, target: &mut Target<'_>) {
    let Group { root, window, view, .. } = *group;
    let Target { run, instance, bounds } = target;
    if wait_ns > 0
        && let Some((place, series)) = group.index().zip(run.series.get_mut(root.mode as usize))
    {
        series.add(place, &StepPoint { wait_ns, ..StepPoint::default() }, bounds.points);
    }
    let Some(instance) = instance else { return };
    let exposed = exposure.sums(view.phases).filter(|(_, sum)| sum.exposed_ns > 0);
    let mut exposed: Vec<(PhaseKey, u64)> = exposed.map(|(key, sum)| (key.clone(), sum.exposed_ns)).collect();
    exposed.sort_unstable();
    let phase = view.phases.key(window.slot);
    let record = BetweenRecord {
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        trace: view.trace.id,
        span: root.id,
        path: group.path_id(),
        phase: phase.clone(),
        other: other(phase, root.mode),
        exposed,
    };
    instance.outside.add(window.thread, record, bounds.threads);
}
