//! Putting a report together: the rules are asked, their findings ordered, and the summary's figures placed.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use stepscope_model::{IssueKind, ReadIssue};

use super::{
    Details, Dropped, Exported, Finding, FindingRow, FindingType, Input, Losses, Memory, Overview, Reading,
    Report, RuleState, Run, SCHEMA_VERSION, Tool, Verdict, verdict,
};
use crate::loaders::InputShare;
use crate::memory;
use crate::ranks::Ranks;
use crate::rules::{self, Config, RULES, RestsOn, Rule, Same};
use crate::steps::judged::Steps;
use crate::summary::{FewSteps, Summary};

/// The report on a run.
#[must_use]
pub fn build(summary: &Summary, reading: Reading, config: &Config) -> Report {
    let mut findings = Vec::new();
    let mut states = Vec::new();
    let mut notes = Vec::new();
    let ranks = Ranks::of(summary);
    let was_clock_set = reading.issues.iter().any(|issue| issue.kind == IssueKind::ClockJump);
    for rule in RULES {
        let verdict = if rule.needs_steady_clock && was_clock_set {
            Verdict::unknown("a clock was set: how long the run took is not known")
        } else {
            (rule.check)(summary, config)
        };
        let few = FewSteps::of(summary, rule);
        let state = verdict.state();
        let (found, because) = match verdict {
            Verdict::Found(found) => (found, None),
            Verdict::Fine { because } => (Vec::new(), Some(qualified(because, rule, few))),
            Verdict::Unknown { because } => (Vec::new(), Some(because)),
        };
        notes.push((rule.notes)(summary, config, &found));
        let among = |finding| match &ranks {
            Some(ranks) => ranks.among(rule, finding),
            None => finding,
        };
        let among = |finding| match few {
            Some(few) => few.qualify(among(finding), rule.kind),
            None => among(finding),
        };
        findings.extend(found.into_iter().map(|finding| row(rule, among(finding))));
        states.push(RuleState { rule: rule.id, state, because });
    }
    said_once(&mut findings, &mut states);
    order(&mut findings);
    let Reading { mut inputs, mut issues } = reading;
    inputs.sort();
    issues.sort();
    Report {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "stepscope", version: env!("CARGO_PKG_VERSION") },
        losses: losses(summary),
        run: run(summary),
        summary: overview(summary, config, &findings, (&issues, &inputs)),
        inputs,
        read_issues: issues,
        sections: summary.sections.clone(),
        critical_path: summary.critical_path.clone(),
        exemplars: summary.exemplars.clone(),
        // The last rules are about the recording, which qualifies everything else.
        notes: notes.into_iter().rev().flatten().collect(),
        findings,
        leaks: memory::leaks(summary, &config.memory_growth),
        memory: memory_of(summary),
        host: summary.metrics.of_hosts(),
        gpu: summary.metrics.of_gpus(),
        ranks: summary.instances.clone(),
        comparison: None,
        threads: summary.threads.clone(),
        detailed_metrics: details(summary, states),
    }
}

/// Why a rule is fine, with how sure that is.
fn qualified(because: String, rule: &Rule, few: Option<&FewSteps>) -> String {
    // How steps vary is no share of each.
    let is_share = rule.kind != FindingType::Variability && because.contains(" %");
    match few.filter(|_| is_share && rule.rests_on != RestsOn::Readings) {
        Some(few) => format!("{because} ({})", few.words()),
        None => because,
    }
}

fn row(rule: &Rule, finding: Finding) -> FindingRow {
    let mut id = rule.id.to_owned();
    if let Some(about) = finding.section.as_ref().or(finding.phase.as_ref()) {
        id.push(':');
        id.push_str(about);
    }
    FindingRow {
        id,
        rule: rule.id,
        r#type: rule.kind,
        severity: finding.severity,
        title: finding.title,
        section: finding.section,
        phase: finding.phase,
        rank: finding.rank,
        evidence: finding.evidence,
        recommendation: finding.recommendation,
        // What saves nothing is no gain to tell.
        predicted_gain: finding.predicted_gain.filter(|gain| gain.saved_ns_per_step > 0),
    }
}

