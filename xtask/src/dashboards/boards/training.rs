//! Training: how fast steps are, where their time goes, and what was found.

use stepscope_core::{SectionKind, attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, host, marks, rank, run, run_in_jaeger, step_in_jaeger, without};
use crate::dashboards::findings::{Rules, findings};
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{has_unit, stacked, stat, table, timeseries, unit};
use crate::dashboards::query::{Expression, JOB, PROCESS, label, of, of_step_spans};

use metric::program::row as program;
use metric::row as layer;

/// Sections that hold steps, or are beside them, are no part of them.
const AROUND: &str = "run|epoch|batch";

pub(in crate::dashboards) fn board(rules: &Rules) -> Outcome<Dashboard> {
    let by_rank = PROCESS;
    let legend =
        |what: &str| format!("{what} {{{{{}}}}} rank {{{{{}}}}}", label(attr::RUN_ID), label(attr::RANK));
    let gauge = |row| of(row).now().of_run();
    let slow = gauge(&program::STEP_DURATION_P95);
    let usual = gauge(&program::STEP_DURATION_P50);
    let findings = findings(rules, "Findings", "What the analyzer found in the chosen runs.", |series| {
        series.like(attr::RUN_ID, "$run")
    })?;
    let board = Board::new(
        "stepscope-training",
        "Training",
        "How fast are the steps, where does their time go, and what was found?",
    )
    .with(run())
    .with(host())
    .with(rank())
    .row(
        4,
        [
            stat("Latest step", "Number of the latest step, else of those that ended; links lead to traces.")
                .without(without::STEPS)
                .query(&steps(), &format!("{{{{{}}}}}", label(attr::RUN_ID)))
                .link("Traces of this step", step_in_jaeger())
                .link("The run's traces", run_in_jaeger()),
            stat("Step time, median", "Median duration of the last minute's steps, the slowest rank's.")
                .unit(unit::SECONDS)
                .without(without::GAUGES)
                .query(&usual.max(&[]), "median"),
            stat("Step time, p95", "95th percentile of the last minute's steps, the slowest rank's.")
                .unit(unit::SECONDS)
                .without(without::GAUGES)
                .query(&slow.max(&[]), "p95"),
            stat("Throughput", "Samples a second of all chosen ranks together.")
                .without(without::SAMPLES)
                .query(&gauge(&program::SAMPLE_RATE).sum(&[]), "samples/s"),
            stat(
                "Data wait",
                "Share of the step time in which steps wait for a batch, on average over ranks.",
            )
            .share()
            .colors(0.05, 0.2)
            .without(without::GAUGES)
            .query(&gauge(&program::DATA_WAIT_SHARE).average(&[]), "share"),
            stat("Worst finding", "Severity of the worst finding of the chosen runs, 0 to 100.")
                .unit(unit::SEVERITY)
                .colors(10.0, 20.0)
                .without(without::FINDINGS)
                .query(
                    &of(&metric::run::row::FINDING_SEVERITY).like(attr::RUN_ID, "$run").last().max(&[]),
                    "severity",
                ),
        ],
    )
    .row(
        9,
        [
            timeseries(
                "Step time",
                "Median and 95th percentile of the last minute's steps by rank; points lead to traces.",
            )
            .unit(unit::SECONDS)
            .zero_based()
            .without(without::GAUGES)
            .query(&usual.max(&by_rank), &legend("median"))
            .query(&slow.max(&by_rank), &legend("p95"))
            .query(&of_step_spans("0.95"), &format!("p95 of spans, rank {{{{{}}}}}", label(attr::RANK)))
            .with_exemplars()
            .link("The run's traces", run_in_jaeger()),
            timeseries(
                "Step time of all ranks",
                "Quantiles of all steps that ended, from the histograms of their durations.",
            )
            .unit(unit::NANOSECONDS)
            .zero_based()
            .without(without::STEPS)
            .query(&quantile("0.5"), "median")
            .query(&quantile("0.95"), "p95")
            .query(&quantile("0.99"), "p99"),
        ],
    )
    .row(
        9,
        [
            stacked(
                "Where the step time goes",
                "Own time of sections by phase for each step, all threads added up.",
            )
            .unit(unit::NANOSECONDS)
            .zero_based()
            .without(without::STEPS)
            .query(&by_phase(), &format!("{{{{{}}}}}", label(attr::PHASE))),
            timeseries("Throughput", "Samples a second by rank, over the last minute.")
                .zero_based()
                .without(without::SAMPLES)
                .query(&gauge(&program::SAMPLE_RATE).max(&by_rank), &legend("samples/s")),
        ],
    )
    .row(
        8,
        [
            timeseries("Data wait", "Share of the step time in which steps wait for a batch, by rank.")
                .share()
                .without(without::GAUGES)
                .query(&gauge(&program::DATA_WAIT_SHARE).max(&by_rank), &legend("wait")),
            timeseries(
                "Loss and other values",
                "The latest values that the program records by value!, by name.",
            )
            .without(without::VALUES)
            .query(
                &gauge(&program::VALUE).max(&[attr::VALUE_NAME, JOB, attr::RUN_ID, attr::RANK]),
                &legend(&format!("{{{{{}}}}}", label(attr::VALUE_NAME))),
            ),
            timeseries("Steps a second", "Steps that end a second, by rank.")
                .zero_based()
                .without(without::STEPS)
                .query(&ended_steps().sum(&by_rank), &legend("steps/s")),
        ],
    )
    .row(9, [findings])
    .row(9, [sections()]);
    Ok(board.finish(marks()))
}

