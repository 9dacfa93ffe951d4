//! How complete the recording is: spans read and lost, issues of the input, bounds that were reached.

use super::page::{close, code, count, escape, open, paragraph, path, prose, table, table_of_words};
use crate::render::common::{
    names::word,
    recording::{is_unpacked, unended},
};
use crate::report::Report;

pub(super) fn render(report: &Report, out: &mut String) {
    open("recording", "Recording", out);
    let losses = &report.losses;
    table_of_words(
        "Spans and traces",
        ["What", ">Number"],
        [
            ["Spans read".to_owned(), count("run/spans", report.run.spans)],
            ["Traces read".into(), count("run/traces", report.run.traces)],
            ["Spans recorded".into(), count("losses/emitted", losses.emitted)],
            ["Spans not in this input".into(), count("losses/absent", losses.absent)],
            ["Spans lost on the way to any sink".into(), count("losses/dropped_total", losses.dropped_total)],
            ["Traces not complete".into(), count("losses/incomplete_traces", losses.incomplete_traces)],
            ["Spans missing from them".into(), count("losses/missing_spans", losses.missing_spans)],
            ["Spans with errors".into(), count("run/errors", report.run.errors)],
        ],
        out,
    );
    if let Some(text) = unended(report) {
        paragraph(&prose(text), out);
    }
    let rows = losses.dropped.iter().enumerate().map(|(at, row)| {
        let cells = [
            row.reason.map_or_else(|| "not known".into(), code),
            count("spans", row.spans),
            row.sink.as_deref().map(code).unwrap_or_default(),
            if row.is_lacking { "yes" } else { "perhaps not" }.into(),
            row.advice.map(prose).unwrap_or_default(),
        ];
        (format!("losses/dropped/{at}"), cells)
    });
    table("Losses", ["Reason", ">Spans", "Sink", "Lacking here", "~What to do"], rows, out);
    let rows = report.read_issues.iter().enumerate().map(|(at, issue)| {
        let is_unpacked = issue.offset.is_some() && is_unpacked(report, &issue.file);
        let unpacked = if is_unpacked { " unpacked" } else { "" };
        let cells = [
            path(&issue.file),
            escape(&word(&issue.kind).replace('_', " ")),
            count("offset", issue.offset) + unpacked,
            count("count", issue.count),
            prose(&issue.reason),
        ];
        (format!("read_issues/{at}"), cells)
    });
    table("Issues of the input", ["File", "Kind", ">At byte", ">Times", "~What it means"], rows, out);
    let rows = report.detailed_metrics.disagreements.iter().enumerate().map(|(at, row)| {
        let cells = [
            path(&row.path),
            code(row.figure),
            count("spans", row.spans),
            count("aggregates", row.aggregates),
        ];
        (format!("detailed_metrics/disagreements/{at}"), cells)
    });
    table(
        "Where spans and the processes' own sums differ",
        ["Section", "Figure", ">By the spans", ">By the sums"],
        rows,
        out,
    );
    let limits = report.detailed_metrics.limits.iter().map(|limit| {
        let name = serde_json::to_value(limit).ok();
        let name = name.as_ref().and_then(|value| value.get("limit")).and_then(|value| value.as_str());
        [escape(&name.unwrap_or("unknown").replace('_', " "))]
    });
    table_of_words("Bounds of the analysis that were reached", ["Bound"], limits, out);
    let rows = report.inputs.iter().enumerate().map(|(at, input)| {
        let cells = [
            path(&input.path),
            input.format.as_deref().map(code).unwrap_or_default(),
            super::page::bytes("bytes", input.bytes),
            count("spans", input.spans),
        ];
        (format!("inputs/{at}"), cells)
    });
    table("Input", ["File", "Format", ">Size", ">Spans"], rows, out);
    close(out);
}
