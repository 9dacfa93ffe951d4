//! How complete the recording is, what was wrong with the input, and what to try next.

use stepscope_core::LossReason;
use stepscope_model::ReadIssue;

use super::cell::{UNKNOWN, bytes, code, code_or, count};
use super::names::word;
use super::{Block, Cell, Document, Shown, Tone, cells};
use crate::report::units::{count as count_words, things};
use crate::report::{Dropped, Input, Report, Run};
use crate::summary::{Limit, RunIdentity};

/// Read issues shown where there is little room, and differences, of a comment and on a terminal.
const ISSUES: usize = 8;
const DIFFERENCES: usize = 8;
const FEW: usize = 3;

/// That figures end before the run did; absent where it finished cleanly, and for foreign input.
fn unended(report: &Report) -> Option<&'static str> {
    (report.run.ended == Some(false)).then_some(
        "The run did not end: what had been written is in this report; what was recorded after the last write (half \
         a second at most, in a directory) is missing and cannot be counted.",
    )
}

/// Whether the run finished cleanly, and at which signal.
pub(super) fn finished_cleanly(run: &Run) -> String {
    let ended = match run.ended {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    run.ended_by.map_or(ended.into(), |signal| format!("{ended}, by {signal}"))
}

/// Whether offsets in a file are those of what it holds unpacked.
fn is_unpacked(report: &Report, file: &str) -> bool {
    let is_compressed = |input: &Input| input.format.as_deref().is_some_and(stepscope_model::is_compressed);
    report.inputs.iter().any(|input| input.path == file && is_compressed(input))
}

/// What the JSON report calls a bound that was reached.
fn name(limit: &Limit) -> String {
    let value = serde_json::to_value(limit).unwrap_or_default();
    value.get("limit").and_then(|name| name.as_str()).unwrap_or("unknown").replace('_', " ")
}

pub(super) fn fill(report: &Report, doc: &mut Document) {
    doc.part("recording", "Recording", "Recording");
    doc.heading(Shown::BRIEF, "Recording");
    match doc.is(Shown::TEXT) {
        true => lines(report, doc),
        false => tables(report, doc),
    }
}

fn tables(report: &Report, doc: &mut Document) {
    let is_page = doc.is(Shown::HTML);
    numbers(report, doc);
    if let Some(text) = unended(report) {
        doc.say(Shown::TABLES, text);
    }
    let kind = |row: &Dropped| code_or(row.reason, if is_page { "not known".into() } else { UNKNOWN });
    let none = || if is_page { Cell::Empty } else { UNKNOWN };
    doc.table(Shown::TABLES, "Losses", report.losses.dropped.iter().enumerate())
        .at(|(at, _)| format!("losses/dropped/{at}"))
        .column(Shown::MD, ">Lost", "", |(_, row)| count(row.spans))
        .column(Shown::TABLES, "Reason", "", |(_, row)| kind(row))
        .column(Shown::HTML, ">Spans", "spans", |(_, row)| count(row.spans))
        .column(Shown::TABLES, "Sink", "", |(_, row)| code_or(row.sink.as_deref(), none()))
        .column(Shown::MD, "In this input", "", |(_, row)| {
            if row.is_missing_here { "lacking" } else { "perhaps" }.into()
        })
        .column(Shown::HTML, "Lacking here", "", |(_, row)| {
            if row.is_missing_here { "yes" } else { "perhaps not" }.into()
        })
        .column(Shown::MD, "What to do", "", |(_, row)| row.advice.map_or(UNKNOWN, Cell::from))
        .column(Shown::HTML, "~What to do", "", |(_, row)| row.advice.unwrap_or_default().into())
        .end();
    issues(report, doc);
    let differences = &report.detailed_metrics.disagreements;
    let most = if is_page { differences.len() } else { DIFFERENCES };
    let caption = "Where spans and the processes' own sums differ";
    doc.table(Shown::TABLES, caption, differences.iter().take(most).enumerate())
        .at(|(at, _)| format!("detailed_metrics/disagreements/{at}"))
        .column(Shown::MD, "Section", "", |(_, row)| code(&row.path))
        .column(Shown::HTML, "Section", "", |(_, row)| Cell::Path(row.path.clone()))
        .column(Shown::TABLES, "Figure", "", |(_, row)| code(row.figure))
        .column(Shown::TABLES, ">By the spans", "spans", |(_, row)| count(row.spans))
        .column(Shown::TABLES, ">By the process's own count|By the sums", "aggregates", |(_, row)| {
            count(row.aggregates)
        })
        .end();
    doc.more(Shown::MD, differences.len(), DIFFERENCES, ("", "differences"));
    let limits = &report.detailed_metrics.limits;
    for limit in limits {
        doc.say(Shown::MD, cells!["Limit reached: ", name(limit)]);
    }
    doc.table(Shown::HTML, "Bounds of the analysis that were reached", limits)
        .column(Shown::HTML, "Bound", "", |limit| name(limit).into())
        .end();
    doc.table(Shown::HTML, "Input", report.inputs.iter().enumerate())
        .at(|(at, _)| format!("inputs/{at}"))
        .column(Shown::HTML, "File", "", |(_, input)| Cell::Path(input.path.clone()))
        .column(Shown::HTML, "Format", "", |(_, input)| code_or(input.format.as_deref(), Cell::Empty))
        .column(Shown::HTML, ">Size", "bytes", |(_, input)| bytes(input.bytes))
        .column(Shown::HTML, ">Spans", "spans", |(_, input)| count(input.spans))
        .end();
    let tool = &report.tool;
    doc.add(Shown::MD, || Block::Small(format!("{} {}", tool.name, tool.version)));
}

fn numbers(report: &Report, doc: &mut Document) {
    let (run, losses) = (&report.run, &report.losses);
    let lost = losses.emitted.map(|_| losses.lost);
    let rows = [
        (Shown::TABLES, "Spans read", "run/spans", Some(run.spans)),
        (Shown::TABLES, "Traces read", "run/traces", Some(run.traces)),
        (Shown::TABLES, "Spans recorded", "losses/emitted", losses.emitted),
        (Shown::TABLES, "Spans not in this input", "losses/absent", losses.absent),
        (Shown::MD, "Spans lost that it lacks", "", lost),
        (
            Shown::HTML,
            "Spans lost on the way to any sink",
            "losses/dropped_total",
            Some(losses.dropped_total),
        ),
        (Shown::TABLES, "Traces not complete", "losses/incomplete_traces", Some(losses.incomplete_traces)),
        (Shown::TABLES, "Spans missing from them", "losses/missing_spans", Some(losses.missing_spans)),
        (Shown::TABLES, "Spans with errors", "run/errors", Some(run.errors)),
    ];
    let rows: Vec<_> = rows.into_iter().filter(|(shown, ..)| doc.is(*shown)).collect();
    doc.table(Shown::TABLES, "Spans and traces", rows)
        .column(Shown::MD, "", "", |(_, name, ..)| (*name).into())
        .column(Shown::HTML, "What", "", |(_, name, ..)| (*name).into())
        .column(Shown::MD, ">", "", |(.., number)| count(*number))
        .column(Shown::HTML, ">Number", "", |(_, _, place, number)| count(*number).at(*place))
        .end();
}

fn issues(report: &Report, doc: &mut Document) {
    let issues = &report.read_issues;
    let is_page = doc.is(Shown::HTML);
    let most = if is_page { issues.len() } else { ISSUES };
    let offset = |issue: &ReadIssue| {
        let is_unpacked = issue.offset.is_some() && is_unpacked(report, &issue.file);
        cells![count(issue.offset).at("offset"), if is_unpacked { " unpacked" } else { "" }]
    };
    let kind = |issue: &ReadIssue| word(&issue.kind);
    doc.table(Shown::TABLES, "Issues of the input", issues.iter().take(most).enumerate())
        .at(|(at, _)| format!("read_issues/{at}"))
        .column(Shown::MD, "File", "", |(_, issue)| {
            code_or(Some(issue.file.as_str()).filter(|file| !file.is_empty()), UNKNOWN)
        })
        .column(Shown::HTML, "File", "", |(_, issue)| Cell::Path(issue.file.clone()))
        .column(Shown::HTML, "Kind", "", |(_, issue)| kind(issue).replace('_', " ").into())
        .column(Shown::TABLES, ">At byte", "", |(_, issue)| offset(issue))
        .column(Shown::TABLES, ">Times", "count", |(_, issue)| count(issue.count))
        .column(Shown::MD, "Kind", "", |(_, issue)| code(&kind(issue)))
        .column(Shown::MD, "Issue", "", |(_, issue)| issue.reason.as_str().into())
        .column(Shown::HTML, "~What it means", "", |(_, issue)| issue.reason.as_str().into())
        .end();
    doc.more(Shown::MD, issues.len(), ISSUES, ("", "issues of the input"));
}

/// What a terminal shows.
fn lines(report: &Report, doc: &mut Document) {
    doc.say(Shown::TEXT, read(report).join(", "));
    if let Some(text) = unended(report) {
        doc.lead(Shown::TEXT, Tone::Notice, "  ", text);
    }
    for row in &report.losses.dropped {
        let sink = row.sink.as_ref().map_or(String::new(), |sink| format!(" ({sink})"));
        let is_on_purpose = row.reason.and_then(LossReason::parse).is_some_and(LossReason::is_on_purpose);
        let (tone, lead) = match is_on_purpose {
            _ if !row.is_missing_here => (Tone::Dim, "  lost elsewhere: "),
            true => (Tone::Plain, "  left out: "),
            false => (Tone::Notice, "  lost: "),
        };
        let reason = row.reason.unwrap_or("for an unknown reason");
        let advice = row.advice.unwrap_or("");
        doc.lead(Shown::TEXT, tone, lead, format!("{} {reason}{sink}. {advice}", count_words(row.spans)));
    }
    let mut notice = |lead: &str, text: String| {
        doc.lead(Shown::TEXT, Tone::Notice, lead, Cell::Plain(text));
    };
    for issue in report.read_issues.iter().take(ISSUES) {
        let place = match (issue.file.is_empty(), issue.offset) {
            (true, _) => String::new(),
            (false, Some(offset)) => {
                let of = if is_unpacked(report, &issue.file) { " of the unpacked content" } else { "" };
                format!("{} at byte {}{of}: ", issue.file, count_words(offset))
            }
            (false, None) => format!("{}: ", issue.file),
        };
        let times =
            if issue.count > 1 { format!(" ({} times)", count_words(issue.count)) } else { String::new() };
        notice("  input: ", format!("{place}{}{times}", issue.reason));
    }
    let issues = report.read_issues.len();
    doc.more(Shown::TEXT, issues, ISSUES, ("issue of the input", "issues of the input"));
    let differences = &report.detailed_metrics.disagreements;
    for row in differences.iter().take(FEW) {
        let (spans, own) = (count_words(row.spans), count_words(row.aggregates));
        let text =
            format!("{} of {}: {spans} by the spans, {own} by the process's own count", row.figure, row.path);
        doc.lead(Shown::TEXT, Tone::Notice, "  differs: ", Cell::Plain(text));
    }
    doc.more(Shown::TEXT, differences.len(), FEW, ("difference", "differences"));
    for limit in &report.detailed_metrics.limits {
        doc.lead(Shown::TEXT, Tone::Notice, "  limit reached: ", name(limit));
    }
}

/// What was read, and what of it is missing.
fn read(report: &Report) -> Vec<String> {
    let losses = &report.losses;
    let spans = things(report.run.spans, "span", "spans");
    let mut parts = vec![format!("{spans} in {} read", things(report.run.traces, "trace", "traces"))];
    let is_unended = unended(report).is_some();
    // The last count of a run that did not end is older than its last spans.
    let recorded = losses.emitted.filter(|_| !is_unended);
    parts.extend(recorded.map(|spans| format!("{} recorded", count_words(spans))));
    parts.push(match losses.lost {
        0 if is_unended => "no loss was counted".into(),
        0 if losses.emitted.is_some() => "none lost".into(),
        0 => "losses not known".into(),
        spans => format!("{} lost", count_words(spans)),
    });
    let counted = losses.dropped.iter().filter(|row| row.is_missing_here);
    let counted = counted.fold(0u64, |sum, row| sum.saturating_add(row.spans)).max(losses.lost);
    let uncounted = losses.absent.unwrap_or(0).saturating_sub(counted);
    if uncounted > 0 {
        parts.push(format!("{} not in this input", count_words(uncounted)));
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
    parts
}

pub(super) fn hints(report: &Report, doc: &mut Document) {
    doc.line(Tone::Plain, "");
    if let Some(first) = report.findings.first() {
        doc.line(Tone::Dim, format!("More on the first finding:  stepscope explain {}", first.rule));
    }
    let others = &report.run.other_runs;
    if let Some(other) = others.first() {
        let number = things(others.len() as u64, "other run", "other runs");
        let run = &report.run;
        let own = run.id.clone();
        let own = own.map(|id| RunIdentity { id, attempt: run.attempt, is_foreign: run.is_foreign });
        let all: Vec<RunIdentity> = others.iter().map(|other| other.run.clone()).chain(own).collect();
        let text = format!("{number} in this input, such as:  --run {}", other.run.selector(&all));
        doc.line(Tone::Dim, Cell::Plain(text));
    }
    doc.line(Tone::Dim, "Every figure, for programs:  --format json");
}
