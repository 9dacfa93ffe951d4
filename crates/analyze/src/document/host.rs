//! What machines and GPUs did while steps ran: their figures, how these went over the run, and when nothing can be said.

mod allocators;
pub(crate) mod plots;
mod words;

use super::cell::{UNKNOWN, code, count, float, ns};
use super::names::named;
use super::{Cell, Document, Shown, cells};
use crate::metrics::judged;
use crate::report::Report;
use crate::report::units::{duration, things};
use crate::summary::{FigureRow, GpuFigures, HostFigures, Stretch};
use words::{label, unit};

/// Machines, and GPUs, told where there is little room.
const LISTED: usize = 4;
/// Rows on how the figures went where there is little room.
const ROWS: usize = 8;

/// A figure that has a column where it is told how the figures went: title, of the machine or its GPUs, name, where.
const COLUMNS: &[(&str, bool, &str, Shown)] = &[
    (">CPU", false, "cpu_busy_share", Shown::ALL),
    (">I/O wait", false, "cpu_iowait_share", Shown::ALL),
    (">Memory", false, "memory_used_share", Shown::ALL),
    (">Read", false, "disk_read_bytes_per_s", Shown::ALL),
    (">Written", false, "disk_write_bytes_per_s", Shown::ALL),
    (">GPU", true, "utilization_share", Shown::ALL),
    (">GPU memory", true, "memory_used_share", Shown::TABLES),
];

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let Some(hosts) = &report.host else { return };
    doc.part("host", "Host", "Host and devices");
    doc.heading(Shown::BRIEF, "Host and devices");
    if let Some(because) = &hosts.not_joined {
        return doc.say(Shown::ALL, format!("Not told: {}.", judged::words(because)));
    }
    let all = hosts.hosts.len();
    let most = if doc.is(Shown::HTML) { all } else { LISTED };
    for (at, host) in hosts.hosts.iter().take(most).enumerate() {
        if all > 1 {
            doc.heading(Shown::HTML, host_name(host));
        }
        doc.say(Shown::ALL, resolution(host));
        plots::of(at, report).into_iter().for_each(|plot| doc.plot(plot.plot()));
        figures(at, host, doc);
        allocators::fill(at, host, doc);
        over_time(at, host, &gpus(report, at), doc);
        stretches(at, host, doc);
    }
    doc.more(Shown::BRIEF, all, most, ("machine", "machines"));
    devices(report, doc);
}

fn gpus(report: &Report, host: usize) -> Vec<&GpuFigures> {
    report.gpu.iter().flat_map(|gpu| &gpu.devices).filter(|gpu| gpu.host == host).collect()
}

fn host_name(host: &HostFigures) -> Cell {
    host.name.as_deref().map_or_else(|| "A machine without a name".into(), code)
}

/// Who measured, how often, and what a figure is of.
fn resolution(host: &HostFigures) -> String {
    let name = host.name.as_deref().map_or_else(String::new, |name| format!("`{}` was ", named(name)));
    let begin = if name.is_empty() { "Read".to_owned() } else { format!("{name}read") };
    let every = if host.every_ns > 0 {
        format!("{begin} every {}", duration(host.every_ns))
    } else {
        format!("{begin} once")
    };
    let steps = host.steps_per_stretch.max(1);
    let covers = if host.stretches.len() > 1 {
        format!(": each figure below covers about {}", things(steps, "step", "steps"))
    } else {
        String::new()
    };
    let measured = match host.steps.saturating_sub(host.steps_measured) {
        0 => String::new(),
        others => {
            format!(" Nothing was read while {} of {} began.", others, things(host.steps, "step", "steps"))
        }
    };
    format!("{every}{covers}.{measured}")
}

/// A figure as it is said.
fn said(figure: &str, value: Option<f64>) -> Cell {
    float(value, unit(figure, value.unwrap_or(0.0)))
}

/// What a row is about.
fn title(row: &FigureRow) -> Cell {
    match &row.about {
        Some(about) if row.figure == "gauge" => code(about),
        Some(about) => cells![format!("{} ", label(row.figure)), code(about)],
        None => label(row.figure).into(),
    }
}

