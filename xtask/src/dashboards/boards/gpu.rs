//! GPUs: how busy, how full, how hot, and what is wrong with them.

use stepscope_core::vocabulary::Metric;
use stepscope_core::{attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, device, host, marks, rank, run, without};
use crate::dashboards::findings::Rules;
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{bars, stacked, stat, table, timeseries, unit};
use crate::dashboards::query::{Expression, RANGE, Series, label, of};

use metric::device::row as gpu;

pub(in crate::dashboards) fn board(_: &Rules) -> Outcome<Dashboard> {
    let each = [attr::HOST_NAME, attr::HW_NAME];
    let device_name = format!("{{{{{}}}}} {{{{{}}}}}", label(attr::HOST_NAME), label(attr::HW_NAME));
    let with = |key: &str| format!("{device_name} {{{{{}}}}}", label(key));
    let by = |key: &'static str| [attr::HOST_NAME, attr::HW_NAME, key];
    let gauge = |row: &'static Metric| chosen(of(row)).now().of_host();
    let rate = |row: &'static Metric| chosen(of(row)).rate().of_host();
    let general = chosen(of(&gpu::GPU_UTILIZATION)).is(attr::HW_GPU_TASK, "general").now().of_host();
    let board = Board::new("stepscope-gpu", "GPU", "Are the GPUs busy, full, throttled or broken?")
        .with(run())
        .with(host())
        .with(rank())
        .with(device())
        .row(
            4,
            [
                stat("GPUs", "GPUs that the driver tells of.")
                    .without(without::GPU)
                    .query(&gauge(&gpu::GPU_MEMORY_LIMIT).max(&each).count(&[]), "GPUs"),
                stat(
                    "Utilization",
                    "Share of the time in which at least one kernel ran, on average over GPUs.",
                )
                .share()
                .without(without::GPU)
                .query(&general.max(&each).average(&[]), "busy"),
                stat("Memory in use", "Share of the memory in use, of the fullest GPU.")
                    .share()
                    .colors(0.9, 0.97)
                    .without(without::GPU)
                    .query(&gauge(&gpu::GPU_MEMORY_UTILIZATION).max(&[]), "in use"),
                stat("Power", "Power of all chosen GPUs together.")
                    .unit(unit::WATTS)
                    .without(without::GPU)
                    .query(&gauge(&gpu::HW_POWER).max(&each).sum(&[]), "power"),
                stat("Errors", "XID errors of the driver in the time range.")
                    .colors(1.0, 1.0)
                    .without(without::ERRORS)
                    .query(&chosen(of(&gpu::GPU_XID)).grown().of_host().sum(&[]), "errors"),
            ],
        )
        .row(
            9,
            [
                timeseries("Utilization", "Share of the time in which at least one kernel ran.")
                    .share()
                    .without(without::GPU)
                    .query(&general.max(&each), &device_name),
                timeseries(
                    "Activity of units",
                    "Share of the time in which SMs, tensor cores and memory were active.",
                )
                .share()
                .without(without::UNITS)
                .query(&gauge(&gpu::GPU_ACTIVITY).max(&by(attr::GPU_UNIT)), &with(attr::GPU_UNIT)),
                bars("Busy time", "Share of the time range in which kernels ran, by GPU.")
                    .share()
                    .without(without::GPU)
                    .query(
                        &chosen(of(&gpu::GPU_BUSY_TIME)).now().windowed("rate", RANGE).of_host().max(&each),
                        &device_name,
                    ),
            ],
        )
        .row(
            9,
            [
                timeseries("Memory", "Memory in use, the most that was in use, and all there is.")
                    .unit(unit::BYTES)
                    .zero_based()
                    .without(without::GPU)
                    .query(&gauge(&gpu::GPU_MEMORY_USAGE).max(&each), &format!("{device_name} used"))
                    .query(&gauge(&gpu::GPU_MEMORY_PEAK).max(&each), &format!("{device_name} peak"))
                    .query(&gauge(&gpu::GPU_MEMORY_LIMIT).max(&each), &format!("{device_name} all")),
                stacked("Memory by owner", "Memory of the followed process and of others.")
                    .unit(unit::BYTES)
                    .zero_based()
                    .without(without::GPU)
                    .query(
                        &gauge(&gpu::GPU_PROCESS_MEMORY).max(&by(attr::GPU_PROCESS)),
                        &with(attr::GPU_PROCESS),
                    ),
            ],
        )
        .row(
            9,
            [
                timeseries("Power", "Power by GPU.")
                    .unit(unit::WATTS)
                    .zero_based()
                    .without(without::GPU)
                    .query(&gauge(&gpu::HW_POWER).max(&each), &device_name),
                timeseries("Temperature", "Temperature by GPU.")
                    .unit(unit::CELSIUS)
                    .without(without::GPU)
                    .query(&gauge(&gpu::HW_TEMPERATURE).max(&each), &device_name)
                    .colors(80.0, 90.0),
                timeseries("Clocks", "Clock frequencies of SMs and memory.")
                    .unit(unit::HERTZ)
                    .zero_based()
                    .without(without::GPU)
                    .query(
                        &gauge(&gpu::GPU_CLOCK).max(&by(attr::GPU_CLOCK_DOMAIN)),
                        &with(attr::GPU_CLOCK_DOMAIN),
                    ),
            ],
        )
        .row(
            9,
            [
                stacked(
                    "Throttled",
                    "Reasons for which clocks are lower than they could be; 1 while one holds.",
                )
                .zero_based()
                .without(without::GPU)
                .query(
                    &gauge(&gpu::GPU_THROTTLED).max(&by(attr::GPU_THROTTLE_REASON)),
                    &with(attr::GPU_THROTTLE_REASON),
                ),
                timeseries("PCIe", "Bytes over PCIe a second.")
                    .unit(unit::BYTES_A_SECOND)
                    .zero_based()
                    .without(without::GPU)
                    .query(
                        &rate(&gpu::GPU_IO).max(&by(attr::NETWORK_IO_DIRECTION)),
                        &with(attr::NETWORK_IO_DIRECTION),
                    ),
                bars("Energy", "Energy that GPUs and processors took in the time range.")
                    .unit(unit::JOULES)
                    .without(without::ENERGY)
                    .query(
                        &of(&gpu::HW_ENERGY).now().windowed("increase", RANGE).of_host().max(&each),
                        &device_name,
                    ),
            ],
        )
        .row(
            8,
            [
                problems(
                    "Driver errors",
                    "XID errors by code in the time range.",
                    &chosen(of(&gpu::GPU_XID)).grown(),
                    attr::GPU_XID_CODE,
                ),
                // The driver counts these from before the exporter's time on.
                problems(
                    "Memory errors",
                    "ECC errors in the time range.",
                    &chosen(of(&gpu::HW_ERRORS)).now().windowed("increase", RANGE),
                    attr::ERROR_TYPE,
                ),
                table("State", "The state that each GPU is in; failed ones answer no more.", "GPU")
                    .without(without::GPU)
                    .query(&state(), "")
                    .column(&label(attr::HOST_NAME), "Host", Vec::new())
                    .column(&label(attr::HW_NAME), "GPU", Vec::new())
                    .column(&label(attr::HW_MODEL), "Model", Vec::new())
                    .column(&label(attr::HW_STATE), "State", Vec::new())
                    .hiding(&["Time", "Value"]),
            ],
        );
    Ok(board.finish(marks()))
}

/// Those that the variable chooses.
fn chosen(series: Series) -> Series {
    series.like(attr::HW_NAME, "$device")
}

fn state() -> Expression {
    let by = [attr::HOST_NAME, attr::HW_NAME, attr::HW_MODEL, attr::HW_STATE];
    chosen(of(&gpu::HW_STATUS)).last().of_host().max(&by).with("==", "1")
}

fn problems(
    title: &'static str,
    description: &'static str,
    grown: &Expression,
    key: &'static str,
) -> crate::dashboards::panel::Draft {
    let by = [attr::HOST_NAME, attr::HW_NAME, key];
    table(title, description, "Errors")
        .without(without::ERRORS)
        .query(&grown.of_host().max(&by).with(">", "0"), "")
        .column(&label(attr::HOST_NAME), "Host", Vec::new())
        .column(&label(attr::HW_NAME), "GPU", Vec::new())
        .column(&label(key), "Kind", Vec::new())
        .column("Value", "Errors", Vec::new())
        .hiding(&["Time"])
}
