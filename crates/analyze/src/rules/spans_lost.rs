//! Rule `spans_lost`: the recording is incomplete. What was wrong with files is told by the read issues; here
//! is what the processes themselves lost, and runs that did not end.

use std::collections::BTreeMap;

use stepscope_core::LossReason;

use super::{Config, Rule};
use crate::report::coverage;
use crate::report::finding::{BottleneckType, Evidence, Finding, Note, Verdict, rounded, severity};
use crate::report::units::{count, percent, things};
use crate::summary::{LossRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "spans_lost",
    since: "0.1.0",
    name: "Spans lost",
    kind: BottleneckType::Recording,
    notes: |summary, _, _| notes(summary),
    page: include_str!("spans_lost.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of spans lost below which it is only shown, and no finding.
    min_share: f64 = 0.0;
    /// Severity of a run that did not end.
    not_ended_severity: f64 = 5.0;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.spans_lost;
    if !summary.found || summary.state.spans == 0 {
        return Verdict::unknown("no spans were read");
    }
    let mut findings: Vec<Finding> =
        [lost(summary, thresholds), not_ended(summary, thresholds)].into_iter().flatten().collect();
    if !findings.is_empty() {
        findings.sort_by(|a, b| b.severity.total_cmp(&a.severity));
        return Verdict::Found(findings);
    }
    let spans = things(summary.state.spans, "span", "spans");
    if summary.state.incomplete_traces > 0 {
        return Verdict::fine(format!(
            "no process lost any of {spans}; {} at work when the run ended",
            things(summary.state.incomplete_traces, "trace was", "traces were")
        ));
    }
    if summary.losses.emitted.is_none() && summary.state.is_ours {
        return Verdict::unknown(format!(
            "{spans} read, all traces complete; how many were recorded did not arrive (it is written \
             every few seconds and when the program ends)"
        ));
    }
    Verdict::fine(match summary.losses.emitted {
        None => format!("all traces of {spans} are complete; foreign programs do not count their losses"),
        Some(_) => match elsewhere(summary).map(|row| row.spans).fold(0, u64::saturating_add) {
            0 => format!("all traces of {spans} are complete, and no process lost any"),
            lost => format!(
                "all traces of {spans} are complete; {} elsewhere, see the notes",
                things(lost, "span was lost", "spans were lost")
            ),
        },
    })
}

/// Whether a loss is one that the finding is about. What was chosen to be left out is none.
fn counts(row: &LossRow) -> bool {
    row.is_lacking && !row.reason.is_some_and(LossReason::is_on_purpose)
}

/// What a sink lost that this input has from another.
fn elsewhere(summary: &Summary) -> impl Iterator<Item = &LossRow> {
    summary.losses.dropped.iter().filter(|row| !row.is_lacking)
}

/// What qualifies the figures, and what is lost at other places than the input at hand.
fn notes(summary: &Summary) -> Vec<Note> {
    let coverage = &summary.coverage;
    let mut texts = Vec::new();
    if let Some(read) = coverage::read(coverage) {
        texts.push(format!(
            "{read}. {} Counts, totals and quantiles of sections are those of all steps; rates, step times and \
             phases those of the steps read.",
            coverage::unread_because(coverage)
        ));
    }
    if let Some((whole, all)) = coverage.partly_whole().filter(|&(whole, _)| whole > 0) {
        texts.push(format!(
            "{} of {} were read with all their sections, the others {}. Phases and own times are those of the \
             whole ones, taken to be typical; for more of them, {}.",
            count(whole),
            things(all, "step", "steps"),
            coverage::parts_because(coverage),
            coverage::parts_advice(coverage)
        ));
    }
    let unplaced = summary.losses.unplaced;
    if unplaced > 0 {
        texts.push(format!(
            "{} in no row of the sections: what was around {} was not read (it was still open when the run stopped, or \
             was lost), and could be one of several.",
            things(unplaced, "section is", "sections are"),
            if unplaced == 1 { "it" } else { "them" }
        ));
    }
    texts.extend(elsewhere(summary).map(|row| {
        format!(
            "{} lost on the way to `{}` ({}). This input came another way and does not lack them. {}",
            things(row.spans, "span was", "spans were"),
            row.sink,
            row.reason.map_or("for an unknown reason", LossReason::as_str),
            row.reason.map_or("", LossReason::advice)
        )
    }));
    texts.into_iter().map(|text| Note { rule: RULE.id, section: None, text }).collect()
}

fn lost(summary: &Summary, thresholds: &Thresholds) -> Option<Finding> {
    let (state, losses) = (&summary.state, &summary.losses);
    let spans = summary.lost_spans();
    if spans == 0 && (state.incomplete_traces == 0 || is_open_at_end(summary)) {
        return None;
    }
    let recorded = losses.emitted.unwrap_or(0).max(state.spans.saturating_add(state.missing_spans)).max(1);
    let share = (spans as f64 / recorded as f64).min(1.0);
    if share < thresholds.min_share {
        return None;
    }
    let mut by_reason: BTreeMap<Option<LossReason>, u64> = BTreeMap::new();
    for row in losses.dropped.iter().filter(|row| counts(row)) {
        let sum = by_reason.entry(row.reason).or_default();
        *sum = sum.saturating_add(row.spans);
    }
    let reasons: serde_json::Map<String, serde_json::Value> = by_reason
        .iter()
        .map(|(reason, &spans)| (reason.map_or("unknown", LossReason::as_str).to_owned(), spans.into()))
        .collect();
    let mut advice: Vec<&str> = Vec::new();
    for remedy in by_reason.keys().flatten().map(|reason| reason.advice()) {
        if !advice.contains(&remedy) {
            advice.push(remedy);
        }
    }
    if advice.is_empty() {
        advice.push("Read all files of the run, and those of every process.");
    }
    let title = if spans == 0 {
        let verb = if state.incomplete_traces == 1 { "is" } else { "are" };
        let traces = things(state.traces, "trace", "traces");
        format!("{} of {traces} {verb} not complete.", count(state.incomplete_traces))
    } else {
        let verb = if spans == 1 { "was" } else { "were" };
        let lost = things(spans, "span", "spans");
        format!("{lost} {verb} lost ({} of those recorded).", percent(share))
    };
    Some(Finding {
        title,
        severity: severity(100.0 * share),
        section: None,
        phase: None,
        rank: None,
        evidence: Evidence::new()
            .with("lost_spans", spans)
            .with("lost_share", rounded(share, 6))
            .with_known("emitted_spans", losses.emitted)
            .with("read_spans", state.spans)
            .with("by_reason", reasons)
            .with("incomplete_traces", state.incomplete_traces)
            .with("missing_spans", state.missing_spans),
        recommendation: advice.join(" "),
        predicted_gain: None,
    })
}

/// Whether traces that are not complete are those that were at work at the end, as far as can be known: every
/// span that ended is here, or the run stopped and nobody counted a loss.
fn is_open_at_end(summary: &Summary) -> bool {
    let state = &summary.state;
    // What a process counted and never wrote, because it was stopped, is told by `not_ended`.
    let was_stopped = state.is_ended() == Some(false) && summary.lost_spans() == 0;
    let has_all = summary.losses.absent == Some(0) || was_stopped;
    state.is_ours && has_all && state.missing_spans == 0 && state.dropped_spans == 0
}

fn not_ended(summary: &Summary, thresholds: &Thresholds) -> Option<Finding> {
    let state = &summary.state;
    if state.is_ended() != Some(false) {
        return None;
    }
    let open = state.instances.saturating_sub(state.ended);
    let title = if state.instances <= 1 {
        "The run did not end in order: it was killed, crashed, or is still running.".to_owned()
    } else {
        format!(
            "{} of {} processes did not end in order: they were killed, crashed, or are still running.",
            count(open),
            count(state.instances)
        )
    };
    Some(Finding {
        title,
        severity: severity(thresholds.not_ended_severity),
        section: None,
        phase: None,
        rank: None,
        evidence: Evidence::new()
            .with("processes", state.instances)
            .with("not_ended", open)
            .with("epochs_started", state.epochs_started)
            .with("epochs_ended", state.epochs_ended)
            .with("incomplete_traces", state.incomplete_traces),
        recommendation: "What had been written is in this report; what was recorded after the last write (half a \
                         second at most, in a directory) is missing and cannot be counted, and traces that were \
                         at work are not complete. If the program is meant to have ended, look at its exit code \
                         and log, and keep the guard of `stepscope::init()` alive until the end of `main`."
            .into(),
        predicted_gain: None,
    })
}
