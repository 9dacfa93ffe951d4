//! How complete the recording is, what was wrong with the input, and what to try next.

use stepscope_core::LossReason;
use stepscope_model::ReadIssue;

use super::cell::{bytes, code_or, count};
use super::names::word;
use super::{Block, Cell, Document, Shown, Tone, cells};
use crate::config::Bounds;
use crate::report::units::{count as count_words, things};
use crate::report::{Dropped, Input, Report, Run};
use crate::summary::{Limit, RunIdentity};

/// Read issues and differences shown where there is little room.
const ISSUES: usize = 8;

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

/// A bound that was reached, what is missing for it, and what to do.
fn reached(limit: &Limit) -> String {
    let Bounds { runs, instances, paths, values, custom_phases, threads, loaders, aggregates, .. } =
        Bounds::default();
    let (number, what, lacks) = match limit {
        Limit::PathsCut { depth } => {
            let lacks = format!(
                "all are cut to their first {}. Use fewer names.",
                things((*depth).into(), "name", "names")
            );
            return format!("more than {} call paths: {lacks}", count_words(paths as u64));
        }
        Limit::RunsLeftOut => (runs, "runs", "the oldest are left out. Read fewer at once."),
        Limit::InstancesLeftOut => {
            (instances, "processes", "steps of the others are left out. Read the files of fewer at once.")
        }
        Limit::ValuesLeftOut => {
            (values, "values of your own", "those with the last names are left out. Record fewer.")
        }
        Limit::PhasesFolded => (
            custom_phases,
            "phases of your own",
            "those with the last names are counted together. Name fewer.",
        ),
        Limit::ThreadsLeftOut => (
            threads,
            "threads of a process",
            "the time of the others between steps and in loaders is left out. Keep threads instead of starting new ones.",
        ),
        Limit::BetweenStepsEstimated => {
            return "more steps than are kept singly: what sections between steps take is estimated.".into();
        }
        Limit::LoadersLeftOut => (loaders, "loaders", "those with the last names are left out. Name fewer."),
        Limit::AggregatesLeftOut => (
            aggregates,
            "call paths of a process",
            "counts and totals of the others are left out. Use fewer names.",
        ),
    };
    format!("more than {} {what}: {lacks}", count_words(number as u64))
}

pub(super) fn fill(report: &Report, doc: &mut Document) {
    doc.part("recording", "Recording", "Recording");
    doc.heading(Shown::BRIEF, "Recording");
    match doc.is(Shown::HTML) {
        true => tables(report, doc),
        false => lines(report, doc),
    }
    let tool = &report.tool;
    doc.add(Shown::MD, || Block::Small(format!("{} {}", tool.name, tool.version)));
}

fn tables(report: &Report, doc: &mut Document) {
    numbers(report, doc);
    if let Some(text) = unended(report) {
        doc.say(Shown::HTML, text);
    }
    let kind = |row: &Dropped| code_or(row.reason, "not known".into());
    doc.table(Shown::HTML, "Losses", report.losses.dropped.iter().enumerate())
        .at(|(at, _)| format!("losses/dropped/{at}"))
        .column(Shown::HTML, "Reason", "", |(_, row)| kind(row))
        .column(Shown::HTML, ">Spans", "spans", |(_, row)| count(row.spans))
        .column(Shown::HTML, "Sink", "", |(_, row)| code_or(row.sink.as_deref(), Cell::Empty))
        .column(Shown::HTML, "Missing here", "", |(_, row)| {
            if row.is_missing_here { "yes" } else { "perhaps not" }.into()
        })
        .column(Shown::HTML, "~What to do", "", |(_, row)| row.advice.unwrap_or_default().into())
        .end();
    issues(report, doc);
    let limits = &report.detailed_metrics.limits;
    doc.table(Shown::HTML, "Bounds of the analysis that were reached", limits)
        .column(Shown::HTML, "~Bound", "", |limit| reached(limit).into())
        .end();
    doc.table(Shown::HTML, "Input", report.inputs.iter().enumerate())
        .at(|(at, _)| format!("inputs/{at}"))
        .column(Shown::HTML, "File", "", |(_, input)| Cell::Path(input.path.clone()))
        .column(Shown::HTML, "Format", "", |(_, input)| code_or(input.format.as_deref(), Cell::Empty))
        .column(Shown::HTML, ">Size", "bytes", |(_, input)| bytes(input.bytes))
        .column(Shown::HTML, ">Spans", "spans", |(_, input)| count(input.spans))
        .end();
}

