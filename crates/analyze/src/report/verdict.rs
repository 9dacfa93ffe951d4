//! The first sentence of a report: whether the run waits for its input, and where its time goes.

use stepscope_core::SectionKind;
use stepscope_model::ReadIssue;

use super::units::{percent, things};
use super::{FindingRow, FindingType, Input, doubtful_files};
use crate::between_steps::apart;
use crate::loaders::{InputShare, InputVerdict, Thresholds, goes_into, unjudged};
use crate::run::recorder::Recorder;
use crate::sections::dominant;
use crate::steps::judged::Steps;
use crate::summary::{FewSteps, ModeSummary, PhaseName, Summary};

/// Severity from which a finding stands in the sentence.
const NOTABLE: f64 = 10.0;
/// Severity from which a finding explains most of a step.
const EXPLAINS: f64 = 50.0;
/// Share of the time that steps wait below which they hardly do.
const HARDLY: f64 = 0.05;
/// Phases named in the sentence of a run that does not wait.
const PHASES_NAMED: usize = 2;
/// Share of the time that no phase covers from which it is named, too.
const UNNAMED_NAMED: f64 = 0.1;

/// The sentence, and what makes it doubtful.
pub(super) fn sentence(
    summary: &Summary,
    thresholds: &Thresholds,
    findings: &[FindingRow],
    (issues, inputs): (&[ReadIssue], &[Input]),
) -> String {
    if !summary.found {
        return "Nothing to report: the input holds no run.".into();
    }
    let judgement = judgement(summary, thresholds, findings);
    let several = apart::doubt(summary).map_or_else(String::new, |doubt| format!(" {doubt}"));
    let dominant = dominant(summary, findings);
    format!("{judgement}{dominant}{several}{}{}", certainty(summary), doubt(issues, inputs))
}

/// The section that is most of a step, where no finding is about half of it or about that section.
fn dominant(summary: &Summary, findings: &[FindingRow]) -> String {
    let explains = |found: &FindingRow| found.severity >= EXPLAINS;
    let told = summary.primary().and_then(|mode| dominant::words(summary, mode));
    let told = told.filter(|(path, _)| {
        !findings.iter().any(|found| explains(found) || found.section.as_deref() == Some(path))
            && summary.input.share.is_none_or(|share| 100.0 * share < EXPLAINS)
    });
    told.map_or_else(String::new, |(_, words)| format!(" {words}."))
}

/// How sure it is, of few steps.
fn certainty(summary: &Summary) -> String {
    FewSteps::of_verdict(summary).map_or_else(String::new, |few| format!(" {}.", few.words()))
}

/// That figures may be wrong, where what was read may be.
fn doubt(issues: &[ReadIssue], inputs: &[Input]) -> String {
    let files = doubtful_files(issues, inputs);
    let Some(first) = files.first() else { return String::new() };
    let name = first.rsplit('/').next().unwrap_or(first);
    let which = match files.len() - 1 {
        0 => format!("{name} is damaged"),
        more => {
            format!("{name} and {} are damaged", things(more as u64, "other file", "other files"))
        }
    };
    format!(" Figures may be wrong: {which} (see Recording).")
}

fn judgement(summary: &Summary, thresholds: &Thresholds, findings: &[FindingRow]) -> String {
    let Some(mode) = summary.primary() else {
        let steps = summary.sections.iter().filter(|row| row.kind == SectionKind::Step);
        let counted = steps.fold(0u64, |sum, row| sum.saturating_add(row.stats.count));
        if counted > 0 {
            return format!(
                "None of the {} that the run counted could be read: see Recording for what was lost.",
                things(counted, "step", "steps")
            );
        }
        return format!("No steps were found: {}.", Recorder::of(summary).mark_steps());
    };
    // Something worse comes first. What takes half of the time is told, though it is nobody's fault here.
    let takes_half = |found: &FindingRow| {
        found.predicted_gain.as_ref().is_some_and(|gain| 100.0 * gain.direct_share >= EXPLAINS)
    };
    let worst = findings.first().filter(|found| found.severity >= NOTABLE || takes_half(found));
    let input = InputShare::of(summary.input, thresholds);
    if let Some(degree) = input.verdict.words() {
        let is_input = |kind| matches!(kind, FindingType::DataLoading | FindingType::Preprocessing);
        let input = goes_into(summary);
        return match findings.first().filter(|found| !is_input(found.r#type)) {
            Some(found) => format!("{}; {}, too: {input}.", clause(found), lower(degree)),
            None => format!("{degree}: {input}."),
        };
    }
    if input.verdict == InputVerdict::Unknown {
        // Losses are why nothing can be said, and stand in that sentence.
        return match worst.filter(|found| found.r#type != FindingType::Recording) {
            // What takes most of a step leaves no room for input.
            Some(found) if found.severity >= EXPLAINS => found.title.clone(),
            Some(found) => format!("{}; whether steps wait for input is not known.", clause(found)),
            None => hardly_wait(mode).unwrap_or_else(|| unjudged(summary, mode)),
        };
    }
    match worst {
        Some(found) => found.title.clone(),
        None => {
            let steps = Steps::of(summary);
            let (of, by) = steps.map_or(("the time", ""), |steps| (steps.base().as_str(), steps.by()));
            let share = percent(input.share.unwrap_or(0.0));
            format!("Not input bound: {share} of {of} is input{by}{}.", rest(summary, mode))
        }
    }
}

/// That the steps' thread is hardly ever blocked, where that is so and no phase says what it does.
fn hardly_wait(mode: &ModeSummary) -> Option<String> {
    let shares = mode.threads.as_ref().filter(|_| !mode.has_phases())?;
    let waits = shares.share(shares.blocked_ns?.saturating_add(shares.run_queue_ns?));
    (waits < HARDLY).then(|| {
        format!(
            "Steps hardly wait: their thread is on a CPU for {} of the step time. What it does there no phase says.",
            percent(shares.share(shares.cpu_ns))
        )
    })
}

/// The title of a finding as the first part of a sentence.
fn clause(found: &FindingRow) -> &str {
    found.title.strip_suffix('.').unwrap_or(&found.title)
}

/// A sentence as the second part of one. What begins like an abbreviation (GPU, I/O) stays as it is.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let Some(first) = letters.next() else { return String::new() };
    if letters.clone().next().is_some_and(|second| second.is_uppercase() || second.is_ascii_punctuation()) {
        return sentence.to_owned();
    }
    first.to_lowercase().chain(letters).collect()
}

/// `; forward 48 %, backward 41 %`.
fn rest(summary: &Summary, mode: &ModeSummary) -> String {
    let sums = Steps::of(summary).ok().and_then(|steps| steps.sums).map(|sums| sums.phases());
    let rows: Vec<(PhaseName, f64)> = match sums {
        Some(rows) => rows.into_iter().filter_map(|row| Some((row.phase?, row.share))).collect(),
        None => mode.phases.iter().map(|row| (row.phase.clone(), row.exposed_share)).collect(),
    };
    let mut shown: Vec<String> = rows
        .iter()
        .filter(|(phase, share)| !phase.is_input() && *share >= 0.01)
        .take(PHASES_NAMED)
        .map(|(phase, share)| format!("{phase} {}", percent(*share)))
        .collect();
    let unnamed = Steps::of(summary).map_or(0.0, |steps| steps.unnamed_share());
    if unnamed >= UNNAMED_NAMED {
        shown.push(format!("in no phase {}", percent(unnamed)));
    }
    if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) }
}
