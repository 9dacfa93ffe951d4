//! What is told of GPUs, of the fullness of file systems, and of energy a step.

use std::collections::BTreeMap;

use stepscope_core::attr;
use stepscope_core::metric::{device, host};

use crate::metrics::figures::{Figure, over, part, told, window};
use crate::metrics::readings::{Reading, Readings};
use crate::metrics::track::Window;
use crate::summary::{FigureRow, GpuFigures, Stretch};

/// Why clocks are lower than they could be, of what somebody can do something about.
const THROTTLED: [&str; 3] = ["power_cap", "thermal", "power_brake"];

/// Figures of GPUs, in the order in which they are told.
const GPU: &[Figure] = &[
    Figure {
        name: "utilization_share",
        metrics: &[device::GPU_BUSY_TIME, device::GPU_UTILIZATION],
        mean: |at, when| at.one(device::GPU_BUSY_TIME, when).or_else(|| utilization(at, when)),
        most: None,
    },
    Figure {
        name: "memory_used_bytes",
        metrics: &[device::GPU_MEMORY_USAGE],
        mean: |at, when| at.one(device::GPU_MEMORY_USAGE, when),
        most: Some(|at, when| at.most(device::GPU_MEMORY_USAGE, when, |_| true)),
    },
    Figure {
        name: "memory_used_share",
        metrics: &[device::GPU_MEMORY_USAGE, device::GPU_MEMORY_UTILIZATION],
        mean: |at, when| {
            memory_share(at, when, at.one(device::GPU_MEMORY_USAGE, when))
                .or_else(|| at.one(device::GPU_MEMORY_UTILIZATION, when))
        },
        most: Some(|at, when| memory_share(at, when, at.most(device::GPU_MEMORY_USAGE, when, |_| true))),
    },
    Figure {
        name: "power_w",
        metrics: &[device::HW_POWER],
        mean: |at, when| at.one(device::HW_POWER, when),
        most: Some(|at, when| at.most(device::HW_POWER, when, |_| true)),
    },
    Figure {
        name: "temperature_celsius",
        metrics: &[device::HW_TEMPERATURE],
        mean: |at, when| at.one(device::HW_TEMPERATURE, when),
        most: Some(|at, when| at.most(device::HW_TEMPERATURE, when, |_| true)),
    },
    Figure {
        name: "throttled_share",
        metrics: &[device::GPU_THROTTLED],
        mean: |at, when| throttled(at, when, &THROTTLED),
        most: None,
    },
    Figure {
        name: "throttled_by_heat_share",
        metrics: &[device::GPU_THROTTLED],
        mean: |at, when| throttled(at, when, &["thermal"]),
        most: None,
    },
    Figure {
        name: "throttled_by_power_share",
        metrics: &[device::GPU_THROTTLED],
        mean: |at, when| throttled(at, when, &["power_cap", "power_brake"]),
        most: None,
    },
    Figure {
        name: "clock_hz",
        metrics: &[device::GPU_CLOCK],
        mean: |at, when| at.sum(device::GPU_CLOCK, when, |one| one.is(attr::GPU_CLOCK_DOMAIN, "sm")),
        most: None,
    },
    Figure {
        name: "sm_active_share",
        metrics: &[device::GPU_ACTIVITY],
        mean: |at, when| at.sum(device::GPU_ACTIVITY, when, |one| one.is(attr::GPU_UNIT, "sm")),
        most: None,
    },
];

fn utilization(at: &Readings<'_, '_>, when: Window) -> Option<f64> {
    let is_general = |one: &Reading<'_>| one.label(attr::HW_GPU_TASK).is_none_or(|task| task == "general");
    at.sum(device::GPU_UTILIZATION, when, is_general)
}

fn memory_share(at: &Readings<'_, '_>, when: Window, used: Option<f64>) -> Option<f64> {
    part(used?, at.one(device::GPU_MEMORY_LIMIT, when)?)
}

/// Share of the time in which one of these was so: the most often of them, since they may be at once.
fn throttled(at: &Readings<'_, '_>, when: Window, reasons: &[&str]) -> Option<f64> {
    let is = |one: &Reading<'_>| {
        one.label(attr::GPU_THROTTLE_REASON).is_some_and(|reason| reasons.contains(&reason))
    };
    at.largest(device::GPU_THROTTLED, when, is)
}