fn numbers(report: &Report, doc: &mut Document) {
    let (run, losses) = (&report.run, &report.losses);
    let rows = [
        ("Spans read", "run/spans", Some(run.spans)),
        ("Traces read", "run/traces", Some(run.traces)),
        ("Spans recorded", "losses/emitted", losses.emitted),
        ("Spans not in this input", "losses/absent", losses.absent),
        ("Spans lost on the way to any sink", "losses/dropped_total", Some(losses.dropped_total)),
        ("Traces not complete", "losses/incomplete_traces", Some(losses.incomplete_traces)),
        ("Spans missing from them", "losses/missing_spans", Some(losses.missing_spans)),
        ("Spans with errors", "run/errors", Some(run.errors)),
    ];
    doc.table(Shown::HTML, "Spans and traces", rows)
        .column(Shown::HTML, "What", "", |(name, ..)| (*name).into())
        .column(Shown::HTML, ">Number", "", |(_, place, number)| count(*number).at(*place))
        .end();
}

fn issues(report: &Report, doc: &mut Document) {
    let issues = &report.read_issues;
    let offset = |issue: &ReadIssue| {
        let is_unpacked = issue.offset.is_some() && is_unpacked(report, &issue.file);
        cells![count(issue.offset).at("offset"), if is_unpacked { " unpacked" } else { "" }]
    };
    let kind = |issue: &ReadIssue| word(&issue.kind);
    doc.table(Shown::HTML, "Issues of the input", issues.iter().enumerate())
        .at(|(at, _)| format!("read_issues/{at}"))
        .column(Shown::HTML, "File", "", |(_, issue)| Cell::Path(issue.file.clone()))
        .column(Shown::HTML, "Kind", "", |(_, issue)| kind(issue).replace('_', " ").into())
        .column(Shown::HTML, ">At byte", "", |(_, issue)| offset(issue))
        .column(Shown::HTML, ">Times", "count", |(_, issue)| count(issue.count))
        .column(Shown::HTML, "~What it means", "", |(_, issue)| issue.reason.as_str().into())
        .end();
}

/// What is said where there is little room.
fn lines(report: &Report, doc: &mut Document) {
    doc.say(Shown::BRIEF, read(report).join(", "));
    if let Some(text) = unended(report) {
        doc.lead(Shown::BRIEF, Tone::Notice, "  ", text);
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
        doc.lead(Shown::BRIEF, tone, lead, format!("{} {reason}{sink}. {advice}", count_words(row.spans)));
    }
    let mut notice = |lead: &str, text: String| {
        doc.lead(Shown::BRIEF, Tone::Notice, lead, Cell::Plain(text));
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
        let lost =
            issue.lost_bytes.map_or(String::new(), |lost| format!(", {} bytes in all", count_words(lost)));
        let times = if issue.count > 1 {
            format!(" ({} times{lost})", count_words(issue.count))
        } else {
            String::new()
        };
        notice("  input: ", format!("{place}{}{times}", issue.reason));
    }
    let issues = report.read_issues.len();
    doc.more(Shown::BRIEF, issues, ISSUES, ("issue of the input", "issues of the input"));
    for limit in &report.detailed_metrics.limits {
        doc.lead(Shown::BRIEF, Tone::Notice, "  limit: ", reached(limit));
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
    if let Some(other) = others.iter().max_by_key(|other| other.steps) {
        let number = things(others.len() as u64, "other run", "other runs");
        let run = &report.run;
        let own = run.id.clone();
        let own = own.map(|id| RunIdentity { id, attempt: run.attempt, is_foreign: run.is_foreign });
        let all: Vec<RunIdentity> = others.iter().map(|other| other.run.clone()).chain(own).collect();
        let of = match other.steps {
            0 => String::new(),
            steps => format!(" ({})", things(steps, "step", "steps")),
        };
        let text = format!("{number} in this input, such as:  --run {}{of}", other.run.selector(&all));
        doc.line(Tone::Dim, Cell::Plain(text));
    }
    doc.line(Tone::Dim, "Every figure, for programs:  --format json");
}
