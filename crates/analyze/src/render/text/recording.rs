//! How complete the recording is, what was wrong with the input, and what to try next.

use super::page::{Look, Page};
use crate::report::Report;
use crate::report::units::{count, things};

/// Read issues shown.
const ISSUES: usize = 8;
/// Disagreements shown.
const DISAGREEMENTS: usize = 3;

pub(super) fn render(report: &Report, page: &mut Page) {
    page.heading("Recording");
    let losses = &report.losses;
    let mut parts =
        vec![format!("{} spans in {} traces read", count(report.run.spans), count(report.run.traces))];
    parts.extend(losses.emitted.map(|spans| format!("{} recorded", count(spans))));
    parts.push(match losses.dropped_total {
        0 if losses.emitted.is_some() => "none lost".into(),
        0 => "losses not known".into(),
        spans => format!("{} lost", count(spans)),
    });
    if losses.incomplete_traces > 0 {
        parts.push(format!(
            "{} traces not complete ({} spans missing)",
            count(losses.incomplete_traces),
            count(losses.missing_spans)
        ));
    }
    if report.run.errors > 0 {
        parts.push(format!("{} spans with errors", count(report.run.errors)));
    }
    page.paragraph(Look::Plain, "  ", &parts.join(", "));
    for row in &losses.dropped {
        let sink = row.sink.as_ref().map_or(String::new(), |sink| format!(" ({sink})"));
        page.paragraph(
            Look::Notice,
            "  lost: ",
            &format!(
                "{} {}{sink}. {}",
                count(row.spans),
                row.reason.unwrap_or("for an unknown reason"),
                row.advice.unwrap_or("")
            ),
        );
    }
    for issue in report.read_issues.iter().take(ISSUES) {
        let place = match (issue.file.is_empty(), issue.offset) {
            (true, _) => String::new(),
            (false, Some(offset)) => format!("{} at byte {}: ", issue.file, count(offset)),
            (false, None) => format!("{}: ", issue.file),
        };
        let times = if issue.count > 1 { format!(" ({} times)", count(issue.count)) } else { String::new() };
        page.paragraph(Look::Notice, "  input: ", &format!("{place}{}{times}", issue.reason));
    }
    page.more(report.read_issues.len(), ISSUES, "issues of the input");
    for row in report.detailed_metrics.disagreements.iter().take(DISAGREEMENTS) {
        page.paragraph(
            Look::Notice,
            "  differs: ",
            &format!(
                "{} of {}: {} by the spans, {} by the process's own count",
                row.figure,
                row.path,
                count(row.spans),
                count(row.aggregates)
            ),
        );
    }
    page.more(report.detailed_metrics.disagreements.len(), DISAGREEMENTS, "differences");
    for limit in &report.detailed_metrics.limits {
        // The serialised name is the one that the JSON report carries.
        let name = serde_json::to_value(limit).ok();
        let name = name.as_ref().and_then(|value| value.get("limit")).and_then(|value| value.as_str());
        page.paragraph(Look::Notice, "  limit reached: ", &name.unwrap_or("unknown").replace('_', " "));
    }
}

pub(super) fn hints(report: &Report, page: &mut Page) {
    page.blank();
    if let Some(first) = report.bottlenecks.first() {
        page.line(Look::Dim, &format!("More on the first finding:  stepscope explain {}", first.rule));
    }
    let others = &report.run.other_runs;
    if let Some(other) = others.first() {
        let number = things(others.len() as u64, "other run", "other runs");
        let text = format!("{number} in this input, such as:  --run {}", other.run.id);
        page.line(Look::Dim, &text);
    }
    page.line(Look::Dim, "Every figure, for programs:  --format json");
}
