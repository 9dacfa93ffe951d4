//! The first sentence of a report: whether the run waits for its input, and where its time goes.

use stepscope_core::{Phase, SectionKind};
use stepscope_model::ReadIssue;

use super::units::{percent, things};
use super::{Bottleneck, BottleneckType, coverage, doubtful_files};
use crate::rules::Steps;
use crate::rules::common::program::Recorder;
use crate::summary::{FigureSource, InputVerdict, ModeSummary, PhaseName, Summary};

/// Severity from which a finding stands in the sentence.
const NOTABLE: f64 = 10.0;
/// Phases named in the sentence of a run that does not wait.
const PHASES_NAMED: usize = 2;

/// The sentence, and what makes it doubtful.
pub(super) fn sentence(summary: &Summary, bottlenecks: &[Bottleneck], issues: &[ReadIssue]) -> String {
    if !summary.found {
        return "Nothing to report: the input holds no run.".into();
    }
    format!("{}{}", judgement(summary, bottlenecks), doubt(issues))
}

/// That figures may be wrong, where what was read may be.
fn doubt(issues: &[ReadIssue]) -> String {
    let files = doubtful_files(issues);
    let Some(first) = files.first() else { return String::new() };
    let name = first.rsplit('/').next().unwrap_or(first);
    let which = match files.len() - 1 {
        0 => format!("{name} is damaged"),
        more => format!("{name} and {} are damaged", things(more as u64, "other file", "other files")),
    };
    format!(" Figures may be wrong: {which} (see Recording).")
}

