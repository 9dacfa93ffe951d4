//! The findings: all in a table, then each with what to do and the figures behind it, folded; and what the other rules
//! say.

use super::page::{Page, code, known, prose};
use crate::render::common::evidence::labelled;
use crate::render::common::names::named_path;
use crate::render::common::others;
use crate::report::units::{duration, percent};
use crate::report::{FindingRow, Report};

/// Findings with details of their own.
const DETAILED: usize = 10;
/// Notes shown.
const NOTES: usize = 8;

pub(super) fn render(report: &Report, page: &mut Page) {
    let found = &report.findings;
    if found.is_empty() {
        page.heading(3, "No findings");
    } else {
        page.heading(3, "Findings");
        page.table(
            [">#", ">Severity", "Finding", "Section", ">Gain"],
            found.iter().enumerate().map(|(position, finding)| {
                [
                    (position + 1).to_string(),
                    severity(finding),
                    prose(&finding.title),
                    known(finding.section.as_deref(), |section| code(&named_path(section))),
                    known(finding.predicted_gain.as_ref(), |gain| {
                        format!("{} {}", gain.method.as_str(), percent(gain.share))
                    }),
                ]
            }),
        );
        found
            .iter()
            .take(DETAILED)
            .enumerate()
            .for_each(|(position, finding)| details(position + 1, finding, page));
        page.more(found.len(), DETAILED, "findings without details here");
    }
    others(report, page);
    for note in report.notes.iter().take(NOTES) {
        page.block(&format!("> Note: {}", prose(&note.text)));
    }
    page.more(report.notes.len(), NOTES, "notes");
}

fn severity(finding: &FindingRow) -> String {
    format!("{:.0}", finding.severity)
}

fn details(number: usize, finding: &FindingRow, page: &mut Page) {
    page.block(&format!("<details><summary>{number}. {}</summary>", prose(&finding.title)));
    page.block(&format!("**What to do:** {}", prose(&finding.recommendation)));
    if let Some(gain) = &finding.predicted_gain {
        let because = gain.because.as_ref().map(|because| format!(": {}", prose(because)));
        page.block(&format!(
            "**Gain:** {} {} of {} ({} less, {} left){}.",
            gain.method.as_str(),
            percent(gain.share),
            gain.of.as_str(),
            duration(gain.saved_ns_per_step),
            duration(gain.step_time_ns),
            because.unwrap_or_default()
        ));
    }
    let figures = finding.evidence.iter().filter_map(|(key, value)| labelled(key, value));
    page.table(["Evidence", ">"], figures.map(|(label, value)| [prose(&label), prose(&value)]));
    let rank = finding.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    page.block(&format!("Rule {}{rank}; `stepscope explain {}`", code(finding.rule), finding.rule));
    page.block("</details>");
}

fn others(report: &Report, page: &mut Page) {
    let others = others::others(report);
    if others.is_empty() {
        return;
    }
    let rows = others.iter().map(|it| [it.names(|rule| code(rule)), it.state.into(), prose(it.because)]);
    page.block("<details><summary>Also checked</summary>");
    page.table(["Rule", "State", "Because"], rows);
    page.block("</details>");
}
