//! Findings: of all runs whose analysis was pushed, newest first.

use stepscope_core::vocabulary::Metric;
use stepscope_core::{attr, metric};

use crate::Outcome;
use crate::dashboards::board::{Board, pushed_runs, row_in_jaeger, row_on_training, without};
use crate::dashboards::findings::{Rules, findings};
use crate::dashboards::model::Dashboard;
use crate::dashboards::panel::{Draft, bars, has_link, has_unit, stat, table, text, timeseries, unit};
use crate::dashboards::query::{Expression, JOB, Series, label, of};

use metric::run::row as pushed;

const ABOUT: &str = "`stepscope analyze RUN --push` sends the findings of a run. The whole sentence and its evidence are \
    in the log record `stepscope.finding` at the collector; `stepscope explain RULE` says how a rule judges.";

pub(in crate::dashboards) fn board(rules: &Rules) -> Outcome<Dashboard> {
    let of_runs = |series: Series| series.like(attr::RUN_ID, "$run");
    let severity = of_runs(of(&pushed::FINDING_SEVERITY));
    let rule = format!("{{{{{}}}}}", label(attr::FINDING_RULE));
    let all = findings(rules, "Findings", "Findings of all chosen runs, the newest run first.", of_runs)?;
    // None, where runs were analysed and have none.
    let severe = severity.last().with(">= bool", "20").sum(&[]);
    let severe = severe.or(&last(&pushed::RUN_FINDINGS).sum(&[]).with("*", "0"));
    let by_rule = severity.last().count(&[attr::FINDING_RULE]);
    let board = Board::new(
        "stepscope-findings",
        "Findings",
        "What did the analyzer find, in which run, and what helps?",
    )
    .with(pushed_runs())
    .row(
        4,
        [
            stat("Runs analysed", "Runs whose analysis was pushed in the time range.")
                .without(without::PUSHED)
                .query(&last(&pushed::RUN_FINDINGS).max(&[attr::RUN_ID]).count(&[]), "runs"),
            stat("Findings", "Findings of all chosen runs.")
                .without(without::PUSHED)
                .query(&last(&pushed::RUN_FINDINGS).max(&[attr::RUN_ID]).sum(&[]), "findings"),
            stat("Severe ones", "Findings that cost 20 % of the step time or more.")
                .colors(1.0, 3.0)
                .without(without::FINDINGS)
                .query(&severe, "findings"),
            stat("Runs without a finding", "Runs in which nothing was found.")
                .without(without::PUSHED)
                .query(
                    &last(&pushed::RUN_FINDINGS).max(&[attr::RUN_ID]).with("== bool", "0").sum(&[]),
                    "runs",
                ),
        ],
    )
    .row(14, [all])
    .row(
        9,
        [
            bars("Findings by rule", "How many findings each rule has.")
                .zero_based()
                .without(without::FINDINGS)
                .query(&by_rule, &rule),
            timeseries("Severity over time", "The worst severity of each rule when it was pushed.")
                .unit(unit::SEVERITY)
                .zero_based()
                .without(without::FINDINGS)
                .query(&severity.now().max(&[attr::FINDING_RULE]), &rule),
        ],
    )
    .row(9, [runs()])
    .row(4, [text("Where the sentences are", "Where a finding's sentence and evidence are.", ABOUT)]);
    Ok(board.finish(Vec::new()))
}

fn last(row: &'static Metric) -> Expression {
    of(row).like(attr::RUN_ID, "$run").last()
}

fn runs() -> Draft {
    let by = [attr::RUN_ID, JOB];
    let figure = |row| last(row).max(&by);
    let report = last(&pushed::RUN_REPORT).max(&[attr::RUN_ID, JOB, attr::REPORT_PATH]);
    let place = figure(&pushed::RUN_STARTED).with("*", "1000");
    table("Runs", "Figures of the runs, and where their reports were written.", "Began")
        .without(without::PUSHED)
        .query(&place, "")
        .query(&figure(&pushed::RUN_STEPS), "")
        .query(&figure(&pushed::RUN_STEP_P50), "")
        .query(&figure(&pushed::RUN_STEP_P95), "")
        .query(&figure(&pushed::RUN_DURATION), "")
        .query(&figure(&pushed::RUN_RANKS), "")
        .query(&figure(&pushed::RUN_SPANS_LOST), "")
        .query(&figure(&pushed::RUN_FINDINGS), "")
        .query(&report, "")
        .column("Value #A", "Began", vec![has_unit(unit::TIME)])
        .column(&label(attr::RUN_ID), "Run", vec![has_link("The run's training board", &row_on_training())])
        .column(JOB, "Program", vec![has_link("The run's traces in Jaeger", &row_in_jaeger())])
        .column("Value #H", "Findings", Vec::new())
        .column("Value #B", "Steps", Vec::new())
        .column("Value #C", "Step, median", vec![has_unit(unit::SECONDS)])
        .column("Value #D", "Step, p95", vec![has_unit(unit::SECONDS)])
        .column("Value #E", "Took", vec![has_unit(unit::SECONDS)])
        .column("Value #F", "Ranks", Vec::new())
        .column("Value #G", "Spans lost", Vec::new())
        .column(&label(attr::REPORT_PATH), "Report", Vec::new())
        .hiding(&["Time", "Value #I"])
}