/// Share of what a finding costs from which another one of the same cause says it.
const SAYS_IT: f64 = 0.75;

/// Leaves out findings of rules that yield to another one which says the cause, and most of what it costs. What stays says
/// what it stands for.
fn said_once(findings: &mut Vec<FindingRow>, states: &mut [RuleState]) {
    let direct = |row: &FindingRow| row.predicted_gain.as_ref().map_or(0.0, |gain| gain.direct_share);
    let is_cause = |cause: &FindingRow, other: &FindingRow| {
        let yields_to = rules::find(other.rule).map_or(&[][..], |rule| rule.yields_to);
        let is_about_same = |same| match same {
            // What takes longer before the steps is none of what they vary by.
            Same::Phase => cause.phase == other.phase && cause.evidence.get("wait_before_ns").is_none(),
            Same::Section => cause.section == other.section,
        };
        let is_its = yields_to.iter().any(|its| its.rule == cause.rule && is_about_same(its.same));
        is_its && direct(cause) >= SAYS_IT * direct(other)
    };
    let found = findings.clone();
    let cause_of = |other: &FindingRow| found.iter().find(|cause| is_cause(cause, other));
    findings.retain(|other| cause_of(other).is_none());
    for cause in findings.iter_mut() {
        let is_said = |other: &&FindingRow| cause_of(other).is_some_and(|said| said.id == cause.id);
        let rules: Vec<&str> = found.iter().filter(is_said).map(|other| other.rule).collect();
        if !rules.is_empty() {
            cause.evidence = std::mem::take(&mut cause.evidence).with("stands_for", rules);
        }
    }
    for state in states.iter_mut() {
        let mut its = found.iter().filter(|finding| finding.rule == state.rule);
        if let Some(cause) = its.find_map(cause_of)
            && !findings.iter().any(|finding| finding.rule == state.rule)
        {
            let because = format!("what it finds is said by `{}`", cause.id);
            (state.state, state.because) = (Verdict::Found(Vec::new()).state(), Some(because));
        }
    }
}

/// By severity, which for what takes time is the share that the cause itself takes, then by that share, largest
/// first, then by id. Rules may say several things about nothing in particular: a number after the id tells them
/// apart.
fn order(findings: &mut [FindingRow]) {
    let gain = |row: &FindingRow| row.predicted_gain.as_ref().map_or(0.0, |gain| gain.direct_share);
    findings.sort_by(|a, b| {
        let by_severity = b.severity.total_cmp(&a.severity);
        by_severity.then_with(|| gain(b).total_cmp(&gain(a))).then_with(|| match a.id.cmp(&b.id) {
            Ordering::Equal => a.title.cmp(&b.title),
            unequal => unequal,
        })
    });
    let mut seen = BTreeSet::new();
    for row in findings {
        let mut number = 1;
        let plain = row.id.clone();
        while !seen.insert(row.id.clone()) {
            number += 1;
            row.id = format!("{plain}#{number}");
        }
    }
}

fn losses(summary: &Summary) -> Losses {
    let losses = &summary.losses;
    Losses {
        emitted: losses.emitted,
        exported: losses
            .exported
            .iter()
            .map(|(sink, spans)| Exported { sink: sink.clone(), spans: *spans })
            .collect(),
        dropped: losses
            .dropped
            .iter()
            .map(|row| Dropped {
                sink: some(&row.sink),
                reason: row.reason.map(stepscope_core::LossReason::as_str),
                spans: row.spans,
                advice: row.reason.map(stepscope_core::LossReason::advice),
                is_missing_here: row.is_missing_here,
            })
            .collect(),
        dropped_total: losses.dropped_total(),
        lost: summary.lost_spans(),
        absent: losses.absent,
        incomplete_traces: summary.state.incomplete_traces,
        missing_spans: summary.state.missing_spans,
        unplaced: losses.unplaced,
    }
}