/// What is told of a machine, and of its processes.
fn figures(at: usize, host: &HostFigures, doc: &mut Document) {
    let place = format!("host/hosts/{at}");
    let mut rows: Vec<(String, Cell, &FigureRow)> = Vec::new();
    for (n, row) in host.figures.iter().enumerate() {
        rows.push((format!("figures/{n}"), title(row), row));
    }
    for (p, process) in host.processes.iter().enumerate() {
        let rank = process.rank.filter(|_| host.processes.len() > 1);
        let of = rank.map_or_else(String::new, |rank| format!("Rank {rank}: "));
        for (n, row) in process.figures.iter().enumerate().filter(|(_, row)| !allocators::is_one(row)) {
            rows.push((
                format!("processes/{p}/figures/{n}"),
                cells![of.as_str(), words::of_process(row.figure)],
                row,
            ));
        }
    }
    for (n, row) in host.gauges.iter().enumerate() {
        rows.push((format!("gauges/{n}"), title(row), row));
    }
    let is_brief = doc.is(Shown::BRIEF);
    rows.retain(|(place, _, row)| !is_brief || words::is_brief(row, place.starts_with("processes")));
    doc.table(Shown::ALL, "While steps ran, warm-up apart", rows)
        .below(place)
        .at(|(place, ..)| place.clone())
        .column(Shown::ALL, "While steps ran|What", "", |(_, title, _)| title.clone())
        .column(Shown::ALL, ">Mean", "mean", |(.., row)| said(row.figure, row.mean))
        .column(Shown::ALL, ">Least", "min", |(.., row)| said(row.figure, row.min))
        .column(Shown::ALL, ">Most", "max", |(.., row)| said(row.figure, row.max))
        .end();
}

/// The mean of what is known of values over stretches.
fn mean_of(stretches: &[Stretch], values: &[Option<f64>]) -> Option<f64> {
    let known = stretches.iter().zip(values).filter_map(|(stretch, value)| {
        Some(((*value)?, stretch.to_ns.saturating_sub(stretch.from_ns) as f64))
    });
    let (sum, whole) = known.fold((0.0, 0.0), |(sum, whole), (value, ns)| (sum + value * ns, whole + ns));
    (whole > 0.0).then(|| sum / whole)
}

/// How the figures went, in a few rows: neighbouring stretches together.
fn over_time(at: usize, host: &HostFigures, gpus: &[&GpuFigures], doc: &mut Document) {
    if host.stretches.len() < 2 || doc.is(Shown::HTML) {
        return;
    }
    let size = host.stretches.len().div_ceil(ROWS);
    let parts: Vec<(usize, &[Stretch])> =
        host.stretches.chunks(size).enumerate().map(|(n, part)| (n * size, part)).collect();
    let columns = COLUMNS.iter().filter_map(|&(title, is_gpu, name, shown)| {
        let rows: Vec<&FigureRow> = if is_gpu {
            gpus.iter().filter_map(|gpu| gpu.figure(name)).collect()
        } else {
            host.figure(name).into_iter().collect()
        };
        (!rows.is_empty()).then_some((title, name, rows, shown))
    });
    let mut table = doc
        .table(Shown::BRIEF, "", parts)
        .below(format!("host/hosts/{at}"))
        .column(Shown::BRIEF, ">From step", "", |(_, part)| {
            count(part.iter().find_map(|stretch| stretch.first_step)).or_empty()
        })
        .column(Shown::BRIEF, ">Step time", "", |(_, part)| ns(step_ns(part)).or_empty());
    for (title, name, rows, shown) in columns {
        table = table.column(shown, title, "", |&(first, part)| {
            let of = |row: &&FigureRow| mean_of(part, row.values.get(first..).unwrap_or_default());
            let known: Vec<f64> = rows.iter().filter_map(of).collect();
            // Of several GPUs the mean.
            let mean = (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64);
            mean.map_or(UNKNOWN, |mean| said(name, Some(mean)))
        });
    }
    table.end();
}

/// What a step took in these stretches: the mean of their medians, by steps.
fn step_ns(part: &[Stretch]) -> Option<u64> {
    let known =
        part.iter().filter_map(|stretch| Some((u128::from(stretch.step_p50_ns?), u128::from(stretch.steps))));
    let (sum, steps) = known.fold((0u128, 0u128), |(sum, all), (ns, steps)| (sum + ns * steps, all + steps));
    u64::try_from(sum.checked_div(steps)?).ok()
}

