//! Whose figures are those of the run: sources of the machines that its processes are on, and of these processes. Where nobody
//! says on which machine something was measured, it is the run's if there is only one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::metric::row;
use stepscope_model::Resource;

use crate::metrics::observe::CONTAINERS;
use crate::metrics::readings::Reading;
use crate::metrics::series::Series;
use crate::metrics::track::{Track, Window};
use crate::metrics::{Metrics, SeriesKey, Sources};
use crate::run::RunAcc;
use crate::summary::NotJoined;

/// A source and its series.
type Source<'a> = (&'a Resource, Vec<(&'a SeriesKey, &'a Series)>);

/// What was measured on a machine of the run while its steps ran.
#[derive(Debug, Default)]
pub(crate) struct Machine<'a> {
    pub(crate) name: Option<&'a str>,
    /// Names of the services that told it.
    pub(crate) services: BTreeSet<&'a str>,
    /// Of the machine, its devices, and the container around the run's processes.
    pub(crate) readings: Vec<Reading<'a>>,
    /// Of the run's processes, by rank.
    pub(crate) processes: Vec<(Option<i64>, Vec<Reading<'a>>)>,
    /// Gauges of other names.
    pub(crate) gauges: Vec<(&'a SeriesKey, Track)>,
}

/// The sources of a kind; where there were too many, the last one is not whole.
fn by_source(sources: &Sources) -> Vec<Source<'_>> {
    let mut all: Vec<Source<'_>> = Vec::new();
    for (key, series) in &sources.series {
        match all.last_mut().filter(|(resource, _)| *resource == &*key.source.0) {
            Some((_, own)) => own.push((key, series)),
            None => all.push((&key.source.0, vec![(key, series)])),
        }
    }
    if sources.is_cut && all.len() > 1 {
        all.pop();
    }
    all
}

/// Whether two names of which one may be absent are of the same thing.
fn may_be(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || a == b
}

/// Whether a source is a process, or in it.
fn is_of(source: &Resource, process: &Resource) -> bool {
    let said = |a: &str, b: &str| !a.is_empty() && a == b;
    let is_instance = said(&source.service_instance_id, &process.service_instance_id);
    let is_pid = source.pid.is_some() && source.pid == process.pid;
    let is_rank = said(&source.run_id, &process.run_id)
        && source.rank == process.rank
        && may_be(&source.service_instance_id, &process.service_instance_id);
    may_be(&source.host_name, &process.host_name)
        && (is_instance || is_rank || (is_pid && may_be(&source.run_id, &process.run_id)))
}

