//! How complete the recording is, and what was wrong with the input.

use super::page::{Page, code, known, prose};
use crate::render::common::{
    names::word,
    recording::{is_unpacked, unended},
};
use crate::report::Report;
use crate::report::units::count;

/// Read issues shown.
const ISSUES: usize = 8;
/// Differences shown.
const DISAGREEMENTS: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    page.heading(3, "Recording");
    let losses = &report.losses;
    page.table(
        ["", ">"],
        [
            ["Spans read".into(), count(report.run.spans)],
            ["Traces read".into(), count(report.run.traces)],
            ["Spans recorded".into(), known(losses.emitted, count)],
            ["Spans not in this input".into(), known(losses.absent, count)],
            ["Spans lost that it lacks".into(), known(losses.emitted.map(|_| losses.lost), count)],
            ["Traces not complete".into(), count(losses.incomplete_traces)],
            ["Spans missing from them".into(), count(losses.missing_spans)],
            ["Spans with errors".into(), count(report.run.errors)],
        ],
    );
    if let Some(text) = unended(report) {
        page.block(&prose(text));
    }
    page.table(
        [">Lost", "Reason", "Sink", "In this input", "What to do"],
        losses.dropped.iter().map(|row| {
            [
                count(row.spans),
                known(row.reason, code),
                known(row.sink.as_deref(), code),
                if row.is_lacking { "lacking" } else { "perhaps" }.into(),
                known(row.advice, prose),
            ]
        }),
    );
    page.table(
        ["File", ">At byte", ">Times", "Kind", "Issue"],
        report.read_issues.iter().take(ISSUES).map(|issue| {
            let file = (!issue.file.is_empty()).then_some(issue.file.as_str());
            [
                known(file, code),
                known(issue.offset, |offset| {
                    let unpacked = if is_unpacked(report, &issue.file) { " unpacked" } else { "" };
                    format!("{}{unpacked}", count(offset))
                }),
                count(issue.count),
                code(&word(&issue.kind)),
                prose(&issue.reason),
            ]
        }),
    );
    page.more(report.read_issues.len(), ISSUES, "issues of the input");
    let differences = &report.detailed_metrics.disagreements;
    page.table(
        ["Section", "Figure", ">By the spans", ">By the process's own count"],
        differences
            .iter()
            .take(DISAGREEMENTS)
            .map(|row| [code(&row.path), code(row.figure), count(row.spans), count(row.aggregates)]),
    );
    page.more(differences.len(), DISAGREEMENTS, "differences");
    for limit in &report.detailed_metrics.limits {
        let name = serde_json::to_value(limit).ok();
        let name = name.as_ref().and_then(|value| value.get("limit")).and_then(|value| value.as_str());
        page.block(&format!("Limit reached: {}", prose(&name.unwrap_or("unknown").replace('_', " "))));
    }
    page.block(&format!("<sub>{} {}</sub>", report.tool.name, report.tool.version));
}