/// Every stretch with the figures that the plots are of.
fn stretches(at: usize, host: &HostFigures, doc: &mut Document) {
    if !doc.is(Shown::HTML) || host.stretches.is_empty() {
        return;
    }
    let shown = COLUMNS.iter().filter(|(_, is_gpu, ..)| !is_gpu);
    let columns: Vec<(&str, usize, &FigureRow)> = shown
        .filter_map(|&(title, _, name, _)| {
            let place = host.figures.iter().position(|row| row.figure == name)?;
            Some((title, place, host.figures.get(place)?))
        })
        .collect();
    doc.details("", format!("The {} stretches of the run, as a table", host.stretches.len()), |doc| {
        let mut table = doc
            .table(Shown::HTML, "Figures by stretch of the run", host.stretches.iter().enumerate())
            .below(format!("host/hosts/{at}"))
            .column(Shown::HTML, ">From step", "", |(n, one)| {
                count(one.first_step).at(format!("stretches/{n}/first_step"))
            })
            .column(Shown::HTML, ">Steps", "", |(n, one)| count(one.steps).at(format!("stretches/{n}/steps")))
            .column(Shown::HTML, ">Step p50", "", |(n, one)| {
                ns(one.step_p50_ns).at(format!("stretches/{n}/step_p50_ns"))
            });
        for (title, place, row) in columns {
            table = table.column(Shown::HTML, title, "", |(n, _)| {
                let value = row.values.get(*n).copied().flatten();
                said(row.figure, value).at(format!("figures/{place}/values/{n}"))
            });
        }
        table.end();
    });
}

/// The GPUs.
fn devices(report: &Report, doc: &mut Document) {
    let devices = report.gpu.iter().flat_map(|gpu| &gpu.devices);
    let all = devices.clone().count();
    let most = if doc.is(Shown::HTML) { all } else { 2 * LISTED };
    let figure = |name: &'static str, of: fn(&FigureRow) -> Option<f64>, field: &'static str| {
        move |(_, gpu): &(usize, &GpuFigures)| {
            let place = gpu.figures.iter().position(|row| row.figure == name);
            let row = place.and_then(|place| gpu.figures.get(place));
            let cell = said(name, row.and_then(of));
            place.map_or(cell.clone(), |place| cell.at(format!("figures/{place}/{field}")))
        }
    };
    let hosts = report.host.as_ref().map_or(&[][..], |host| host.hosts.as_slice());
    let several = if hosts.len() > 1 { Shown::ALL } else { Shown::NONE };
    let mean: fn(&FigureRow) -> Option<f64> = |row| row.mean;
    let max: fn(&FigureRow) -> Option<f64> = |row| row.max;
    doc.table(Shown::ALL, "GPUs while steps ran, warm-up apart", devices.take(most).enumerate())
        .at(|(at, _)| format!("gpu/devices/{at}"))
        .column(Shown::ALL, "GPU", "", |(_, gpu)| code(gpu.title()))
        .column(several, "Host", "", |(_, gpu)| hosts.get(gpu.host).map_or(UNKNOWN, host_name))
        .column(Shown::TABLES, "Model", "", |(_, gpu)| gpu.model.as_deref().map_or(UNKNOWN, Cell::from))
        .column(Shown::ALL, ">Busy", "", figure("utilization_share", mean, "mean"))
        .column(Shown::HTML, ">Cores busy", "", figure("sm_active_share", mean, "mean"))
        .column(Shown::HTML, ">Memory", "", figure("memory_used_bytes", max, "max"))
        .column(Shown::ALL, ">Memory at most", "", figure("memory_used_share", max, "max"))
        .column(Shown::ALL, ">Power", "", figure("power_w", mean, "mean"))
        .column(Shown::ALL, ">Hottest", "", figure("temperature_celsius", max, "max"))
        .column(Shown::ALL, ">Throttled", "", figure("throttled_share", mean, "mean"))
        .column(Shown::HTML, ">Clock", "", figure("clock_hz", mean, "mean"))
        .column(Shown::ALL, ">A step", "", figure("energy_j_per_step", mean, "mean"))
        .end();
    doc.more(Shown::BRIEF, all, most, ("GPU", "GPUs"));
}