/// The machines of a run with what was measured on them in a window.
///
/// # Errors
/// Why none of what was measured is of the run's steps; nothing where nothing was.
pub(crate) fn machines<'a>(
    metrics: &'a Metrics,
    run: &'a RunAcc,
    window: Window,
) -> Result<Vec<Machine<'a>>, Option<NotJoined>> {
    let instances: Vec<&Resource> = run.instances.keys().map(|instance| &*instance.0).collect();
    let hosts: BTreeSet<&str> = instances.iter().map(|resource| resource.host_name.as_str()).collect();
    let sources = by_source(&metrics.machines);
    let processes = by_source(&metrics.processes);
    let gauges = by_source(&metrics.gauges);
    let names: BTreeSet<&str> = sources.iter().map(|(resource, _)| resource.host_name.as_str()).collect();
    let are_alone = hosts.len() == 1 && names.len() == 1;
    let belongs = |source: &Resource, host: &str| {
        let of_process = |process: &&Resource| process.host_name == host && is_of(source, process);
        let is_same = source.host_name == host && !host.is_empty();
        let is_only = are_alone && may_be(&source.host_name, host);
        is_same || is_only || instances.iter().any(of_process)
    };
    let mut all = Vec::new();
    for &host in &hosts {
        let mut machine = Machine { name: Some(host).filter(|host| !host.is_empty()), ..Machine::default() };
        let own: Vec<&Source<'_>> = sources.iter().filter(|(source, _)| belongs(source, host)).collect();
        let is_inside = |source: &Resource| instances.iter().any(|process| is_of(source, process));
        chosen(&own, window, is_inside, &mut machine);
        let said = own.iter().map(|(source, _)| source.host_name.as_str()).find(|name| !name.is_empty());
        machine.name = machine.name.or(said);
        let here = instances.iter().filter(|process| process.host_name == host);
        let mut is_container_told = false;
        for process in here {
            let own: Vec<&Source<'_>> =
                processes.iter().filter(|(source, _)| is_of(source, process)).collect();
            let mut told = Machine::default();
            chosen(&own, window, |_| false, &mut told);
            let (container, own): (Vec<_>, Vec<_>) =
                told.readings.into_iter().partition(|one| CONTAINERS.contains(&one.row.name));
            if !container.is_empty() && !is_container_told {
                // What is resident is in the container as well, and is read more often.
                let resident = own.iter().filter(|one| one.row.name == row::PROCESS_MEMORY_USAGE.name);
                machine.readings.extend(resident.cloned());
                machine.readings.extend(container);
                is_container_told = true;
            }
            if !own.is_empty() {
                machine.processes.push((process.rank, own));
            }
        }
        machine.processes.sort_by_key(|(rank, _)| *rank);
        for (source, series) in gauges.iter().filter(|(source, _)| belongs(source, host)) {
            let tracks = series.iter().map(|&(key, series)| (key, Track::of(series)));
            let before = machine.gauges.len();
            machine.gauges.extend(tracks.filter(|(_, track)| track.touches(window)));
            if machine.gauges.len() > before {
                machine.services.insert(&source.service_name);
            }
        }
        // Resident memory alone is told with every run, and says nothing of the machine.
        let is_more = |one: &Reading<'_>| one.row.name != row::PROCESS_MEMORY_USAGE.name;
        let says_more = machine.processes.iter().flat_map(|(_, own)| own).any(is_more);
        if says_more || !machine.readings.is_empty() || !machine.gauges.is_empty() {
            all.push(machine);
        }
    }
    if !all.is_empty() {
        return Ok(all);
    }
    let is_any = |(source, _): &&Source<'_>| hosts.iter().any(|host| belongs(source, host));
    Err(if sources.is_empty() {
        None
    } else if sources.iter().any(|source| is_any(&source)) {
        let times = sources.iter().flat_map(|(_, series)| series).map(|(_, series)| Track::of(series).times);
        let times: Vec<u64> = times.flatten().collect();
        let (first_ns, last_ns) = (times.iter().min().copied(), times.iter().max().copied());
        Some(NotJoined::OtherTime { first_ns: first_ns.unwrap_or(0), last_ns: last_ns.unwrap_or(0) })
    } else {
        let named = names.into_iter().filter(|name| !name.is_empty()).map(str::to_owned);
        Some(NotJoined::OtherHosts { hosts: named.collect() })
    })
}

/// Each metric from one source, as several tell the same: from the one that read most often, of equals from the run's own, then
/// by key.
fn chosen<'a>(
    sources: &[&Source<'a>],
    window: Window,
    is_inside: impl Fn(&Resource) -> bool,
    machine: &mut Machine<'a>,
) {
    let mut by_metric: BTreeMap<&'static str, Vec<(&'a Resource, Vec<Reading<'a>>)>> = BTreeMap::new();
    for &&(source, ref series) in sources {
        let mut own: BTreeMap<&'static str, Vec<Reading<'a>>> = BTreeMap::new();
        for &(key, series) in series {
            if let Some(reading) = Reading::of(key, series).filter(|one| one.track.touches(window)) {
                own.entry(reading.row.name).or_default().push(reading);
            }
        }
        own.into_iter()
            .for_each(|(name, readings)| by_metric.entry(name).or_default().push((source, readings)));
    }
    for (_, told) in by_metric {
        let often = |readings: &[Reading<'_>]| readings.iter().map(|one| one.track.times.len()).max();
        let best = told
            .into_iter()
            .min_by_key(|(source, readings)| (Reverse(often(readings)), Reverse(is_inside(source)), *source));
        if let Some((source, readings)) = best {
            machine.services.insert(&source.service_name);
            machine.readings.extend(readings);
        }
    }
}