/// The GPUs of a machine, by identity.
pub(crate) fn gpus(host: usize, all: &Readings<'_, '_>, stretches: &[Stretch]) -> Vec<GpuFigures> {
    let mut by_id: BTreeMap<&str, Readings<'_, '_>> = BTreeMap::new();
    let is_gpu = |one: &Reading<'_>| {
        let name = one.row.name;
        [
            device::GPU_UTILIZATION,
            device::GPU_MEMORY_USAGE,
            device::GPU_BUSY_TIME,
            device::GPU_MEMORY_UTILIZATION,
        ]
        .contains(&name)
    };
    for reading in all.0.iter().filter(|one| is_gpu(one)) {
        by_id.entry(reading.label(attr::HW_ID).unwrap_or_default()).or_default();
    }
    for reading in &all.0 {
        if let Some(own) = by_id.get_mut(reading.label(attr::HW_ID).unwrap_or_default())
            && reading.row.attributes.contains(&attr::HW_ID)
        {
            own.0.push(reading);
        }
    }
    let one = |(id, own): (&str, Readings<'_, '_>)| {
        let said = |key| own.0.iter().find_map(|one| one.label(key)).map(str::to_owned);
        let mut figures: Vec<FigureRow> =
            GPU.iter().filter_map(|figure| over(figure, &own, stretches)).collect();
        figures.extend(energy(&own, stretches, |_| true));
        let (name, model) = (said(attr::HW_NAME), said(attr::HW_MODEL));
        (!figures.is_empty()).then(|| GpuFigures { host, id: id.to_owned(), name, model, figures })
    };
    let mut gpus: Vec<GpuFigures> = by_id.into_iter().filter_map(one).collect();
    gpus.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    gpus
}

/// Joules a step: what counters rose by, over the steps that began meanwhile. One that never rose counts nothing: whatever runs
/// takes energy.
pub(crate) fn energy(
    at: &Readings<'_, '_>,
    stretches: &[Stretch],
    is: impl Fn(&Reading<'_>) -> bool,
) -> Option<FigureRow> {
    let joules = |stretch: &Stretch| {
        let mut sum = None;
        for one in at.of(device::HW_ENERGY).filter(|one| is(one) && one.track.ever_rose()) {
            sum = Some(sum.unwrap_or(0.0) + one.track.risen(window(stretch))?);
        }
        sum
    };
    let all: Vec<(Option<f64>, &Stretch)> = stretches.iter().map(|one| (joules(one), one)).collect();
    let a_step = |joules: f64, steps: u64| (steps > 0).then(|| joules / steps as f64);
    let parts: Vec<_> = all
        .iter()
        .map(|(joules, one)| (joules.and_then(|joules| a_step(joules, one.steps)), None, true))
        .collect();
    let row = told("energy_j_per_step", None, stretches, &parts)?;
    let steady = all.iter().filter(|(joules, one)| !one.is_warmup && joules.is_some());
    let (joules, steps) = steady.fold((0.0, 0u64), |(joules, steps), (more, one)| {
        (joules + more.unwrap_or(0.0), steps.saturating_add(one.steps))
    });
    // Not the mean of the stretches': those with many steps count more.
    Some(FigureRow {
        mean: a_step(joules, steps).map(|joules| crate::report::finding::rounded(joules, 3)),
        ..row
    })
}

/// How full each file system is, the fullest first; those of the system itself are left out.
pub(crate) fn file_systems(at: &Readings<'_, '_>, stretches: &[Stretch]) -> Vec<FigureRow> {
    const INNER: [&str; 7] = ["tmpfs", "devtmpfs", "squashfs", "overlay", "proc", "sysfs", "autofs"];
    const LISTED: usize = 8;
    // What is mounted in several places is told once, by the shortest of them.
    let mut mounted: BTreeMap<&str, (&str, Vec<&Reading<'_>>)> = BTreeMap::new();
    for name in [host::FILESYSTEM_USAGE, host::FILESYSTEM_UTILIZATION] {
        for one in at.of(name) {
            if INNER.contains(&one.label(attr::FILESYSTEM_TYPE).unwrap_or_default()) {
                continue;
            }
            let mount = one.label(attr::FILESYSTEM_MOUNTPOINT).unwrap_or_default();
            let device = one.label(attr::SYSTEM_DEVICE).unwrap_or(mount);
            let (shortest, own) = mounted.entry(device).or_insert_with(|| (mount, Vec::new()));
            if (mount.len(), mount) < (shortest.len(), *shortest) {
                *shortest = mount;
            }
            own.push(one);
        }
    }
    let row = |(mount, own): (&str, Vec<&Reading<'_>>)| {
        let full = |when: Window| {
            let of = |state: &str| {
                let is = |one: &&&Reading<'_>| {
                    one.row.name == host::FILESYSTEM_USAGE && one.is(attr::FILESYSTEM_STATE, state)
                };
                own.iter().find(is)?.track.mean(when)
            };
            let said = own.iter().find(|one| one.row.name == host::FILESYSTEM_UTILIZATION);
            let said = said.and_then(|one| one.track.mean(when));
            let used = of("used").zip(of("free"));
            used.and_then(|(used, free)| part(used, used + free)).or(said)
        };
        let parts: Vec<_> = stretches.iter().map(|one| (full(window(one)), None, true)).collect();
        told("filesystem_used_share", Some(mount.to_owned()), stretches, &parts)
    };
    let mut rows: Vec<FigureRow> = mounted.into_values().filter_map(row).collect();
    let fullness = |row: &FigureRow| row.max.unwrap_or(0.0);
    rows.sort_by(|a, b| fullness(b).total_cmp(&fullness(a)).then_with(|| a.about.cmp(&b.about)));
    rows.truncate(LISTED);
    rows
}
