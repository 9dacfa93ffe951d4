//! The findings: what was found, the figures behind it, what to do, what it can bring; and what the other
//! rules say.

use super::page::{Look, Page};
use super::width::left;
use crate::render::common::evidence::figure;
use crate::render::common::names::named_path;
use crate::render::common::others::{Others, others};
use crate::report::units::{duration, percent};
use crate::report::{FindingRow, Report};

/// Severity from which a finding stands out.
pub(super) const NOTICE: f64 = 10.0;
/// Severity from which it is alarming.
const ALARM: f64 = 40.0;

/// Notes shown.
const NOTES: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    if report.findings.is_empty() {
        page.heading("No findings");
    } else {
        page.heading("Findings");
        for (position, found) in report.findings.iter().enumerate() {
            if position > 0 {
                page.blank();
            }
            finding(position + 1, found, page);
        }
    }
    let others = others(report);
    if !report.findings.is_empty() && !others.is_empty() {
        page.heading("Also checked");
    }
    for Others { rules, state, because } in &others {
        match rules[..] {
            [rule] => {
                let first = format!("  {} ", left(rule, 20));
                page.paragraph(Look::Dim, &first, &format!("{state}: {because}"));
            }
            _ => page.paragraph(Look::Dim, "  ", &format!("{}: {state}: {because}", rules.join(", "))),
        }
    }
    for note in report.notes.iter().take(NOTES) {
        page.paragraph(Look::Plain, "  Note: ", &note.text);
    }
    page.more(report.notes.len(), NOTES, "note", "notes");
}

fn finding(number: usize, found: &FindingRow, page: &mut Page) {
    let look = match found.severity {
        severity if severity >= ALARM => Look::Alarm,
        severity if severity >= NOTICE => Look::Notice,
        _ => Look::Heading,
    };
    let first = format!("{number:>2}. ");
    page.paragraph(look, &first, &found.title);
    let mut about = vec![format!("severity {:.0}", found.severity), found.rule.to_owned()];
    about.extend(found.rank.map(|rank| format!("rank {rank}")));
    about.extend(found.section.as_ref().map(|section| format!("in {}", named_path(section))));
    page.paragraph(Look::Plain, "    ", &about.join(", "));
    let evidence: Vec<String> = found
        .evidence
        .iter()
        .map(|(key, value)| figure(key, value))
        .filter(|text| !text.is_empty())
        .collect();
    if !evidence.is_empty() {
        page.paragraph(Look::Dim, "    Because: ", &format!("{}.", evidence.join("; ")));
    }
    page.paragraph(Look::Plain, "    What to do: ", &found.recommendation);
    if let Some(gain) = &found.predicted_gain {
        let because = gain.because.as_ref().map(|because| format!(": {because}"));
        let text = format!(
            "{} {} of {} ({} less, {} left){}.",
            gain.method.as_str(),
            percent(gain.share),
            gain.of.as_str(),
            duration(gain.saved_ns_per_step),
            duration(gain.step_time_ns),
            because.unwrap_or_default()
        );
        page.paragraph(Look::Plain, "    Gain: ", &text);
    }
}
