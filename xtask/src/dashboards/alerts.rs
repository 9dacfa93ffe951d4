//! Alerts as Prometheus and Grafana have them, from the table of `stepscope-metrics` and for findings; and their tests: each
//! fires just above its bound, and stays quiet just below.

use std::fmt::Write as _;
use std::time::Duration;

use stepscope_core::vocabulary::Metric;
use stepscope_core::{attr, metric, prometheus};
use stepscope_metrics::alerts::{Measure, PROGRAM_RULES, RULES, Rule, Severity};

use super::findings::Rules;
use super::query::{INSTANCE, JOB, label};
use super::recording::quoted;
use crate::Outcome;

/// Which rule of the analyzer explains what an alert is about.
const EXPLAINED: &[(&str, &str)] = &[
    ("cpu", "cpu_saturated"),
    ("container_memory", "host_memory"),
    ("host_memory", "host_memory"),
    ("disk", "disk_full"),
    ("gpu_memory", "gpu_memory"),
    ("section", "slow_section"),
    ("memory_leak", "memory_growth"),
    ("memory_deadline", "memory_growth"),
    ("no_step", "step_jitter"),
];
/// Findings from this severity on are alerts.
const SEVERE: f64 = 20.0;
/// How far from the bound the tests go.
const STEP: f64 = 0.01;

/// An alert.
#[derive(Debug)]
pub(super) struct Alert {
    pub(super) name: String,
    /// What is compared…
    pub(super) measure: String,
    /// …how, for Prometheus and for Grafana…
    pub(super) comparison: (&'static str, &'static str),
    /// …and with what.
    pub(super) bound: f64,
    pub(super) hold: Duration,
    pub(super) severity: &'static str,
    pub(super) summary: String,
    pub(super) description: String,
    /// The rule that explains it, as a template.
    pub(super) explained_by: String,
    test: Test,
}

/// Series that make it fire where `VALUE` is beyond the bound.
#[derive(Debug)]
struct Test {
    series: Vec<(String, String)>,
    /// Labels of the alert, without the severity.
    labels: Vec<(String, String)>,
}

impl Test {
    /// A template as it is filled in for this test's alert.
    fn filled(&self, template: &str) -> String {
        self.labels.iter().fold(template.to_owned(), |text, (label, value)| text.replace(&told(label), value))
    }
}

/// A label's value, in a template.
fn told(label: &str) -> String {
    format!("{{{{ $labels.{label} }}}}")
}

/// Where the value goes in a test's series.
const VALUE: &str = "VALUE";

/// All alerts.
pub(super) fn all(rules: &Rules) -> Outcome<Vec<Alert>> {
    let mut alerts =
        RULES.iter().chain(PROGRAM_RULES).map(|rule| from_table(rule, rules)).collect::<Outcome<Vec<_>>>()?;
    alerts.push(of_findings());
    Ok(alerts)
}

fn row(name: &str) -> Outcome<&'static Metric> {
    metric::all().find(|row| row.name == name).ok_or_else(|| format!("there is no metric {name}"))
}

/// A bound as people write it: shares in per cent, times with their unit.
fn bound(measure: Measure, above: f64) -> Outcome<String> {
    let unit = match measure {
        Measure::Greatest(name) | Measure::Least(name) => row(name)?.unit,
        Measure::SumWithout { metric, .. } => row(metric)?.unit,
        Measure::Share(..) => "1",
    };
    Ok(match unit {
        "1" if above <= 1.0 => format!("{} %", above * 100.0),
        "s" => format!("{above} s"),
        "By" => format!("{above} B"),
        _ => above.to_string(),
    })
}

/// The first sentence of what a metric is.
fn sentence(row: &Metric) -> String {
    let doc = row.doc.trim();
    doc.split_once(". ").map_or_else(|| doc.to_owned(), |(first, _)| format!("{first}."))
}

fn from_table(rule: &Rule, rules: &Rules) -> Outcome<Alert> {
    let explained_by = EXPLAINED.iter().find(|(alert, _)| *alert == rule.name).map(|(_, rule)| *rule);
    let explained_by = explained_by.filter(|rule| rules.has(rule)).ok_or_else(|| {
        format!("no rule of the analyzer explains the alert {}: name one in {}", rule.name, file!())
    })?;
    let identity = [(JOB.to_owned(), "train".to_owned()), (INSTANCE.to_owned(), "0".to_owned())];
    let series = |row: &Metric, labels: &[(String, String)], value: &str| {
        (format!("{}{{{}}}", prometheus::sample(row), written(labels)), value.to_owned())
    };
    let (measure, what, series, labels) = match rule.measure {
        Measure::Greatest(name) | Measure::Least(name) => {
            let row = row(name)?;
            let attributes = row.attributes.iter().map(|key| (label(key), "a".to_owned()));
            let labels: Vec<_> = identity.iter().cloned().chain(attributes).collect();
            (prometheus::sample(row), sentence(row), vec![series(row, &labels, VALUE)], labels)
        }
        Measure::SumWithout { metric, attribute, values } => {
            let row = row(metric)?;
            let key = label(attribute);
            let measure = format!(
                "sum by ({JOB}, {INSTANCE}) ({}{{{key}!~\"{}\"}})",
                prometheus::sample(row),
                values.join("|")
            );
            let with = |value: &str| [&identity[..], &[(key.clone(), value.to_owned())]].concat();
            let others = values.iter().map(|value| series(row, &with(value), "1"));
            let all = std::iter::once(series(row, &with("a"), VALUE)).chain(others).collect();
            let what = format!("{} Without {}.", sentence(row), values.join(" and "));
            (measure, what, all, identity.to_vec())
        }
        Measure::Share(part, whole) => {
            let (part, whole) = (row(part)?, row(whole)?);
            let measure = format!("{} / ({} > 0)", prometheus::sample(part), prometheus::sample(whole));
            let both = vec![series(part, &identity, VALUE), series(whole, &identity, "1")];
            (measure, format!("{} As a share of its limit.", sentence(part)), both, identity.to_vec())
        }
    };
    Ok(Alert {
        name: camel(rule.name),
        measure,
        comparison: if rule.is_below() { ("<", "lt") } else { (">", "gt") },
        bound: rule.above,
        hold: rule.hold,
        severity: rule.severity.as_str(),
        summary: format!(
            "{} is {} {}",
            rule.name.replace('_', " "),
            if rule.is_below() { "below" } else { "above" },
            bound(rule.measure, rule.above)?
        ),
        description: what,
        explained_by: explained_by.to_owned(),
        test: Test { series, labels },
    })
}

