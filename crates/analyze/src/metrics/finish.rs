//! From series to figures over the stretches of the run.

use stepscope_core::metric::host;
use stepscope_core::{Mode, attr};

use crate::context::Context;
use crate::metrics::allocators::allocators;
use crate::metrics::devices::{energy, file_systems, gpus};
use crate::metrics::figures::{MACHINE, PROCESS, STEAL, over, told, window};
use crate::metrics::readings::{Reading, Readings};
use crate::metrics::sources::{Machine, machines};
use crate::metrics::stretches::{StepTimes, usual_steps};
use crate::metrics::track::Track;
use crate::metrics::{Metrics, SeriesKey};
use crate::summary::{FigureRow, HostFigures, MetricsSummary, NotJoined, ProcessFigures, Stretch};

/// Gauges of other names that are told.
const GAUGES: usize = 16;

/// What was measured while the steps of the primary mode ran.
pub(crate) fn summary(metrics: &Metrics, context: &Context<'_>, primary: Option<Mode>) -> MetricsSummary {
    let run = context.run;
    let mut summary = MetricsSummary::default();
    if metrics.machines.series.is_empty()
        && metrics.processes.series.is_empty()
        && metrics.gauges.series.is_empty()
    {
        return summary;
    }
    let told = primary.filter(|&mode| context.steps.numbers.tell_apart(mode));
    let steps = told.and_then(|mode| {
        let numbering = context.steps.numbers.of_mode(mode);
        StepTimes::of(run, mode, numbering, context.steps.warm_until_ns(primary))
    });
    let Some(steps) = steps else {
        summary.not_joined = (!metrics.machines.series.is_empty()).then_some(NotJoined::NoSteps);
        return summary;
    };
    let machines = match machines(metrics, run, steps.window) {
        Ok(machines) => machines,
        Err(because) => {
            summary.not_joined = because;
            return summary;
        }
    };
    for machine in machines {
        let (host, readings) = of_machine(&machine, &steps);
        let devices = gpus(summary.hosts.len(), &readings, &host.stretches);
        let is_told = [host.figures.len(), host.processes.len(), host.gauges.len(), devices.len()];
        if host.steps_measured > 0 && is_told.iter().any(|&rows| rows > 0) {
            summary.gpus.extend(devices);
            summary.hosts.push(host);
        }
    }
    summary
}

fn of_machine<'r, 'a>(machine: &'r Machine<'a>, steps: &StepTimes) -> (HostFigures, Readings<'r, 'a>) {
    let readings = Readings(machine.readings.iter().collect());
    let (times, every_ns) = clock(machine);
    let stretches = steps.stretches(times, every_ns);
    let mut figures: Vec<FigureRow> =
        MACHINE.iter().filter_map(|figure| over(figure, &readings, &stretches)).collect();
    figures.retain(|row| row.figure != STEAL || row.max > Some(0.0));
    figures.extend(file_systems(&readings, &stretches));
    figures.extend(energy(&readings, &stretches, |one| one.is(attr::HW_TYPE, "cpu")));
    let processes = machine.processes.iter().filter_map(|(rank, own)| {
        let own = Readings(own.iter().collect());
        let mut figures: Vec<FigureRow> =
            PROCESS.iter().filter_map(|figure| over(figure, &own, &stretches)).collect();
        figures.extend(allocators(&own, &stretches));
        (!figures.is_empty()).then_some(ProcessFigures { rank: *rank, figures })
    });
    let host = HostFigures {
        name: machine.name.map(str::to_owned),
        sources: machine.services.iter().map(|name| (*name).to_owned()).collect(),
        every_ns,
        steps_per_stretch: usual_steps(&stretches),
        steps_measured: stretches.iter().fold(0, |sum, one| sum.saturating_add(one.steps)),
        steps: steps.count(),
        processes: processes.collect(),
        gauges: gauges(machine, &stretches),
        figures,
        stretches,
    };
    (host, readings)
}

/// The times of readings that cut the run: of what is read as often as anything, and by everyone.
fn clock<'m>(machine: &'m Machine<'_>) -> (&'m [u64], u64) {
    const FIRST: [&str; 4] =
        [host::CPU_TIME, host::CPU_UTILIZATION, host::MEMORY_USAGE, host::MEMORY_AVAILABLE];
    let all = || machine.readings.iter();
    let of = |name: &&str| longest(all().filter(|one| one.row.name == *name).map(|one| &one.track));
    let own = machine.processes.iter().flat_map(|(_, own)| own).map(|one: &Reading<'_>| &one.track);
    let chosen = FIRST.iter().find_map(of);
    let chosen = chosen.or_else(|| longest(all().map(|one| &one.track))).or_else(|| longest(own));
    let chosen = chosen.or_else(|| longest(machine.gauges.iter().map(|(_, track)| track)));
    chosen.map_or((&[], 0), |track| (&track.times, track.every_ns))
}

/// The first of those with most readings.
fn longest<'t>(tracks: impl Iterator<Item = &'t Track>) -> Option<&'t Track> {
    tracks.reduce(|best, other| if other.times.len() > best.times.len() { other } else { best })
}

/// Gauges that nobody here knows, by name and attributes.
fn gauges(machine: &Machine<'_>, stretches: &[Stretch]) -> Vec<FigureRow> {
    let row = |(key, track): &(&SeriesKey, Track)| {
        let parts = stretches.iter().map(|one| {
            let when = window(one);
            (track.mean(when), track.most(when), true)
        });
        let labels = if key.labels.is_empty() { String::new() } else { format!("{{{}}}", key.labels) };
        let name = format!("{}{labels}", key.metric);
        told("gauge", Some(name), stretches, &parts.collect::<Vec<_>>())
    };
    let mut rows: Vec<FigureRow> = machine.gauges.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.about.cmp(&b.about));
    rows.truncate(GAUGES);
    rows
}
