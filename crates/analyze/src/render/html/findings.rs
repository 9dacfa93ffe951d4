//! The findings, each with what to do, the figures behind it, and a link to the plot that shows it; what the other
//! rules say; notes.

use super::page::{
    close, code, escape, figure, ns, number, open, paragraph, place, prose, share, table_of_words,
};
use super::plots::held_series;
use crate::render::common::evidence::{items, labelled};
use crate::render::common::names::{named_path, printable};
use crate::render::common::others;
use crate::report::{FindingRow, FindingType, Report};

/// The rule whose finding is seen where it begins, rather than in how steps are spread.
const SLOWER_SINCE: &str = "slower_since";

/// The rule whose finding is seen in what sections hold, where that is known.
const MEMORY_GROWTH: &str = "memory_growth";

/// The rules whose findings are seen where ranks stand beside each other; the second where it names one.
const SLOW_RANK: &str = "slow_rank";
const COMMUNICATION_WAITS: &str = "communication_waits";

/// Severity from which a finding stands out, and from which it alarms.
const NOTICE: f64 = 10.0;
const ALARM: f64 = 40.0;

pub(super) fn render(report: &Report, out: &mut String) {
    open("findings", "Findings", out);
    if report.findings.is_empty() {
        paragraph("No findings.", out);
    } else {
        out.push_str("<ol class=\"findings\">\n");
        for (at, finding) in report.findings.iter().enumerate() {
            one(at, report, finding, out);
        }
        out.push_str("</ol>\n");
    }
    if !report.notes.is_empty() {
        out.push_str("<h3>Notes</h3>\n<ul>\n");
        report.notes.iter().for_each(|note| out.push_str(&format!("<li>{}</li>\n", prose(&note.text))));
        out.push_str("</ul>\n");
    }
    close(out);
}

fn one(at: usize, report: &Report, finding: &FindingRow, out: &mut String) {
    let (class, degree) = match finding.severity {
        severity if severity >= ALARM => ("alarm", "severe"),
        severity if severity >= NOTICE => ("notice", "notable"),
        _ => ("minor", "minor"),
    };
    out.push_str(&format!(
        "<li id=\"finding-{at}\" class=\"finding {class}\"{}>\n<h3>{}</h3>\n<p class=\"about\"><span class=\"badge\">{degree}, \
         severity {}</span> {}",
        place(&format!("findings/{at}")),
        prose(&finding.title),
        figure("severity", finding.severity, &format!("{:.0}", finding.severity)),
        code(finding.rule),
    ));
    if finding.rank.is_some() {
        out.push_str(&format!(" rank {}", number("rank", finding.rank)));
    }
    if let Some(section) = &finding.section {
        out.push_str(&format!(
            " in <a href=\"#sections\" data-section=\"{}\">{}</a>",
            escape(&printable(section)),
            code(&named_path(section))
        ));
    }
    out.push_str("</p>\n");
    paragraph(&format!("<strong>What to do:</strong> {}", prose(&finding.recommendation)), out);
    if let Some(gain) = &finding.predicted_gain {
        let because = gain.because.as_ref().map(|because| format!(": {}", prose(because)));
        paragraph(
            &format!(
                "<strong>Gain:</strong> {} {} of {} ({} less, {} left){}.",
                gain.method.as_str(),
                share("predicted_gain/share", gain.share),
                gain.of.as_str(),
                ns("predicted_gain/saved_ns_per_step", gain.saved_ns_per_step),
                ns("predicted_gain/step_time_ns", gain.step_time_ns),
                because.unwrap_or_default()
            ),
            out,
        );
    }
    let (plot, what) = shown_in(report, finding);
    paragraph(&format!("<a class=\"see\" href=\"#{plot}\">See it in {what}</a>"), out);
    evidence(finding, out);
    out.push_str("</li>\n");
}

/// The part of the page that shows what a finding is about.
fn shown_in(report: &Report, finding: &FindingRow) -> (&'static str, &'static str) {
    if finding.rule == MEMORY_GROWTH && held_series(report).is_some() {
        return ("plot-held", "what sections hold over the steps");
    }
    if finding.rule == SLOWER_SINCE {
        return ("plot-steps", "the step times");
    }
    if finding.rule == SLOW_RANK || finding.rule == COMMUNICATION_WAITS && finding.rank.is_some() {
        return ("ranks", "the steps of each rank");
    }
    match finding.r#type {
        FindingType::Memory => ("memory", "memory over the steps"),
        FindingType::Variability => ("distribution", "the distribution of step times"),
        FindingType::Recording => ("recording", "what was recorded"),
        FindingType::DataLoading => ("waiting", "the time that steps wait"),
        FindingType::Preprocessing | FindingType::Io => ("phases", "where the step time goes"),
        _ => ("flame", "the flame graph"),
    }
}

/// Words that stand beside figures; what is longer has a line of its own.
const SHORT: usize = 40;

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
    format!("<ul>{}</ul>", items.concat())
}

fn evidence(finding: &FindingRow, out: &mut String) {
    let figures: Vec<String> = finding
        .evidence
        .iter()
        .filter_map(|(key, value)| {
            let (label, words) = labelled(key, value)?;
            let (class, shown) = match (value.as_number(), items(value)) {
                (Some(number), _) => ("", figure(&format!("evidence/{key}"), number, &words)),
                (None, Some(items)) => (" class=\"wide\"", list(&items)),
                (None, None) if words.len() > SHORT => (" class=\"wide\"", escape(&words)),
                (None, None) => ("", escape(&words)),
            };
            Some(format!("<div{class}><dt>{}</dt><dd>{shown}</dd></div>\n", escape(&label)))
        })
        .collect();
    if !figures.is_empty() {
        out.push_str(&format!(
            "<details><summary>The figures behind it</summary>\n<dl class=\"facts\">\n{}</dl>\n</details>\n",
            figures.concat()
        ));
    }
}

pub(super) fn rules(report: &Report, out: &mut String) {
    let others = others::others(report);
    if others.is_empty() {
        return;
    }
    let rows = others.iter().map(|it| [it.names(|rule| code(rule)), it.state.into(), prose(it.because)]);
    open("rules", "Also checked", out);
    table_of_words("Rules that found nothing", ["Rule", "State", "~Because"], rows, out);
    close(out);
}
