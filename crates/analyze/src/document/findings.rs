//! The findings, each with what to do, the figures behind it, and the plot that shows it; what the other rules say; notes.

use super::cell::{Unit, code, figure, float, ns, path, share};
use super::{Block, Cell, Document, FindingBlock, Shown, Tone, cells, evidence, series};
use crate::report::{FindingRow, FindingType, Gain, Report};

/// Severity from which a finding stands out, and from which it alarms.
pub(super) const NOTICE: f64 = 10.0;
const ALARM: f64 = 40.0;

/// Findings of a comment with details of their own.
const DETAILED: usize = 10;
/// Notes shown where there is little room.
const NOTES: usize = 8;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if !report.has_run() {
        return;
    }
    let found = &report.findings;
    doc.part("findings", "Findings", "Findings");
    doc.heading(Shown::BRIEF, if found.is_empty() { "No findings" } else { "Findings" });
    if found.is_empty() {
        doc.say(Shown::HTML, "No findings.");
    }
    doc.table(Shown::MD, "", found.iter().enumerate())
        .column(Shown::MD, ">#", "", |(at, _)| Cell::Raw((at + 1).to_string()))
        .column(Shown::MD, ">Severity", "", |(_, finding)| severity(finding))
        .column(Shown::MD, "Finding", "", |(_, finding)| finding.title.as_str().into())
        .column(Shown::MD, "Section", "", |(_, finding)| {
            finding.section.as_deref().map_or(super::cell::UNKNOWN, path)
        })
        .column(Shown::MD, ">Gain", "", |(_, finding)| {
            finding
                .predicted_gain
                .as_ref()
                .map_or(super::cell::UNKNOWN, |gain| cells![gain.method.as_str(), " ", share(gain.share)])
        })
        .end();
    let shown = if doc.is(Shown::MD) { DETAILED } else { found.len() };
    let findings = found.iter().enumerate().take(shown);
    let findings: Vec<FindingBlock> = findings.map(|(at, finding)| one(at, finding, report)).collect();
    if !findings.is_empty() {
        doc.blocks.push(Block::Findings(findings));
    }
    doc.more(Shown::MD, found.len(), DETAILED, ("", "findings without details here"));
    others(report, doc);
    let notes = || report.notes.iter().map(|note| note.text.as_str());
    if !report.notes.is_empty() {
        doc.heading(Shown::HTML, "Notes");
        doc.add(Shown::HTML, || Block::List(notes().map(Cell::from).collect()));
    }
    for note in notes().take(NOTES) {
        doc.lead(Shown::TEXT, Tone::Plain, "  Note: ", note);
        doc.add(Shown::MD, || Block::Quote(cells!["Note: ", note]));
    }
    doc.more(Shown::BRIEF, report.notes.len(), NOTES, ("note", "notes"));
}

fn severity(finding: &FindingRow) -> Cell {
    float(finding.severity, Unit::Words(format!("{:.0}", finding.severity)))
}

fn one(at: usize, finding: &FindingRow, report: &Report) -> FindingBlock {
    FindingBlock {
        at,
        tone: match finding.severity {
            severity if severity >= ALARM => Tone::Alarm,
            severity if severity >= NOTICE => Tone::Notice,
            _ => Tone::Strong,
        },
        severity: severity(finding).at("severity"),
        title: finding.title.clone(),
        rule: finding.rule,
        rank: finding.rank.map(|rank| super::cell::number(Some(rank)).at("rank")),
        section: finding.section.clone(),
        advice: finding.recommendation.clone(),
        gain: finding.predicted_gain.as_ref().map(gain),
        evidence: finding
            .evidence
            .iter()
            .filter_map(|(key, value)| {
                let (label, words) = evidence::labelled(key, value)?;
                let shown = match value.as_number() {
                    Some(number) => {
                        figure(Some(number.clone()), Unit::Words(words)).at(format!("evidence/{key}"))
                    }
                    None => words.into(),
                };
                Some((label, shown, evidence::items(value).unwrap_or_default()))
            })
            .collect(),
        shown_in: shown_in(report, finding),
    }
}