fn ended_steps() -> Expression {
    of(&layer::SECTION_COUNT).is(attr::SECTION_KIND, SectionKind::Step.as_str()).rate().of_run()
}

/// The number of the latest step, else how many have ended.
fn steps() -> Expression {
    let counted = of(&layer::SECTION_COUNT).is(attr::SECTION_KIND, SectionKind::Step.as_str()).now().of_run();
    // With what the links need.
    of(&program::STEP_NUMBER).now().of_run().max(&[JOB, attr::RUN_ID]).or(&counted.max(&[JOB, attr::RUN_ID]))
}

fn quantile(quantile: &str) -> Expression {
    let durations = of(&layer::SECTION_DURATION).is(attr::SECTION_KIND, SectionKind::Step.as_str());
    durations.rate().among_runs().sum(&[]).quantile(quantile)
}

/// Own time a step.
fn by_phase() -> Expression {
    let own = of(&layer::SECTION_SELF_BUSY).unlike(attr::SECTION_KIND, AROUND).rate().of_run();
    let steps = ended_steps().sum(&[]).with(">", "0").scalar();
    own.sum(&[attr::PHASE]).by("/", &steps).numbers().with_words(attr::PHASE, "in no phase")
}

fn sections() -> crate::dashboards::panel::Draft {
    let by = [attr::PATH, attr::PHASE];
    let own = of(&layer::SECTION_SELF_BUSY).grown().of_run().sum(&by);
    let count = of(&layer::SECTION_COUNT).grown().of_run().sum(&by);
    let allocated = of(&layer::SECTION_ALLOC).grown().of_run().sum(&by);
    table(
        "Sections",
        "Sections with the largest own time in the time range, all threads and ranks added up.",
        "Own time",
    )
    .unit(unit::COUNT)
    .without(without::STEPS)
    .query(&own.top(30), "")
    .query(&count.by_on("and", &by, &own.top(30)), "")
    .query(&allocated.by_on("and", &by, &own.top(30)), "")
    .column(&label(attr::PATH), "Section", Vec::new())
    .column(&label(attr::PHASE), "Phase", Vec::new())
    .column("Value #A", "Own time", vec![has_unit(unit::NANOSECONDS)])
    .column("Value #B", "Calls", Vec::new())
    .column("Value #C", "Allocated", vec![has_unit(unit::BYTES)])
    .hiding(&["Time"])
}
