//! Rule `spans_lost`: the recording is incomplete. What was wrong with files is told by the read issues; here
//! is what the processes themselves lost, and runs that did not end.

use stepscope_core::LossReason;

use super::{Config, Judged, RestsOn, Rule, fine, unknown};
use crate::losses::lost::{Lost, elsewhere};
use crate::report::coverage;
use crate::report::finding::{Evidence, Finding, FindingType, Note, rounded, severity};
use crate::report::units::{count, percent, things};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    rests_on: RestsOn::State,
    notes: |summary, _, _| {
        let note = |text| Note { rule: "spans_lost", section: None, text };
        coverage::notes(summary).into_iter().map(note).collect()
    },
    ..Rule::new("Spans lost", FindingType::Recording)
};

thresholds! {
    /// Share of spans lost below which it is only shown, and no finding.
    min_share: f64 = 0.0;
    /// Severity of a run that did not end.
    not_ended_severity: f64 = 5.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.spans_lost;
    if !summary.found || summary.state.spans == 0 {
        return unknown("no spans were read");
    }
    let mut findings: Vec<Finding> =
        [lost(summary, thresholds), not_ended(summary, thresholds)].into_iter().flatten().collect();
    if !findings.is_empty() {
        findings.sort_by(|a, b| b.severity.total_cmp(&a.severity));
        return Ok(findings);
    }
    let spans = things(summary.state.spans, "span", "spans");
    if summary.state.incomplete_traces > 0 {
        return fine(format!(
            "no process lost any of {spans}; {} at work when the run ended",
            things(summary.state.incomplete_traces, "trace was", "traces were")
        ));
    }
    if summary.losses.emitted.is_none() && summary.state.is_ours {
        return unknown(format!(
            "{spans} read, all traces complete; how many were recorded did not arrive (it is written \
             every few seconds and when the program ends)"
        ));
    }
    if summary.losses.emitted.is_none() {
        return unknown(format!(
            "{spans} read, no parent is missing; how many there were nobody knows, as foreign programs do not count them"
        ));
    }
    fine(match elsewhere(summary).map(|row| row.spans).fold(0, u64::saturating_add) {
        0 => format!("all traces of {spans} are complete, and no process lost any"),
        lost => format!(
            "all traces of {spans} are complete; {} elsewhere, see the notes",
            things(lost, "span was lost", "spans were lost")
        ),
    })
}

fn lost(summary: &Summary, thresholds: &Thresholds) -> Option<Finding> {
    let (state, losses) = (&summary.state, &summary.losses);
    let Lost { spans, share, by_reason } =
        Lost::of(summary).filter(|lost| lost.share >= thresholds.min_share)?;
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
        evidence: Evidence::new()
            .with("lost_spans", spans)
            .with("lost_share", rounded(share, 6))
            .with_known("emitted_spans", losses.emitted)
            .with("read_spans", state.spans)
            .with("by_reason", reasons)
            .with("incomplete_traces", state.incomplete_traces)
            .with("missing_spans", state.missing_spans),
        recommendation: advice.join(" "),
        ..Finding::default()
    })
}

fn not_ended(summary: &Summary, thresholds: &Thresholds) -> Option<Finding> {
    let state = &summary.state;
    if state.is_ended() != Some(false) {
        return None;
    }
    let open = state.instances.saturating_sub(state.ended);
    let title = if state.instances <= 1 {
        "The run did not finish cleanly: it was killed, crashed, or is still running.".to_owned()
    } else {
        format!(
            "{} of {} processes did not finish cleanly: they were killed, crashed, or are still running.",
            count(open),
            count(state.instances)
        )
    };
    Some(Finding {
        title,
        severity: severity(thresholds.not_ended_severity),
        evidence: Evidence::new()
            .with("processes", state.instances)
            .with("not_ended", open)
            .with("epochs_started", state.epochs_started)
            .with("epochs_ended", state.epochs_ended)
            .with("incomplete_traces", state.incomplete_traces),
        recommendation: "What was recorded after the last write, at most half a second in a directory, is missing and \
                         cannot be counted. If the program is meant to have ended, look at its exit code and log, and \
                         keep the guard of `stepscope::init()` alive until the end of `main`."
            .into(),
        ..Finding::default()
    })
}
