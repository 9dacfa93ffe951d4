//! Tables of findings, the figures behind them, what the other rules say, and notes.

use serde_json::Value;

use super::table::{Cell, Table};
use crate::render::common::names::word;
use crate::report::{FindingRow, Gain, Note, Report, RuleState};

pub(super) fn findings(report: &Report) -> String {
    Table::<&FindingRow>::new()
        .column("id", |row| row.id.as_str().into())
        .column("rule", |row| row.rule.into())
        .column("type", |row| row.r#type.as_str().into())
        .column("severity", |row| row.severity.into())
        .column("title", |row| row.title.as_str().into())
        .column("section", |row| row.section.as_ref().into())
        .column("phase", |row| row.phase.as_ref().into())
        .column("rank", |row| row.rank.into())
        .column("recommendation", |row| row.recommendation.as_str().into())
        .column("gain_method", |row| gain(row, |gain| word(&gain.method).into()))
        .column("gain_of", |row| gain(row, |gain| word(&gain.of).into()))
        .column("gain_saved_ns_per_step", |row| gain(row, |gain| gain.saved_ns_per_step.into()))
        .column("gain_step_time_ns", |row| gain(row, |gain| gain.step_time_ns.into()))
        .column("gain_share", |row| gain(row, |gain| gain.share.into()))
        .column("gain_direct_share", |row| gain(row, |gain| gain.direct_share.into()))
        .column("gain_because", |row| gain(row, |gain| gain.because.as_ref().into()))
        .of(&report.findings)
}

fn gain(row: &FindingRow, figure: fn(&Gain) -> Cell) -> Cell {
    row.predicted_gain.as_ref().map_or(Cell::Empty, figure)
}

/// One figure a row; the end of a key is its unit. Lists and objects are JSON.
pub(super) fn evidence(report: &Report) -> String {
    let rows = report
        .findings
        .iter()
        .flat_map(|finding| finding.evidence.iter().map(move |(key, value)| (finding, key, value)));
    Table::<(&FindingRow, &str, &Value)>::new()
        .column("finding", |row| row.0.id.as_str().into())
        .column("key", |row| row.1.into())
        .column("value", |row| value(row.2))
        .of(rows)
}

fn value(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Empty,
        Value::String(text) => text.into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => number.into(),
            None => Cell::Plain(number.to_string()),
        },
        Value::Array(_) | Value::Object(_) => value.to_string().into(),
    }
}

pub(super) fn rules(report: &Report) -> String {
    Table::<&RuleState>::new()
        .column("rule", |row| row.rule.into())
        .column("state", |row| row.state.into())
        .column("because", |row| row.because.as_ref().into())
        .of(&report.detailed_metrics.rules)
}

pub(super) fn notes(report: &Report) -> String {
    Table::<&Note>::new()
        .column("rule", |row| row.rule.into())
        .column("section", |row| row.section.as_ref().into())
        .column("text", |row| row.text.as_str().into())
        .of(&report.notes)
}
