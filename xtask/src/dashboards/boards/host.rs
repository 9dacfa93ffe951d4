//! Hosts and containers: processors, pressure, memory, disks, network, limits. These are stepscope's own names; the
//! collector's `host_metrics` receiver still has older labels (`cpu`, `state`, `device`, `direction`, `type`).

use stepscope_core::vocabulary::Metric;
use stepscope_core::{attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, host, marks, rank, run, without};
use crate::dashboards::findings::Rules;
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{Draft, bars, stacked, stat, text, timeseries, unit};
use crate::dashboards::query::{Expression, INSTANCE, JOB, PROCESS, label, of};

use metric::host::row as machine;

const ABOUT: &str = "Queries here ask for the names that stepscope publishes, as `cpu_mode` and `system_device`. \
    The collector's `host_metrics` receiver has older ones (`cpu`, `state`, `device`, `direction`, `type`): the \
    analyzer reads both, these panels do not.";

pub(in crate::dashboards) fn board(_: &Rules) -> Outcome<Dashboard> {
    let named = |what: &str| format!("{what} {{{{{}}}}}", label(attr::HOST_NAME));
    let per_host = [attr::HOST_NAME];
    let gauge = |row: &'static Metric| of(row).now().of_host();
    let last = |row: &'static Metric| of(row).last().of_host();
    let board = Board::new(
        "stepscope-host",
        "Host",
        "Are processors, memory, disks, network or container limits short?",
    )
    .with(run())
    .with(host())
    .with(rank())
    .row(
        4,
        [
            stat(
                "Processors busy",
                "Share of all processors' time that is neither idle nor waiting for storage.",
            )
            .share()
            .colors(0.85, 0.95)
            .without(without::MACHINE)
            .query(&busy().max(&[]), "busy"),
            stat("Memory used", "Share of the machine's memory that could not be freed without swapping.")
                .share()
                .colors(0.8, 0.9)
                .without(without::MACHINE)
                .query(&gauge(&machine::MEMORY_UTILIZATION).max(&[]), "used"),
            stat("Load a processor", "Tasks that could run, averaged over a minute, for each processor.")
                .colors(1.0, 2.0)
                .without(without::MACHINE)
                .query(&load_per_cpu(), "load"),
            stat("Disk full", "Share in use of the fullest file system.")
                .share()
                .colors(0.8, 0.9)
                .without(without::MACHINE)
                .query(&gauge(&machine::FILESYSTEM_UTILIZATION).max(&[]), "full"),
            stat("Throttled", "Share of the time in which the container was stopped, its quota used up.")
                .share()
                .colors(0.05, 0.2)
                .without(without::CONTAINER)
                .query(&of(&machine::CONTAINER_CPU_THROTTLED).rate().of_run().max(&[]), "throttled"),
        ],
    )
    .row(
        9,
        [
            stacked(
                "Processors by mode",
                "Share of all processors' time by what they did, on average over hosts.",
            )
            .share()
            .without(without::MACHINE)
            .query(
                &of(&machine::CPU_UTILIZATION)
                    .unlike(attr::CPU_MODE, "idle")
                    .now()
                    .of_host()
                    .average(&[attr::HOST_NAME, attr::CPU_MODE])
                    .average(&[attr::CPU_MODE]),
                &format!("{{{{{}}}}}", label(attr::CPU_MODE)),
            ),
            timeseries(
                "Processors busy",
                "Share of a host's processor time that is neither idle nor waiting for storage.",
            )
            .share()
            .without(without::MACHINE)
            .query(&busy(), &named("")),
            bars("Single processors", "Share of the time in which each processor is busy; the 32 busiest.")
                .share()
                .colors(0.85, 0.95)
                .without(without::MACHINE)
                .query(
                    &last(&machine::CPU_CORE_UTILIZATION)
                        .max(&[attr::HOST_NAME, attr::CPU_LOGICAL_NUMBER])
                        .top(32),
                    &format!("{} {{{{{}}}}}", named(""), label(attr::CPU_LOGICAL_NUMBER)),
                ),
        ],
    )
    .row(
        8,
        [
            timeseries("Pressure", "Share of the time in which tasks could not go on, for want of what.")
                .share()
                .without(without::PRESSURE)
                .query(&pressure(&machine::PRESSURE, Expression::of_host), &pressure_legend()),
            timeseries("Load", "Tasks that could run, averaged over a minute, and processors.")
                .zero_based()
                .without(without::MACHINE)
                .query(
                    &of(&machine::LOAD).is(attr::LOAD_WINDOW, "1m").now().of_host().max(&per_host),
                    &named("load"),
                )
                .query(&gauge(&machine::CPU_COUNT).max(&per_host), &named("processors")),
            rates(
                "Context switches",
                "Switches between tasks a second.",
                &machine::CONTEXT_SWITCHES,
                attr::HOST_NAME,
            )
            .unit(unit::OPERATIONS_A_SECOND),
        ],
    )
    .row(
        9,
        [
            stacked("Memory by state", "Memory by what it is in, all chosen hosts added up.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::MACHINE)
                .query(
                    &gauge(&machine::MEMORY_USAGE)
                        .max(&[attr::HOST_NAME, attr::MEMORY_STATE])
                        .sum(&[attr::MEMORY_STATE]),
                    &format!("{{{{{}}}}}", label(attr::MEMORY_STATE)),
                ),
            timeseries("Memory available", "Memory that programs can have without swapping.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::MACHINE)
                .query(&gauge(&machine::MEMORY_AVAILABLE).max(&per_host), &named("")),
            bars("File systems", "Share of the space in use.")
                .share()
                .colors(0.8, 0.9)
                .without(without::MACHINE)
                .query(
                    &last(&machine::FILESYSTEM_UTILIZATION)
                        .max(&[attr::HOST_NAME, attr::FILESYSTEM_MOUNTPOINT]),
                    &format!("{} {{{{{}}}}}", named(""), label(attr::FILESYSTEM_MOUNTPOINT)),
                ),
        ],
    )
    .row(
        9,
        [
            rates(
                "Disk bytes",
                "Bytes read and written a second.",
                &machine::DISK_IO,
                attr::DISK_IO_DIRECTION,
            )
            .unit(unit::BYTES_A_SECOND),
            rates(
                "Disk operations",
                "Requests that disks complete a second.",
                &machine::DISK_OPERATIONS,
                attr::DISK_IO_DIRECTION,
            )
            .unit(unit::OPERATIONS_A_SECOND),
            rates(
                "Disks busy",
                "Share of the time in which a disk has requests.",
                &machine::DISK_IO_TIME,
                attr::SYSTEM_DEVICE,
            )
            .share(),
        ],
    )
    .row(
        9,
        [
            rates(
                "Network bytes",
                "Bytes received and sent a second.",
                &machine::NETWORK_IO,
                attr::NETWORK_IO_DIRECTION,
            )
            .unit(unit::BYTES_A_SECOND),
            rates(
                "Packets dropped",
                "Packets that interfaces drop a second.",
                &machine::NETWORK_DROPPED,
                attr::NETWORK_IO_DIRECTION,
            )
            .unit(unit::OPERATIONS_A_SECOND),
            timeseries("TCP connections", "Connections by state.")
                .zero_based()
                .without(without::MACHINE)
                .query(
                    &gauge(&machine::NETWORK_CONNECTIONS)
                        .max(&[attr::HOST_NAME, attr::NETWORK_CONNECTION_STATE]),
                    &format!("{} {{{{{}}}}}", named(""), label(attr::NETWORK_CONNECTION_STATE)),
                ),
        ],
    )
    .row(
        9,
        [
            timeseries("Container processors", "Processors that containers keep busy, and may use.")
                .zero_based()
                .without(without::CONTAINER)
                .query(&of(&machine::CONTAINER_CPU_USAGE).now().of_run().max(&per_host), &named("busy"))
                .query(&of(&machine::CONTAINER_CPU_LIMIT).now().of_run().max(&per_host), &named("limit")),
            timeseries("Container memory", "Memory of containers, and what they may use.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::CONTAINER)
                .query(&of(&machine::CONTAINER_MEMORY_USAGE).now().of_run().max(&per_host), &named("in use"))
                .query(&of(&machine::CONTAINER_MEMORY_LIMIT).now().of_run().max(&per_host), &named("limit")),
            timeseries(
                "Container pressure",
                "Share of the time in which a container's tasks could not go on.",
            )
            .share()
            .without(without::PRESSURE)
            .query(&pressure(&machine::CONTAINER_PRESSURE, Expression::of_run), &pressure_legend()),
        ],
    )
    .row(
        8,
        [
            processes(
                "Processors of processes",
                "Processors that the chosen ranks' processes keep busy.",
                &machine::PROCESS_CPU_TIME,
            )
            .without(without::GAUGES),
            processes(
                "Bytes of processes",
                "Bytes that processes read and write from and to storage a second.",
                &machine::PROCESS_DISK_IO,
            )
            .unit(unit::BYTES_A_SECOND)
            .without(without::GAUGES),
            text("About these figures", "Which names these panels ask for.", ABOUT),
        ],
    );
    Ok(board.finish(marks()))
}

/// Modes of one reader add up; those of several, each from another time, may be more than all there is.
fn busy() -> Expression {
    let modes = of(&machine::CPU_UTILIZATION).unlike(attr::CPU_MODE, "idle|iowait").now().of_host();
    modes.sum(&[attr::HOST_NAME, JOB, INSTANCE]).max(&[attr::HOST_NAME])
}

fn load_per_cpu() -> Expression {
    let per_host = [attr::HOST_NAME];
    let load = of(&machine::LOAD).is(attr::LOAD_WINDOW, "1m").now().of_host().max(&per_host);
    load.by("/", &of(&machine::CPU_COUNT).now().of_host().max(&per_host)).max(&[])
}

fn pressure(row: &'static Metric, of_whom: fn(&Expression) -> Expression) -> Expression {
    of_whom(&of(row).rate()).max(&[attr::HOST_NAME, attr::PRESSURE_RESOURCE, attr::PRESSURE_KIND])
}

fn pressure_legend() -> String {
    format!(
        "{{{{{}}}}} {{{{{}}}}} {{{{{}}}}}",
        label(attr::HOST_NAME),
        label(attr::PRESSURE_RESOURCE),
        label(attr::PRESSURE_KIND)
    )
}

/// Growth a second of what a host counts, by one attribute.
fn rates(title: &'static str, description: &'static str, row: &'static Metric, key: &'static str) -> Draft {
    let by: &[&str] = if key == attr::HOST_NAME { &[key] } else { &[attr::HOST_NAME, key] };
    // Who reads the same machine twice counts it once.
    let each: Vec<&str> = std::iter::once(attr::HOST_NAME).chain(row.attributes.iter().copied()).collect();
    let legend = by.iter().map(|key| format!("{{{{{}}}}}", label(key))).collect::<Vec<_>>().join(" ");
    timeseries(title, description)
        .zero_based()
        .without(without::MACHINE)
        .query(&of(row).rate().of_host().max(&each).sum(by), &legend)
}

fn processes(title: &'static str, description: &'static str, row: &'static Metric) -> Draft {
    let legend = format!("{{{{{}}}}} rank {{{{{}}}}}", label(attr::RUN_ID), label(attr::RANK));
    timeseries(title, description).zero_based().query(&of(row).rate().of_run().sum(&PROCESS), &legend)
}
