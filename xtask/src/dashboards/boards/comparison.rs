//! Comparison: two runs whose summaries were pushed, and which sections changed between them.

use stepscope_core::vocabulary::Metric;
use stepscope_core::{attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, pushed_run, without};
use crate::dashboards::findings::{Rules, findings};
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{Draft, bars, has_unit, is_wide, stat, table, unit};
use crate::dashboards::query::{Expression, label, of};

use metric::run::row as pushed;

const BASELINE: &str = "$baseline";
const RUN: &str = "$run";

pub(in crate::dashboards) fn board(rules: &Rules) -> Outcome<Dashboard> {
    let phase = format!("{{{{{}}}}}", label(attr::PHASE));
    let by_phase = [attr::PHASE];
    let found = findings(rules, "Findings of both", "What the analyzer found in either run.", |series| {
        series.like(attr::RUN_ID, "$baseline|$run")
    })?;
    let board =
        Board::new("stepscope-comparison", "Comparison", "What changed from the baseline to the run?")
            .with(pushed_run("baseline", "Baseline", "The run that is compared with"))
            .with(pushed_run("run", "Run", "The run that is compared"))
            .row(
                5,
                [
                    both(
                        "Step time, median",
                        "Median duration of both runs' steps.",
                        unit::SECONDS,
                        &pushed::RUN_STEP_P50,
                    ),
                    both(
                        "Step time, p95",
                        "95th percentile of both runs' steps.",
                        unit::SECONDS,
                        &pushed::RUN_STEP_P95,
                    ),
                    both(
                        "Throughput",
                        "Samples a second of both runs.",
                        unit::COUNT,
                        &pushed::RUN_SAMPLE_RATE,
                    ),
                    both(
                        "Input",
                        "Share of the time of steps, and of input between them, that is input.",
                        unit::SHARE,
                        &pushed::RUN_INPUT_SHARE,
                    ),
                    both("Findings", "Findings of both runs.", unit::COUNT, &pushed::RUN_FINDINGS),
                    stat(
                        "Step time changed",
                        "Change of the median step time, as a share of the baseline's.",
                    )
                    .unit(unit::SHARE)
                    .colors(0.03, 0.1)
                    .without(without::PUSHED)
                    .query(&change(&pushed::RUN_STEP_P50), "change"),
                ],
            )
            .row(
                10,
                [
                    bars(
                        "Phases that grew",
                        "Share of the step time in the run less that in the baseline, by phase.",
                    )
                    .unit(unit::SHARE)
                    .without(without::PUSHED)
                    .query(
                        &value(&pushed::RUN_PHASE_SHARE, RUN)
                            .sum(&by_phase)
                            .by("-", &value(&pushed::RUN_PHASE_SHARE, BASELINE).sum(&by_phase)),
                        &phase,
                    ),
                    bars(
                        "Sections that grew",
                        "Own time of a call in the run less that in the baseline; the 15 largest.",
                    )
                    .unit(unit::SECONDS)
                    .without(without::PUSHED)
                    .query(
                        &a_call(RUN).by("-", &a_call(BASELINE)).top(15),
                        &format!("{{{{{}}}}}", label(attr::PATH)),
                    ),
                ],
            )
            .row(12, [sections()])
            .row(8, [found]);
    Ok(board.finish(Vec::new()))
}

fn value(row: &'static Metric, run: &str) -> Expression {
    of(row).is(attr::RUN_ID, run).last()
}

fn both(title: &'static str, description: &'static str, unit: &'static str, row: &'static Metric) -> Draft {
    stat(title, description)
        .unit(unit)
        .without(without::PUSHED)
        .query(&value(row, BASELINE).max(&[]), "baseline")
        .query(&value(row, RUN).max(&[]), "run")
}

fn change(row: &'static Metric) -> Expression {
    value(row, RUN).max(&[]).by("/", &value(row, BASELINE).max(&[])).with("-", "1")
}

/// Own time of one call by section.
fn a_call(run: &str) -> Expression {
    let by = [attr::PATH];
    value(&pushed::RUN_SECTION_SELF, run).sum(&by).by("/", &value(&pushed::RUN_SECTION_COUNT, run).sum(&by))
}

fn sections() -> Draft {
    let by = [attr::PATH];
    let of_run = |row, run| value(row, run).max(&by);
    let difference = a_call(RUN).by("-", &a_call(BASELINE));
    table("Sections", "The 50 largest sections of both runs, by the own time of a call.", "A call, change")
        .without(without::PUSHED)
        .query(&a_call(BASELINE), "")
        .query(&a_call(RUN), "")
        .query(&difference, "")
        .query(&difference.by("/", &a_call(BASELINE).with(">", "0")), "")
        .query(&of_run(&pushed::RUN_SECTION_P95, BASELINE), "")
        .query(&of_run(&pushed::RUN_SECTION_P95, RUN), "")
        .query(&of_run(&pushed::RUN_SECTION_ALLOC, BASELINE), "")
        .query(&of_run(&pushed::RUN_SECTION_ALLOC, RUN), "")
        .column(&label(attr::PATH), "Section", vec![is_wide(260)])
        .column("Value #A", "A call, baseline", vec![has_unit(unit::SECONDS)])
        .column("Value #B", "A call, run", vec![has_unit(unit::SECONDS)])
        .column("Value #C", "A call, change", vec![has_unit(unit::SECONDS)])
        .column("Value #D", "Change", vec![has_unit(unit::SHARE)])
        .column("Value #E", "p95, baseline", vec![has_unit(unit::SECONDS)])
        .column("Value #F", "p95, run", vec![has_unit(unit::SECONDS)])
        .column("Value #G", "Allocated, baseline", vec![has_unit(unit::BYTES)])
        .column("Value #H", "Allocated, run", vec![has_unit(unit::BYTES)])
        .hiding(&["Time"])
}
