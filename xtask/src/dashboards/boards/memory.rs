//! Memory: what is used, what grows, how long the limit lasts, and who allocates.

use stepscope_core::{SectionKind, attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, host, marks, rank, run, run_in_jaeger, without};
use crate::dashboards::findings::{Rules, findings};
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{Draft, has_unit, stacked, stat, table, timeseries, unit};
use crate::dashboards::query::{Expression, INSTANCE, JOB, PROCESS, RANGE, Series, label, of};

use metric::host::row as machine;
use metric::program::row as program;
use metric::row as layer;
use metric::run::row as pushed;

/// Growth is looked at over this time.
const GROWTH: &str = "15m";
/// The rule that finds leaks.
const LEAKS: &str = "memory_growth";

pub(in crate::dashboards) fn board(rules: &Rules) -> Outcome<Dashboard> {
    if !rules.has(LEAKS) {
        return Err(format!("there is no rule {LEAKS}, of which the memory board shows the findings"));
    }
    let by_rank = PROCESS;
    let legend =
        |what: &str| format!("{what} {{{{{}}}}} rank {{{{{}}}}}", label(attr::RUN_ID), label(attr::RANK));
    let of_allocator = |what: &str| format!("{what} {{{{{}}}}}", label(attr::ALLOCATOR));
    let by_allocator = [attr::ALLOCATOR, attr::RUN_ID, attr::RANK];
    let gauge = |row| of(row).now().of_run();
    let growth = |row| of(row).now().windowed("deriv", GROWTH).of_run();
    let path = format!("{{{{{}}}}}", label(attr::PATH));
    let leaks = findings(
        rules,
        "Leak findings",
        "Memory growth that the analyzer found in the chosen runs.",
        |series| of_leaks(series.like(attr::RUN_ID, "$run")),
    )?;
    let board = Board::new(
        "stepscope-memory",
        "Memory",
        "What uses memory, does it grow, and how long will it last?",
    )
    .with(run())
    .with(host())
    .with(rank())
    .row(
        4,
        [
            stat("Resident memory", "Resident memory of the largest process.")
                .unit(unit::BYTES)
                .without(without::STEPS)
                .query(&gauge(&layer::PROCESS_MEMORY_USAGE).max(&[]), "resident"),
            stat("Live bytes", "Bytes allocated and not freed, of the largest process.")
                .unit(unit::BYTES)
                .without(without::ALLOCATIONS)
                .query(&gauge(&layer::MEM_LIVE).max(&[]), "live"),
            stat("Growth", "How fast the live bytes of the fastest growing process grow, over 15 minutes.")
                .unit(unit::BYTES_A_SECOND)
                .without(without::ALLOCATIONS)
                .query(&growth(&layer::MEM_LIVE).max(&[]), "growth"),
            stat(
                "Time to the limit",
                "When memory runs out if it goes on growing; nothing where it does not grow.",
            )
            .unit(unit::SECONDS)
            .without("Memory does not grow, or nothing publishes it (feature `metrics`)")
            .query(&time_left(), "left"),
            stat(
                "Killed for memory",
                "Processes that the kernel killed for want of memory in the time range.",
            )
            .colors(1.0, 1.0)
            .without(without::MACHINE)
            .query(&killed(), "killed"),
        ],
    )
    .row(
        9,
        [
            timeseries("Resident memory", "Resident memory by process.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::STEPS)
                .query(&gauge(&layer::PROCESS_MEMORY_USAGE).max(&by_rank), &legend("resident"))
                .link("The run's traces", run_in_jaeger()),
            timeseries("Live bytes", "Bytes allocated and not freed, by process.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::ALLOCATIONS)
                .query(&gauge(&layer::MEM_LIVE).max(&by_rank), &legend("live")),
        ],
    )
    .row(
        9,
        [
            timeseries("Growth", "How fast memory grows, over 15 minutes.")
                .unit(unit::BYTES_A_SECOND)
                .without(without::STEPS)
                .query(&growth(&layer::PROCESS_MEMORY_USAGE).max(&by_rank), &legend("resident"))
                .query(&growth(&layer::MEM_LIVE).max(&by_rank), &legend("live")),
            timeseries("Allocation rate", "Bytes that a process allocates a second.")
                .unit(unit::BYTES_A_SECOND)
                .zero_based()
                .without(without::ALLOCATIONS)
                .query(&allocation_rate(), &legend("allocated")),
        ],
    )
    .row(
        9,
        [
            stacked(
                "Allocated by section",
                "Bytes that sections allocate themselves a second; the ten largest.",
            )
            .unit(unit::BYTES_A_SECOND)
            .zero_based()
            .without(without::ALLOCATIONS)
            .query(&of(&layer::SECTION_SELF_ALLOC).rate().of_run().sum(&[attr::PATH]).top(10), &path),
            timeseries(
                "Kept by section",
                "Bytes that sections allocated and did not free themselves; the ten largest.",
            )
            .unit(unit::BYTES)
            .without(without::ALLOCATIONS)
            .query(&kept(), &path),
        ],
    )
    .row(
        9,
        [
            timeseries("Machine and container", "Memory in use, and the limit of the container.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::MACHINE)
                .query(
                    &of(&machine::CONTAINER_MEMORY_WORKING_SET).now().of_run().max(&[attr::HOST_NAME]),
                    "working set of the container {{host_name}}",
                )
                .query(
                    &of(&machine::CONTAINER_MEMORY_LIMIT).now().of_run().max(&[attr::HOST_NAME]),
                    "limit of the container {{host_name}}",
                )
                .query(
                    &of(&machine::MEMORY_USAGE)
                        .is(attr::MEMORY_STATE, "used")
                        .now()
                        .of_host()
                        .max(&[attr::HOST_NAME]),
                    "used on {{host_name}}",
                )
                .query(
                    &of(&machine::MEMORY_LIMIT).now().of_host().max(&[attr::HOST_NAME]),
                    "memory of {{host_name}}",
                ),
            timeseries("Allocator", "What the allocator has from the system, and what of it is handed out.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::ALLOCATOR)
                .query(&gauge(&program::ALLOCATOR_RESERVED).max(&by_allocator), &of_allocator("reserved"))
                .query(&gauge(&program::ALLOCATOR_LIVE).max(&by_allocator), &of_allocator("handed out")),
            timeseries("Fragmentation", "Share of the allocator's memory that it has not handed out.")
                .share()
                .without(without::ALLOCATOR)
                .query(&gauge(&program::ALLOCATOR_FRAGMENTATION).max(&by_allocator), &of_allocator("")),
        ],
    )
    .row(
        8,
        [
            timeseries("Page faults", "Faults of processes a second; major ones wait for storage.")
                .unit(unit::OPERATIONS_A_SECOND)
                .zero_based()
                .without(without::GAUGES)
                .query(
                    &of(&machine::PROCESS_FAULTS)
                        .rate()
                        .of_run()
                        .sum(&[attr::PAGING_FAULT_TYPE, attr::RUN_ID]),
                    "{{system_paging_fault_type}}",
                ),
            timeseries("Swap", "Swap space in use, by host.")
                .unit(unit::BYTES)
                .zero_based()
                .without(without::MACHINE)
                .query(
                    &of(&machine::PAGING_USAGE)
                        .is(attr::PAGING_STATE, "used")
                        .now()
                        .of_host()
                        .max(&[attr::HOST_NAME]),
                    "{{host_name}}",
                ),
        ],
    )
    .row(9, [lines(), leaks]);
    Ok(board.finish(marks()))
}

/// Lines of the program that hold memory, as the reports on the chosen runs have them.
fn lines() -> Draft {
    let by = [attr::CODE_FILE_PATH, attr::CODE_LINE_NUMBER, attr::CODE_FUNCTION_NAME, attr::PATH];
    let held = of(&pushed::RUN_MEMORY_LINE).like(attr::RUN_ID, "$run").last().max(&by).top(50);
    table(
        "Lines that hold memory",
        "Bytes allocated two steps ago or earlier and still live, by sample.",
        "Held",
    )
    .without(without::PUSHED)
    .query(&held, "")
    .column(&label(attr::CODE_FILE_PATH), "File", Vec::new())
    .column(&label(attr::CODE_LINE_NUMBER), "Line", Vec::new())
    .column(&label(attr::CODE_FUNCTION_NAME), "Function", Vec::new())
    .column(&label(attr::PATH), "Section", Vec::new())
    .column("Value", "Held", vec![has_unit(unit::BYTES)])
    .hiding(&["Time"])
}

/// When runs began is told for all of them.
fn of_leaks(series: Series) -> Series {
    if series.has(attr::FINDING_RULE) { series.is(attr::FINDING_RULE, LEAKS) } else { series }
}

/// The container's limit first; without one the machine's memory.
fn time_left() -> Expression {
    let grows = |series: Expression| series.windowed("deriv", GROWTH).with(">", "0");
    let of_container = of(&machine::CONTAINER_MEMORY_AVAILABLE).now();
    let of_machine = of(&machine::MEMORY_AVAILABLE).now();
    let working_set = grows(of(&machine::CONTAINER_MEMORY_WORKING_SET).now());
    let used = grows(of(&machine::MEMORY_USAGE).is(attr::MEMORY_STATE, "used").now());
    let identity = &[JOB, INSTANCE];
    let left = of_container.by_on("/", identity, &working_set).of_run().min(&[]);
    left.or(&of_machine.by_on("/", identity, &used).of_host().min(&[]))
}

fn killed() -> Expression {
    of(&machine::OOM_KILLS).now().windowed("increase", RANGE).of_host().max(&[attr::HOST_NAME]).sum(&[])
}

/// The exporter's figure, else what sections say.
fn allocation_rate() -> Expression {
    let told = of(&program::ALLOCATION_RATE).now().of_run().max(&PROCESS);
    told.or(&of(&layer::SECTION_SELF_ALLOC).rate().of_run().sum(&PROCESS))
}

/// Only the sections of steps: what loaders make others free.
fn kept() -> Expression {
    let own = |row| {
        of(row).unlike(attr::SECTION_KIND, SectionKind::Batch.as_str()).now().of_run().sum(&[attr::PATH])
    };
    own(&layer::SECTION_SELF_ALLOC).by("-", &own(&layer::SECTION_SELF_FREE)).top(10)
}
