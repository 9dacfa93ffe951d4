//! Ranks: which of them is slow, what they wait for, and whether their machines differ.

use stepscope_core::{Phase, SectionKind, attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, host, marks, rank, run, run_in_jaeger, without};
use crate::dashboards::findings::Rules;
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{bars, has_unit, stat, table, timeseries, unit};
use crate::dashboards::query::{Expression, PROCESS, RANGE, label, of, of_step_spans, runs};

use metric::host::row as machine;
use metric::program::row as program;
use metric::row as layer;

pub(in crate::dashboards) fn board(_: &Rules) -> Outcome<Dashboard> {
    let by_rank = PROCESS;
    let legend = format!("{{{{{}}}}} rank {{{{{}}}}}", label(attr::RUN_ID), label(attr::RANK));
    let gauge = |row| of(row).now().of_run();
    let usual = gauge(&program::STEP_DURATION_P50).max(&by_rank);
    let waits = share_of(Phase::Communication);
    let board = Board::new("stepscope-ranks", "Ranks", "Which rank is slow, and do the others wait for it?")
        .with(run())
        .with(host())
        .with(rank())
        .row(
            5,
            [
                stat("Ranks", "Processes of the chosen runs that record.")
                    .without(without::GAUGES)
                    .query(&runs("$run").max(&by_rank).count(&[]), "ranks"),
                stat(
                    "Slowest rank",
                    "The rank with the longest median step of the last minute, and that time.",
                )
                .unit(unit::SECONDS)
                .without(without::GAUGES)
                .query(&usual.top(1), &legend),
                stat("Slowest over fastest", "The longest median step of the ranks over the shortest one.")
                    .colors(1.1, 1.5)
                    .without(without::GAUGES)
                    .query(
                        &usual.max(&[attr::RUN_ID]).by("/", &usual.min(&[attr::RUN_ID])).max(&[]),
                        "ratio",
                    ),
                stat(
                    "Communication",
                    "Share of the step time in sections of communication, on average over ranks.",
                )
                .share()
                .colors(0.1, 0.3)
                .without(without::COMMUNICATION)
                .query(&waits.average(&[]), "share"),
                stat("Steps apart", "Steps between the rank that is ahead and the one that is behind.")
                    .colors(2.0, 10.0)
                    .without(without::STEPS)
                    .query(&apart(), "steps"),
            ],
        )
        .row(
            9,
            [
                timeseries("Step time by rank", "Median of the last minute's steps.")
                    .unit(unit::SECONDS)
                    .zero_based()
                    .without(without::GAUGES)
                    .query(&usual, &legend)
                    .link("The run's traces", run_in_jaeger()),
                timeseries(
                    "Slow steps by rank",
                    "95th percentile of the last minute's steps; points lead to traces.",
                )
                .unit(unit::SECONDS)
                .zero_based()
                .without(without::GAUGES)
                .query(&gauge(&program::STEP_DURATION_P95).max(&by_rank), &legend)
                .query(&of_step_spans("0.95"), &format!("spans, rank {{{{{}}}}}", label(attr::RANK)))
                .with_exemplars(),
            ],
        )
        .row(
            9,
            [
                timeseries(
                    "Communication by rank",
                    "Time in communication over that of steps, all threads added up: who waits least is waited for.",
                )
                .unit(unit::SHARE)
                .zero_based()
                .without(without::COMMUNICATION)
                .query(&waits, &legend),
                timeseries(
                    "Synchronization by rank",
                    "Time in sections that wait for devices, threads or locks over that of steps, all threads added up.",
                )
                .unit(unit::SHARE)
                .zero_based()
                .without("No section has the phase `synchronization`: mark waits with it")
                .query(&share_of(Phase::Synchronization), &legend),
                timeseries("Data wait by rank", "Share of the step time in which steps wait for a batch.")
                    .share()
                    .without(without::GAUGES)
                    .query(&gauge(&program::DATA_WAIT_SHARE).max(&by_rank), &legend),
            ],
        )
        .row(
            9,
            [
                timeseries(
                    "Steps ended",
                    "Steps that each rank has ended; lines that part are ranks that part.",
                )
                .zero_based()
                .without(without::STEPS)
                .query(&ended(), &legend),
                bars(
                    "Processors by rank",
                    "Processors that each rank's process keeps busy, on average over the time range.",
                )
                .without(without::GAUGES)
                .query(
                    &of(&machine::PROCESS_CPU_TIME).now().windowed("rate", RANGE).of_run().sum(&by_rank),
                    &legend,
                ),
                bars("Memory by rank", "Resident memory of each rank's process.")
                    .unit(unit::BYTES)
                    .without(without::STEPS)
                    .query(&of(&layer::PROCESS_MEMORY_USAGE).last().of_run().max(&by_rank), &legend),
            ],
        )
        .row(8, [overview()]);
    Ok(board.finish(marks()))
}

fn ended() -> Expression {
    let steps = of(&layer::SECTION_COUNT).is(attr::SECTION_KIND, SectionKind::Step.as_str());
    steps.now().of_run().sum(&PROCESS)
}

fn apart() -> Expression {
    let by_run = [attr::RUN_ID];
    ended().max(&by_run).by("-", &ended().min(&by_run)).max(&[])
}

/// Time of a phase's sections over that of steps, by rank.
fn share_of(phase: Phase) -> Expression {
    let by_rank = PROCESS;
    let inside = of(&layer::SECTION_SELF_BUSY).is(attr::PHASE, phase.as_str()).rate().of_run().sum(&by_rank);
    let steps = of(&layer::SECTION_TOTAL).is(attr::SECTION_KIND, SectionKind::Step.as_str());
    inside.by("/", &steps.rate().of_run().sum(&by_rank).with(">", "0"))
}

fn overview() -> crate::dashboards::panel::Draft {
    let by = [attr::RUN_ID, attr::RANK, attr::HOST_NAME];
    let gauge = |row| of(row).last().of_run().max(&by);
    table("All ranks", "Where each rank runs, and how its steps were in its last minute.", "Step time, p95")
        .without(without::GAUGES)
        .query(&gauge(&program::STEP_DURATION_P50), "")
        .query(&gauge(&program::STEP_DURATION_P95), "")
        .query(&gauge(&program::DATA_WAIT_SHARE), "")
        .query(&gauge(&layer::PROCESS_MEMORY_USAGE), "")
        .column(&label(attr::RUN_ID), "Run", Vec::new())
        .column(&label(attr::RANK), "Rank", Vec::new())
        .column(&label(attr::HOST_NAME), "Host", Vec::new())
        .column("Value #A", "Step time, median", vec![has_unit(unit::SECONDS)])
        .column("Value #B", "Step time, p95", vec![has_unit(unit::SECONDS)])
        .column("Value #C", "Data wait", vec![has_unit(unit::SHARE)])
        .column("Value #D", "Resident memory", vec![has_unit(unit::BYTES)])
        .hiding(&["Time"])
}