fn run(summary: &Summary) -> Run {
    let state = &summary.state;
    let first = summary.instances.first().map(|row| &row.resource);
    let hosts: BTreeSet<&str> = summary
        .instances
        .iter()
        .map(|row| row.resource.host_name.as_str())
        .filter(|host| !host.is_empty())
        .collect();
    Run {
        id: some(&summary.run.id),
        attempt: summary.run.attempt,
        is_foreign: summary.run.is_foreign,
        service: first.and_then(|resource| some(&resource.service_name)),
        host: first.and_then(|resource| some(&resource.host_name)),
        hosts: hosts.into_iter().map(str::to_owned).collect(),
        ranks: state.instances,
        world_size: state.world_size,
        level: first.and_then(|resource| some(&resource.level)),
        started_ns: state.first_ns,
        last_ns: state.last_ns,
        elapsed_ns: state.first_ns.zip(state.last_ns).map(|(first, last)| last.saturating_sub(first)),
        ended: state.is_ended(),
        ended_by: state.ended_by.map(stepscope_core::Signal::as_str),
        epochs_started: state.epochs_started,
        epochs_ended: state.epochs_ended,
        traces: state.traces,
        spans: state.spans,
        errors: state.errors,
        other_runs: summary.other_runs.clone(),
    }
}

fn overview(
    summary: &Summary,
    config: &Config,
    findings: &[FindingRow],
    read: (&[ReadIssue], &[Input]),
) -> Overview {
    let mode = summary.primary();
    Overview {
        verdict: verdict::sentence(summary, &config.input_bound, findings, read),
        input: InputShare::of(summary.input, &config.input_bound),
        mode: mode.map(|mode| mode.mode.as_str()),
        steps: mode.map_or(0, |mode| mode.steady.count),
        share_error: FewSteps::of_verdict(summary).and_then(FewSteps::share_error),
        warmup_steps: mode.map_or(0, |mode| mode.warmup.steps),
        step_time: mode.map(|mode| mode.steady),
        throughput: mode.map(|mode| mode.throughput).unwrap_or_default(),
        coverage: summary.coverage,
        whole: mode.map(|mode| mode.whole).unwrap_or_default(),
        phases: mode.map(|mode| mode.phases.clone()).unwrap_or_default(),
        unattributed_ns: mode.map_or(0, |mode| mode.unattributed_ns),
        phase_sums: Steps::of(summary)
            .ok()
            .and_then(|steps| steps.sums)
            .map(|sums| sums.phases())
            .unwrap_or_default(),
        steps_ns: mode.map_or(0, |mode| mode.steady_ns),
    }
}

fn memory_of(summary: &Summary) -> Option<Memory> {
    let memory = &summary.memory;
    let at_steps = memory.live.is_some() || memory.rss.is_some() || memory.by_section.is_some();
    let known = at_steps || !memory.processes.is_empty() || summary.live_memory.is_some();
    known.then(|| Memory {
        live: memory.live.clone(),
        rss: memory.rss.clone(),
        course: memory.course,
        processes: memory.processes.clone(),
        by_section: memory.by_section.clone(),
        sampled: summary.live_memory.clone(),
    })
}

fn details(summary: &Summary, rules: Vec<RuleState>) -> Details {
    let paths = |indices: &[usize]| {
        indices.iter().filter_map(|&index| summary.sections.get(index)).map(|row| row.path.clone()).collect()
    };
    Details {
        rules,
        modes: summary.modes.clone(),
        between_steps: summary.between_steps.clone(),
        batches: summary.batches.clone(),
        waits: summary.waits,
        slowest_sections: paths(&summary.slowest),
        most_variable_sections: paths(&summary.most_variable),
        limits: summary.limits.clone(),
        series: summary.series.clone(),
        changes: summary.changes.clone(),
        periodic: summary.periodic.clone(),
        phase_series: summary.phase_series.clone(),
        values: summary.values.clone(),
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