fn of_findings() -> Alert {
    let severity = &metric::run::row::FINDING_SEVERITY;
    let (rule, run) = (label(attr::FINDING_RULE), label(attr::RUN_ID));
    let values = [(JOB, "train"), (INSTANCE, "0"), (&*rule, "memory_growth"), (&*run, "night-7")];
    let labels: Vec<_> = values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Alert {
        name: "StepscopeFinding".into(),
        measure: prometheus::sample(severity),
        comparison: (">=", "gte"),
        bound: SEVERE,
        hold: Duration::ZERO,
        severity: Severity::Warning.as_str(),
        summary: format!("Severe finding in run {}: {}", told(&run), told(&rule)),
        description: severity.doc.trim().into(),
        explained_by: told(&rule),
        test: Test {
            series: vec![(format!("{}{{{}}}", prometheus::sample(severity), written(&labels)), VALUE.into())],
            labels,
        },
    }
}

/// `gpu_memory` as `StepscopeGpuMemory`.
fn camel(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    format!("Stepscope{}", words.collect::<String>())
}

fn written(labels: &[(String, String)]) -> String {
    labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect::<Vec<_>>().join(", ")
}

impl Alert {
    pub(super) fn expression(&self) -> String {
        format!("{} {} {}", self.measure, self.comparison.0, self.bound)
    }

    pub(super) fn runbook(&self) -> String {
        format!("stepscope explain {}", self.explained_by)
    }
}

/// The group of alerts of Prometheus' rules.
pub(super) fn rules(alerts: &[Alert]) -> String {
    let mut out = String::from("\n  - name: stepscope-alerts\n    interval: 10s\n    rules:\n");
    for alert in alerts {
        let hold = alert.hold.as_secs();
        let _ = write!(
            out,
            "      - alert: {}\n        expr: {}\n        for: {hold}s\n        keep_firing_for: {hold}s\n        labels:\n          \
             severity: {}\n        annotations:\n          summary: {}\n          description: {}\n          runbook: {}\n",
            alert.name,
            quoted(&alert.expression()),
            alert.severity,
            quoted(&alert.summary),
            quoted(&alert.description),
            quoted(&alert.runbook()),
        );
    }
    out
}

/// The tests of these rules.
pub(super) fn tests(alerts: &[Alert]) -> String {
    alerts.iter().map(|alert| test(alert, true) + &test(alert, false)).collect()
}

fn test(alert: &Alert, fires: bool) -> String {
    let Alert { name, bound, hold, severity, test, .. } = alert;
    let value = if fires == (alert.comparison.0 == "<") { bound - STEP } else { bound + STEP };
    let word = if fires { "fires" } else { "stays quiet" };
    let mut out = format!("\n  - name: {name} {word}\n    interval: 10s\n    input_series:\n");
    for (series, constant) in &test.series {
        let constant = if constant == VALUE { format!("{value:.2}") } else { constant.clone() };
        let _ = write!(out, "      - series: '{series}'\n        values: '{constant}x30'\n");
    }
    out.push_str("    alert_rule_test:\n");
    // While it holds for less than it has to, nothing fires either.
    if fires && *hold >= Duration::from_secs(20) {
        let _ = write!(
            out,
            "      - eval_time: {}s\n        alertname: {name}\n        exp_alerts: []\n",
            hold.as_secs() - 10
        );
    }
    let _ = write!(out, "      - eval_time: {}s\n        alertname: {name}\n", hold.as_secs() + 20);
    if !fires {
        out.push_str("        exp_alerts: []\n");
        return out;
    }
    out.push_str("        exp_alerts:\n          - exp_labels:\n");
    for (key, value) in &test.labels {
        let _ = writeln!(out, "              {key}: \"{value}\"");
    }
    let _ = write!(
        out,
        "              severity: {severity}\n            exp_annotations:\n              summary: {}\n              \
         description: {}\n              runbook: {}\n",
        quoted(&test.filled(&alert.summary)),
        quoted(&alert.description),
        quoted(&test.filled(&alert.runbook())),
    );
    out
}
