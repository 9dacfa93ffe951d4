//! How complete the recording is, what was wrong with the input, and what to try next.

use stepscope_core::LossReason;

use super::page::{Look, Page};
use crate::render::common::recording::{is_unpacked, unended};
use crate::report::Report;
use crate::report::units::{count, things};
use crate::summary::RunIdentity;

/// Read issues shown.
const ISSUES: usize = 8;
/// Disagreements shown.
const DISAGREEMENTS: usize = 3;

pub(super) fn render(report: &Report, page: &mut Page) {
    page.heading("Recording");
    let losses = &report.losses;
    let spans = things(report.run.spans, "span", "spans");
    let mut parts = vec![format!("{spans} in {} read", things(report.run.traces, "trace", "traces"))];
    let unended = unended(report);
    // The last count of a run that did not end is older than its last spans.
    let recorded = losses.emitted.filter(|_| unended.is_none());
    parts.extend(recorded.map(|spans| format!("{} recorded", count(spans))));
    parts.push(match losses.lost {
        0 if unended.is_some() => "no loss was counted".into(),
        0 if losses.emitted.is_some() => "none lost".into(),
        0 => "losses not known".into(),
        spans => format!("{} lost", count(spans)),
    });
    let counted = losses.dropped.iter().filter(|row| row.is_lacking);
    let counted = counted.fold(0u64, |sum, row| sum.saturating_add(row.spans)).max(losses.lost);
    let uncounted = losses.absent.unwrap_or(0).saturating_sub(counted);
    if uncounted > 0 {
        parts.push(format!("{} not in this input", count(uncounted)));
    }
    if losses.incomplete_traces > 0 {
        let missing = match losses.missing_spans {
            0 => String::new(),
            spans => format!(" ({} missing)", things(spans, "span", "spans")),
        };
        let traces = things(losses.incomplete_traces, "trace", "traces");
        parts.push(format!("{traces} not complete{missing}"));
    }
    if report.run.errors > 0 {
        // A signal is written as the error of the run's own span: nothing in the program has failed.
        let by_signal = report.ranks.iter().filter(|rank| rank.ended_by.is_some()).count() as u64;
        let spans = things(report.run.errors, "span with an error", "spans with errors");
        parts.push(match by_signal {
            0 => spans,
            all if all == report.run.errors => format!("{spans} (the end by a signal)"),
            some => format!("{spans} ({some} of them the end by a signal)"),
        });
    }
    page.paragraph(Look::Plain, "  ", &parts.join(", "));
    if let Some(text) = unended {
        page.paragraph(Look::Notice, "  ", text);
    }
    for row in &losses.dropped {
        let sink = row.sink.as_ref().map_or(String::new(), |sink| format!(" ({sink})"));
        let (look, first) = match row.reason {
            _ if !row.is_lacking => (Look::Dim, "  lost elsewhere: "),
            Some(reason) if LossReason::parse(reason).is_some_and(LossReason::is_on_purpose) => {
                (Look::Plain, "  left out: ")
            }
            _ => (Look::Notice, "  lost: "),
        };
        let reason = row.reason.unwrap_or("for an unknown reason");
        let advice = row.advice.unwrap_or("");
        page.paragraph(look, first, &format!("{} {reason}{sink}. {advice}", count(row.spans)));
    }
    for issue in report.read_issues.iter().take(ISSUES) {
        let place = match (issue.file.is_empty(), issue.offset) {
            (true, _) => String::new(),
            (false, Some(offset)) => {
                let of = if is_unpacked(report, &issue.file) { " of the unpacked content" } else { "" };
                format!("{} at byte {}{of}: ", issue.file, count(offset))
            }
            (false, None) => format!("{}: ", issue.file),
        };
        let times = if issue.count > 1 { format!(" ({} times)", count(issue.count)) } else { String::new() };
        page.paragraph(Look::Notice, "  input: ", &format!("{place}{}{times}", issue.reason));
    }
    page.more(report.read_issues.len(), ISSUES, "issue of the input", "issues of the input");
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
    page.more(report.detailed_metrics.disagreements.len(), DISAGREEMENTS, "difference", "differences");
    for limit in &report.detailed_metrics.limits {
        // The serialised name is the one that the JSON report carries.
        let name = serde_json::to_value(limit).ok();
        let name = name.as_ref().and_then(|value| value.get("limit")).and_then(|value| value.as_str());
        page.paragraph(Look::Notice, "  limit reached: ", &name.unwrap_or("unknown").replace('_', " "));
    }
}

pub(super) fn hints(report: &Report, page: &mut Page) {
    page.blank();
    if let Some(first) = report.findings.first() {
        page.line(Look::Dim, &format!("More on the first finding:  stepscope explain {}", first.rule));
    }
    let others = &report.run.other_runs;
    if let Some(other) = others.first() {
        let number = things(others.len() as u64, "other run", "other runs");
        let run = &report.run;
        let own = run.id.clone();
        let own = own.map(|id| RunIdentity { id, attempt: run.attempt, is_foreign: run.is_foreign });
        let all: Vec<RunIdentity> = others.iter().map(|other| other.run.clone()).chain(own).collect();
        let text = format!("{number} in this input, such as:  --run {}", other.run.selector(&all));
        page.line(Look::Dim, &text);
    }
    page.line(Look::Dim, "Every figure, for programs:  --format json");
}