fn judgement(summary: &Summary, bottlenecks: &[Bottleneck]) -> String {
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
    let share = percent(summary.input.share.unwrap_or(0.0));
    // Something worse comes first.
    let worst = bottlenecks.first().filter(|found| found.severity >= NOTABLE);
    let other = bottlenecks
        .first()
        .filter(|found| !matches!(found.r#type, BottleneckType::DataLoading | BottleneckType::Preprocessing));
    match summary.input.verdict {
        InputVerdict::High | InputVerdict::Moderate if may_be_chance(bottlenecks) => {
            let input = goes_into(summary, &share);
            let once = "a good part of it in one step, which may be chance";
            match worst {
                Some(found) => format!("{}; {input}, {once}.", clause(found)),
                None => format!("Perhaps input bound: {input}, {once}."),
            }
        }
        // Losses are why nothing can be said, and stand in that sentence.
        InputVerdict::NotEnoughData => {
            match worst.filter(|found| found.r#type != BottleneckType::Recording) {
                Some(found) => format!("{}; {}", clause(found), lower(&unjudged(summary, mode))),
                None => unjudged(summary, mode),
            }
        }
        InputVerdict::High | InputVerdict::Moderate => {
            let degree =
                if summary.input.verdict == InputVerdict::High { "Input" } else { "Moderately input" };
            match other {
                Some(found) => {
                    format!(
                        "{}; {} bound, too: {}.",
                        clause(found),
                        lower(degree),
                        goes_into(summary, &share)
                    )
                }
                None => format!("{degree} bound: {}.", goes_into(summary, &share)),
            }
        }
        InputVerdict::No => {
            let of = Steps::of(summary, 1).map_or("the time", |steps| steps.base().as_str());
            let by = Steps::of(summary, 1).map_or("", |steps| steps.by());
            match worst {
                // Waiting for batches that are others'.
                Some(found) if found.r#type == BottleneckType::DataLoading => found.title.clone(),
                Some(found) => format!("Not input bound, but: {}", lower(&found.title)),
                None => format!("Not input bound: {share} of {of} is input{by}{}.", rest(summary, mode)),
            }
        }
    }
}

/// Whether no finding about the input is one for the sentence, and one only because what it is about may be chance.
fn may_be_chance(bottlenecks: &[Bottleneck]) -> bool {
    let is_about_input = |found: &&Bottleneck| {
        matches!(found.r#type, BottleneckType::DataLoading | BottleneckType::Preprocessing)
    };
    let about_input: Vec<&Bottleneck> = bottlenecks.iter().filter(is_about_input).collect();
    let is_capped =
        |found: &&Bottleneck| found.predicted_gain.as_ref().is_some_and(|gain| gain.severity() >= NOTABLE);
    about_input.iter().all(|found| found.severity < NOTABLE) && about_input.iter().any(is_capped)
}

/// The title of a finding as the first part of a sentence.
fn clause(found: &Bottleneck) -> &str {
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

/// Why the input could not be judged.
fn unjudged(summary: &Summary, mode: &ModeSummary) -> String {
    let needed = summary.input.min_steps;
    if summary.input.steps < needed {
        let read = coverage::read(&summary.coverage).map(|read| format!("; {read}"));
        // What is seen so far is no verdict, and still the first thing to look at.
        let so_far = summary.input.share.filter(|share| *share >= WORTH_SAYING);
        return format!(
            "Too few steps to judge: {} after warm-up, {} are needed{}.{}",
            summary.input.steps,
            needed,
            read.unwrap_or_default(),
            so_far.map_or_else(String::new, |share| format!(
                " So far {} of their time is input.",
                percent(share)
            ))
        );
    }
    if mode.whole.steps == 0 && summary.input.source == FigureSource::Spans {
        return format!(
            "The steps {}, so it cannot be said what they wait for: {}.",
            coverage::parts_because(&summary.coverage),
            coverage::parts_advice(&summary.coverage)
        );
    }
    if !mode.has_phases() && summary.outside.iter().all(|row| row.phase.is_none()) {
        return "No section names a phase, so it cannot be said what the steps wait for: give sections a phase, or \
                a name that implies one, such as `data_wait`."
            .into();
    }
    "The steps take no time: nothing to judge.".into()
}

/// Share of the time that input takes from which a run of too few steps says it.
const WORTH_SAYING: f64 = 0.05;

/// Share of the input time from which one part of it is said to be all.
const NEARLY_ALL: f64 = 0.9;

/// What most of the input time is: `47 % of the step time is spent waiting for batches`.
fn goes_into(summary: &Summary, share: &str) -> String {
    const KINDS: [(&[Phase], &str, &str); 3] = [
        (&[Phase::DataWait], "is spent waiting for batches", "waiting for batches"),
        (&[Phase::DataLoading], "goes into loading data", "loading data"),
        (
            &[Phase::Preprocessing, Phase::Augmentation, Phase::Collate],
            "goes into preparing data",
            "preparing data",
        ),
    ];
    let Ok(steps) = Steps::of(summary, 1) else { return format!("{share} of the time is input") };
    let (of, by) = (steps.base().as_str(), steps.by());
    let costs = KINDS.map(|(phases, verb, noun)| (steps.exposed_ns(phases), verb, noun));
    let all = costs.iter().fold(0, |sum: u64, &(ns, ..)| sum.saturating_add(ns));
    // Of equals the first.
    match costs.into_iter().rev().max_by_key(|&(ns, ..)| ns) {
        Some((ns, verb, _)) if ns as f64 >= NEARLY_ALL * all as f64 => {
            format!("{} of {of} {verb}{by}", percent(steps.share(ns)))
        }
        Some((ns, _, noun)) => {
            format!("{share} of {of} is input, {} {noun}{by}", percent(steps.share(ns)))
        }
        None => format!("{share} of {of} is input{by}"),
    }
}

/// `; forward 48 %, backward 41 %`.
fn rest(summary: &Summary, mode: &ModeSummary) -> String {
    let sums = Steps::of(summary, 1).ok().and_then(|steps| steps.sums).map(|sums| sums.phases());
    let rows: Vec<(PhaseName, f64)> = match sums {
        Some(rows) => rows.into_iter().filter_map(|row| Some((row.phase?, row.share))).collect(),
        None => mode.phases.iter().map(|row| (row.phase.clone(), row.exposed_share)).collect(),
    };
    let shown: Vec<String> = rows
        .iter()
        .filter(|(phase, share)| !phase.is_input() && *share >= 0.01)
        .take(PHASES_NAMED)
        .map(|(phase, share)| format!("{phase} {}", percent(*share)))
        .collect();
    if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) }
}
