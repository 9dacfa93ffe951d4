//! What is told of a machine and of a process: each figure by its name, the metrics it rests on, and how it is worked out. Those
//! of GPUs are in `devices`.

use stepscope_core::attr;
use stepscope_core::metric::{host, row};

use crate::metrics::readings::{Reading, Readings};
use crate::metrics::track::Window;
use crate::report::finding::rounded;
use crate::summary::{FigureRow, Stretch};

/// A stretch has a figure of its own where readings are at most so many times as far apart.
const MOST_COARSE: u64 = 3;

type Of = fn(&Readings<'_, '_>, Window) -> Option<f64>;

/// One figure.
pub(crate) struct Figure {
    /// Its name, which ends in its unit.
    pub(crate) name: &'static str,
    /// The metrics that it rests on.
    pub(crate) metrics: &'static [&'static str],
    /// Its mean over a window.
    pub(crate) mean: Of,
    /// Its largest value in a window, where readings say more than their mean.
    pub(crate) most: Option<Of>,
}

const fn of(name: &'static str, metrics: &'static [&'static str], mean: Of) -> Figure {
    Figure { name, metrics, mean, most: None }
}

const CPU: &[&str] = &[host::CPU_TIME, host::CPU_UTILIZATION];
const MEMORY: &[&str] = &[
    host::MEMORY_USAGE,
    host::MEMORY_AVAILABLE,
    host::CONTAINER_MEMORY_USAGE,
    host::CONTAINER_MEMORY_WORKING_SET,
];

/// Told where it is more than nothing anywhere: most machines share their processors with no other.
pub(crate) const STEAL: &str = "cpu_steal_share";

/// Figures of machines, in the order in which they are told.
pub(crate) const MACHINE: &[Figure] = &[
    of("cpu_busy_share", CPU, |at, when| Some(1.0 - modes(at, when, &["idle", "iowait"])?)),
    of("cpu_user_share", CPU, |at, when| modes(at, when, &["user", "nice"])),
    of("cpu_system_share", CPU, |at, when| modes(at, when, &["system", "interrupt", "softirq", "kernel"])),
    of("cpu_iowait_share", CPU, |at, when| modes(at, when, &["iowait"])),
    of("cpu_idle_share", CPU, |at, when| modes(at, when, &["idle"])),
    of(STEAL, CPU, |at, when| modes(at, when, &["steal"])),
    of("busiest_core_share", &[host::CPU_CORE_UTILIZATION], |at, when| {
        at.most(host::CPU_CORE_UTILIZATION, when, |_| true)
    }),
    of("load_1m_tasks", &[host::LOAD], |at, when| {
        at.sum(host::LOAD, when, |one| one.is(attr::LOAD_WINDOW, "1m"))
    }),
    of("cpu_pressure_share", &[host::PRESSURE], |at, when| pressure(at, when, "cpu")),
    of("memory_pressure_share", &[host::PRESSURE], |at, when| pressure(at, when, "memory")),
    of("io_pressure_share", &[host::PRESSURE], |at, when| pressure(at, when, "io")),
    Figure {
        name: "memory_used_bytes",
        metrics: MEMORY,
        mean: |at, when| Some(memory(at, when)?.0),
        most: Some(|at, when| Some(most_memory(at, when)?.0)),
    },
    of("memory_limit_bytes", MEMORY, |at, when| Some(memory(at, when)?.1)),
    Figure {
        name: "memory_used_share",
        metrics: MEMORY,
        mean: |at, when| memory(at, when).and_then(|(used, limit)| part(used, limit)),
        most: Some(|at, when| most_memory(at, when).and_then(|(used, limit)| part(used, limit))),
    },
    of("swap_used_bytes", &[host::PAGING_USAGE], |at, when| {
        at.sum(host::PAGING_USAGE, when, |one| one.is(attr::PAGING_STATE, "used"))
    }),
    of("swap_in_per_s", &[host::PAGING_OPERATIONS], |at, when| swapped(at, when, "in")),
    of("swap_out_per_s", &[host::PAGING_OPERATIONS], |at, when| swapped(at, when, "out")),
    of("disk_read_bytes_per_s", &[host::DISK_IO], |at, when| disk(at, when, "read")),
    of("disk_write_bytes_per_s", &[host::DISK_IO], |at, when| disk(at, when, "write")),
    of("busiest_disk_share", &[host::DISK_IO_TIME], |at, when| {
        at.largest(host::DISK_IO_TIME, when, |one| is_disk(at, one))
    }),
    of("network_receive_bytes_per_s", &[host::NETWORK_IO], |at, when| network(at, when, "receive")),
    of("network_transmit_bytes_per_s", &[host::NETWORK_IO], |at, when| network(at, when, "transmit")),
    of("container_throttled_share", &[host::CONTAINER_CPU_THROTTLED], |at, when| {
        at.one(host::CONTAINER_CPU_THROTTLED, when)
    }),
];

/// Figures of processes.
pub(crate) const PROCESS: &[Figure] = &[
    of("cpu_cores", &[host::PROCESS_CPU_TIME], |at, when| at.one(host::PROCESS_CPU_TIME, when)),
    Figure {
        name: "resident_bytes",
        metrics: &[row::PROCESS_MEMORY_USAGE.name],
        mean: |at, when| at.one(row::PROCESS_MEMORY_USAGE.name, when),
        most: Some(|at, when| at.most(row::PROCESS_MEMORY_USAGE.name, when, |_| true)),
    },
    of("disk_read_bytes_per_s", &[host::PROCESS_DISK_IO], |at, when| {
        at.sum(host::PROCESS_DISK_IO, when, |one| one.is(attr::DISK_IO_DIRECTION, "read"))
    }),
    of("disk_write_bytes_per_s", &[host::PROCESS_DISK_IO], |at, when| {
        at.sum(host::PROCESS_DISK_IO, when, |one| one.is(attr::DISK_IO_DIRECTION, "write"))
    }),
    of("major_faults_per_s", &[host::PROCESS_FAULTS], |at, when| {
        at.sum(host::PROCESS_FAULTS, when, |one| one.is(attr::PAGING_FAULT_TYPE, "major"))
    }),
];

/// A part of a whole that there is.
pub(crate) fn part(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The share of all processors' time in these modes; that of counters where there are.
fn modes(at: &Readings<'_, '_>, when: Window, wanted: &[&str]) -> Option<f64> {
    let is = |one: &Reading<'_>| one.label(attr::CPU_MODE).is_some_and(|mode| wanted.contains(&mode));
    if let Some(all) = at.one(host::CPU_TIME, when).filter(|&all| all > 0.0) {
        return part(at.sum(host::CPU_TIME, when, is).unwrap_or(0.0), all);
    }
    at.of(host::CPU_UTILIZATION).next()?;
    at.sum(host::CPU_UTILIZATION, when, is)
}

fn pressure(at: &Readings<'_, '_>, when: Window, resource: &str) -> Option<f64> {
    let is =
        |one: &Reading<'_>| one.is(attr::PRESSURE_RESOURCE, resource) && one.is(attr::PRESSURE_KIND, "some");
    at.sum(host::PRESSURE, when, is)
}

fn swapped(at: &Readings<'_, '_>, when: Window, direction: &str) -> Option<f64> {
    // Minor ones are all pages that were read and written, not those of swap space.
    at.sum(host::PAGING_OPERATIONS, when, |one| {
        one.is(attr::PAGING_DIRECTION, direction) && !one.is(attr::PAGING_FAULT_TYPE, "minor")
    })
}

/// What is used, and the least that it may be: the container's where that has a lower limit than the machine.
fn memory(at: &Readings<'_, '_>, when: Window) -> Option<(f64, f64)> {
    memory_by(at, when, |name| at.one(name, when), |name| at.one(name, when))
}

/// The same at its worst.
fn most_memory(at: &Readings<'_, '_>, when: Window) -> Option<(f64, f64)> {
    let least = |name: &str| at.of(name).filter_map(|one| one.track.least(when)).min_by(f64::total_cmp);
    memory_by(at, when, |name| at.most(name, when, |_| true), least)
}

fn memory_by(
    at: &Readings<'_, '_>,
    when: Window,
    used: impl Fn(&str) -> Option<f64>,
    available: impl Fn(&str) -> Option<f64>,
) -> Option<(f64, f64)> {
    let limit = at.one(host::MEMORY_LIMIT, when).or_else(|| at.one(host::MEMORY_USAGE, when));
    if let Some(own) = at.one(host::CONTAINER_MEMORY_LIMIT, when)
        && limit.is_none_or(|limit| own <= limit)
    {
        let all = used(host::CONTAINER_MEMORY_WORKING_SET).or_else(|| used(host::CONTAINER_MEMORY_USAGE));
        // What a process of it holds is no more than what it uses, and may be newer.
        let resident = used(row::PROCESS_MEMORY_USAGE.name).unwrap_or(0.0).min(own);
        return Some((all?.max(resident), own));
    }
    let limit = limit?;
    let in_use = |one: &Reading<'_>| one.is(attr::MEMORY_STATE, "used");
    let used = available(host::MEMORY_AVAILABLE).map(|available| (limit - available).max(0.0));
    Some((used.or_else(|| at.sum(host::MEMORY_USAGE, when, in_use))?, limit))
}

fn disk(at: &Readings<'_, '_>, when: Window, direction: &str) -> Option<f64> {
    at.sum(host::DISK_IO, when, |one| one.is(attr::DISK_IO_DIRECTION, direction) && is_disk(at, one))
}

/// Whether a device is a whole disk: no partition of another, and nothing that is mapped to others.
fn is_disk(at: &Readings<'_, '_>, one: &Reading<'_>) -> bool {
    const MAPPED: [&str; 6] = ["dm-", "md", "loop", "ram", "zram", "sr"];
    let Some(name) = one.label(attr::SYSTEM_DEVICE) else { return true };
    let is_part_of = |whole: &str| {
        let rest = name.strip_prefix(whole).map(|rest| rest.strip_prefix('p').unwrap_or(rest));
        whole != name && rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut others = at.of(one.row.name).filter_map(|other| other.label(attr::SYSTEM_DEVICE));
    !MAPPED.iter().any(|prefix| name.starts_with(prefix)) && !others.any(is_part_of)
}

fn network(at: &Readings<'_, '_>, when: Window, direction: &str) -> Option<f64> {
    // What goes through these goes through others as well, or nowhere.
    const INNER: [&str; 4] = ["lo", "veth", "docker", "br-"];
    let is = |one: &Reading<'_>| {
        let name = one.label(attr::NETWORK_INTERFACE_NAME).unwrap_or_default();
        one.is(attr::NETWORK_IO_DIRECTION, direction) && !INNER.iter().any(|inner| name.starts_with(inner))
    };
    at.sum(host::NETWORK_IO, when, is)
}

/// A figure over the stretches; absent where nothing is known of any.
pub(crate) fn over(figure: &Figure, at: &Readings<'_, '_>, stretches: &[Stretch]) -> Option<FigureRow> {
    let coarsest = |when: Window| {
        let tracks = figure.metrics.iter().flat_map(|name| at.of(name));
        tracks.map(|one| one.track.coarsest_ns(when)).max().unwrap_or(0)
    };
    let most = |when: Window| figure.most.and_then(|most| most(at, when));
    let parts = stretches.iter().map(|stretch| {
        let when = window(stretch);
        let is_fine = coarsest(when) <= when.length_ns().saturating_mul(MOST_COARSE);
        ((figure.mean)(at, when), most(when), is_fine)
    });
    told(figure.name, None, stretches, &parts.collect::<Vec<_>>())
}

/// The row of means, largest values and whether they are of a stretch alone, by stretch.
pub(crate) fn told(
    figure: &'static str,
    about: Option<String>,
    stretches: &[Stretch],
    parts: &[(Option<f64>, Option<f64>, bool)],
) -> Option<FigureRow> {
    let steady = || stretches.iter().zip(parts).filter(|(stretch, _)| !stretch.is_warmup);
    let (mut sum, mut known_ns) = (0.0, 0.0);
    let (mut least, mut largest): (Option<f64>, Option<f64>) = (None, None);
    for (stretch, (mean, most, _)) in steady() {
        let Some(mean) = mean else { continue };
        let length_ns = window(stretch).length_ns() as f64;
        sum += mean * length_ns;
        known_ns += length_ns;
        least = Some(least.map_or(*mean, |least| least.min(*mean)));
        let most = most.unwrap_or(*mean).max(*mean);
        largest = Some(largest.map_or(most, |largest| largest.max(most)));
    }
    if parts.iter().all(|(mean, ..)| mean.is_none()) {
        return None;
    }
    let as_said = |value: f64| said(figure, value);
    let values = parts.iter().map(|(mean, _, is_fine)| mean.filter(|_| *is_fine).map(as_said));
    Some(FigureRow {
        figure,
        about,
        mean: (known_ns > 0.0).then(|| as_said(sum / known_ns)),
        min: least.map(as_said),
        max: largest.map(as_said),
        values: values.collect(),
    })
}

/// As many digits as mean something.
fn said(figure: &str, value: f64) -> f64 {
    match figure.rsplit('_').next() {
        // A counter can be read a little before or after the time that its point says.
        Some("share") => rounded(value.clamp(0.0, 1.0), 4),
        Some("bytes" | "hz") => rounded(value, 0),
        _ => rounded(value, 3),
    }
}

/// The time of a stretch.
pub(crate) const fn window(stretch: &Stretch) -> Window {
    Window { from_ns: stretch.from_ns, to_ns: stretch.to_ns }
}
