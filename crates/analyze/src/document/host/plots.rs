//! Plots of what machines and GPUs did, over the numbers of the steps that began meanwhile: the same axis as that of the step
//! times.

use super::super::cell::keyed_line;
use super::super::{Cell, Plot, cells};
use super::words::label;
use super::{allocators, host_name};
use crate::document::names::printable;
use crate::report::Report;
use crate::summary::{FigureRow, HostFigures, Stretch};

/// Machines that are drawn.
const HOSTS: usize = 4;
/// Lines of a plot.
const LINES: usize = 8;

/// A line: its name, its class, its values by stretch.
pub(crate) type Line = (String, String, Vec<f64>);

/// A plot and its figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostPlot {
    pub(crate) id: String,
    /// Steps where its points begin.
    pub(crate) steps: Vec<u64>,
    /// Most steps that a point stands for.
    pub(crate) width: u64,
    /// What values are: `share`, `bytes`, `bytes_per_s`, `w`, `celsius`.
    pub(crate) unit: &'static str,
    pub(crate) lines: Vec<Line>,
    heading: Cell,
    what: &'static str,
}

impl HostPlot {
    /// What is said of it.
    pub(crate) fn plot(&self) -> Plot {
        let keys =
            self.lines.iter().map(|(name, class, _)| keyed_line(class.as_str(), Cell::Plain(name.clone())));
        Plot {
            id: self.id.clone(),
            title: format!("{}, over step numbers", self.what),
            heading: self.heading.clone(),
            caption: cells![
                self.what,
                ": ",
                Cell::joined(keys, ", "),
                ". Means from one reading to the next."
            ],
        }
    }
}

/// What is drawn of a machine, beside its GPUs: id, unit, words, figures.
const PLOTS: &[(&str, &str, &str, &[&str])] = &[
    (
        "cpu",
        "share",
        "Processors",
        &[
            "cpu_busy_share",
            "cpu_system_share",
            "cpu_iowait_share",
            "cpu_pressure_share",
            "io_pressure_share",
        ],
    ),
    ("memory", "bytes", "Memory", &["memory_used_bytes", "memory_limit_bytes", "swap_used_bytes"]),
    (
        "io",
        "bytes_per_s",
        "Disks and network",
        &[
            "disk_read_bytes_per_s",
            "disk_write_bytes_per_s",
            "network_receive_bytes_per_s",
            "network_transmit_bytes_per_s",
        ],
    ),
];

/// What is drawn of GPUs, a line each.
const GPU: &[(&str, &str, &str, &str)] = &[
    ("gpu", "share", "GPUs busy", "utilization_share"),
    ("gpu-memory", "share", "Memory of GPUs in use", "memory_used_share"),
    ("gpu-power", "w", "Power of GPUs", "power_w"),
    ("gpu-throttled", "share", "GPUs with lowered clocks", "throttled_share"),
];

/// The plots of a machine.
pub(crate) fn of(at: usize, report: &Report) -> Vec<HostPlot> {
    let Some(host) = report.host.as_ref().and_then(|hosts| hosts.hosts.get(at)).filter(|_| at < HOSTS) else {
        return Vec::new();
    };
    let is_only = report.host.as_ref().is_some_and(|hosts| hosts.hosts.len() == 1);
    let machine = PLOTS.iter().filter_map(|&(id, unit, what, figures)| {
        let rows = figures.iter().filter_map(|name| host.figure(name));
        let mut rows: Vec<(String, &FigureRow)> =
            rows.map(|row| (label(row.figure).to_owned(), row)).collect();
        if id == "memory" {
            let ranks = host.processes.iter().filter_map(|process| {
                let row = process.figures.iter().find(|row| row.figure == "resident_bytes")?;
                Some((process.rank.map_or_else(|| "Process".into(), |rank| format!("Rank {rank}")), row))
            });
            rows.extend(ranks);
        }
        plot(host, (&format!("host-{at}-{id}"), unit, what), &rows, is_only)
    });
    let is_one_process = host.processes.len() <= 1;
    let allocators: Vec<(String, &FigureRow)> = allocators::of(&host.processes)
        .flat_map(|one| {
            let figures =
                [("allocator_live_bytes", "in use"), ("allocator_reserved_bytes", "from the system")];
            figures.map(|(name, what)| {
                Some((allocators::line(&one, is_one_process, what), allocators::figure(&one, name)?.1))
            })
        })
        .flatten()
        .collect();
    let id = format!("host-{at}-allocators");
    let allocators = plot(host, (&id, "bytes", "Allocators"), &allocators, is_only);
    let devices = || report.gpu.iter().flat_map(|gpu| &gpu.devices).filter(|gpu| gpu.host == at);
    let gpus = GPU.iter().filter_map(|&(id, unit, what, name)| {
        let rows: Vec<(String, &FigureRow)> = devices()
            .filter_map(|gpu| Some((printable(gpu.title()).to_string(), gpu.figure(name)?)))
            .collect();
        plot(host, (&format!("host-{at}-{id}"), unit, what), &rows, is_only)
    });
    machine.chain(allocators).chain(gpus).collect()
}

/// A plot of these rows: of those that are more than nothing somewhere.
fn plot(
    host: &HostFigures,
    (id, unit, what): (&str, &'static str, &'static str),
    rows: &[(String, &FigureRow)],
    is_only: bool,
) -> Option<HostPlot> {
    let drawn: Vec<(usize, &Stretch, u64)> = host
        .stretches
        .iter()
        .enumerate()
        .filter_map(|(n, stretch)| Some((n, stretch, stretch.first_step?)))
        .collect();
    let is_there = |row: &FigureRow| row.values.iter().flatten().any(|&value| value > 0.0);
    let lines: Vec<Line> = rows
        .iter()
        .filter(|(_, row)| is_there(row))
        .take(LINES)
        .enumerate()
        .map(|(n, (name, row))| {
            let value = |at: usize| row.values.get(at).copied().flatten().unwrap_or(f64::NAN);
            (name.clone(), format!("m{n}"), drawn.iter().map(|&(at, ..)| value(at)).collect())
        })
        .collect();
    // Steps of several processes need not begin in the order of their numbers.
    let is_sorted = drawn.is_sorted_by_key(|(.., step)| *step);
    if lines.is_empty() || drawn.len() < 2 || !is_sorted {
        return None;
    }
    let steps: Vec<u64> = drawn.iter().map(|(.., step)| *step).collect();
    let apart = steps.iter().zip(steps.iter().skip(1)).map(|(a, b)| b - a);
    let width = apart.max().unwrap_or(1).max(1);
    let heading = if is_only { what.into() } else { cells![format!("{what} of "), host_name(host)] };
    Some(HostPlot { id: id.into(), steps, width, unit, lines, heading, what })
}