fn gain(gain: &Gain) -> Cell {
    let because = gain.because.as_ref().map_or(Cell::Empty, |because| cells![": ", because.as_str()]);
    cells![
        format!("{} ", gain.method.as_str()),
        share(gain.share).at("predicted_gain/share"),
        format!(" of {} (", gain.of.as_str()),
        ns(gain.saved_ns_per_step).at("predicted_gain/saved_ns_per_step"),
        " less, ",
        ns(gain.step_time_ns).at("predicted_gain/step_time_ns"),
        " left)",
        because,
        "."
    ]
}

/// The part of the page that shows what a finding is about.
fn shown_in(report: &Report, finding: &FindingRow) -> (&'static str, &'static str) {
    match (finding.rule, finding.r#type) {
        ("memory_growth", _) if series::held_series(report).is_some() => {
            ("plot-held", "what sections hold over the steps")
        }
        ("slower_since", _) => ("plot-steps", "the step times"),
        ("slow_rank", _) => ("ranks", "the steps of each rank"),
        ("cpu_saturated" | "host_memory" | "swap" | "iowait" | "disk_full", _)
        | ("gpu_underutilised" | "gpu_memory" | "throttling", _) => ("host", "what the machine did"),
        ("communication_waits", _) if finding.rank.is_some() => ("ranks", "the steps of each rank"),
        (_, FindingType::Memory) => ("memory", "memory over the steps"),
        (_, FindingType::Variability) => ("distribution", "the distribution of step times"),
        (_, FindingType::Recording) => ("recording", "what was recorded"),
        (_, FindingType::DataLoading) => ("waiting", "the time that steps wait"),
        (_, FindingType::Preprocessing | FindingType::Io) => ("phases", "where the step time goes"),
        _ => ("flame", "the flame graph"),
    }
}

/// Rules that found nothing and say the same, in their order.
struct Others<'a> {
    rules: Vec<&'static str>,
    /// Whether nothing is wrong, or too little is known, in words.
    state: &'static str,
    because: &'a str,
}

impl Others<'_> {
    fn names(&self) -> Cell {
        Cell::joined(self.rules.iter().map(|rule| code(rule)), ", ")
    }
}

/// The rules that found nothing, the first of each group where it stands among all.
fn quiet(report: &Report) -> Vec<Others<'_>> {
    let mut groups: Vec<Others<'_>> = Vec::new();
    for rule in &report.detailed_metrics.rules {
        let Some(because) = rule.because.as_deref() else { continue };
        match groups.iter_mut().find(|group| group.state == rule.state && group.because == because) {
            Some(group) => group.rules.push(rule.rule),
            None => groups.push(Others { rules: vec![rule.rule], state: rule.state, because }),
        }
    }
    groups
}

fn table(report: &Report, doc: &mut Document) {
    doc.table(Shown::TABLES, "Rules that found nothing", quiet(report))
        .column(Shown::TABLES, "Rule", "", Others::names)
        .column(Shown::TABLES, "State", "", |it| it.state.into())
        .column(Shown::MD, "Because", "", |it| it.because.into())
        .column(Shown::HTML, "~Because", "", |it| it.because.into())
        .end();
}

/// What the other rules say, behind the findings.
fn others(report: &Report, doc: &mut Document) {
    let others = quiet(report);
    if others.is_empty() || doc.is(Shown::HTML) {
        return;
    }
    if doc.is(Shown::MD) {
        return doc.details("", "Also checked", |doc| table(report, doc));
    }
    if !report.findings.is_empty() {
        doc.heading(Shown::TEXT, "Also checked");
    }
    for Others { rules, state, because } in &others {
        let said = format!("{state}: {because}");
        match rules[..] {
            [rule] => doc.lead(Shown::TEXT, Tone::Dim, &format!("  {rule:<20} "), said),
            _ => doc.lead(Shown::TEXT, Tone::Dim, "  ", format!("{}: {said}", rules.join(", "))),
        }
    }
}

/// The same as a part of its own.
pub(super) fn rules(report: &Report, doc: &mut Document) {
    if !quiet(report).is_empty() {
        doc.part("rules", "", "Also checked");
        table(report, doc);
    }
}
