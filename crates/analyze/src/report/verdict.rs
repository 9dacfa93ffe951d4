//! The first sentence of a report: whether the run waits for its input, and where its time goes.

use stepscope_core::{Phase, SectionKind};

use super::units::{percent, things};
use super::{Bottleneck, coverage};
use crate::rules::Steps;
use crate::summary::{InputVerdict, ModeSummary, Summary};

/// Phases named in the sentence of a run that does not wait.
const PHASES_NAMED: usize = 2;

/// The sentence.
pub(super) fn sentence(summary: &Summary, bottlenecks: &[Bottleneck]) -> String {
    if !summary.found {
        return "Nothing to report: the input holds no run.".into();
    }
    let Some(mode) = summary.primary() else {
        let steps = summary.sections.iter().filter(|row| row.kind == SectionKind::Step);
        let counted = steps.fold(0u64, |sum, row| sum.saturating_add(row.stats.count));
        if counted > 0 {
            return format!(
                "None of the {} that the run counted could be read: see Recording for what was lost.",
                things(counted, "step", "steps")
            );
        }
        return "No steps were found: mark them with `step!`, or name their span in STEPSCOPE_STEP_SPAN."
            .into();
    };
    let share = percent(summary.input.share.unwrap_or(0.0));
    match summary.input.verdict {
        InputVerdict::NotEnoughData => unjudged(summary, mode),
        InputVerdict::High | InputVerdict::Moderate => {
            let degree =
                if summary.input.verdict == InputVerdict::High { "Input" } else { "Moderately input" };
            format!("{degree} bound: {}.", goes_into(summary, &share))
        }
        InputVerdict::No => {
            let other =
                bottlenecks.iter().find(|found| found.severity >= 10.0).map(|found| found.title.as_str());
            match other {
                Some(title) => format!("Not input bound, but: {title}"),
                None => format!("Not input bound: {share} of the time is input{}.", rest(mode)),
            }
        }
    }
}

/// Why the input could not be judged.
fn unjudged(summary: &Summary, mode: &ModeSummary) -> String {
    let needed = summary.input.min_steps;
    if mode.steady.count < needed {
        let read = coverage::read(&summary.coverage).map(|read| format!("; {read}"));
        return format!(
            "Too few steps to judge: {} after warm-up, {} are needed{}.",
            mode.steady.count,
            needed,
            read.unwrap_or_default()
        );
    }
    if mode.whole.steps == 0 {
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
    let Ok(steps) = Steps::of(summary, 1) else { return format!("{share} of the step time is input") };
    let costs = KINDS.map(|(phases, verb, noun)| (steps.exposed_ns(phases), verb, noun));
    let all = costs.iter().fold(0, |sum: u64, &(ns, ..)| sum.saturating_add(ns));
    // Of equals the first.
    match costs.into_iter().rev().max_by_key(|&(ns, ..)| ns) {
        Some((ns, verb, _)) if ns as f64 >= NEARLY_ALL * all as f64 => {
            format!("{} of the step time {verb}", percent(steps.share(ns)))
        }
        Some((ns, _, noun)) => {
            format!("{share} of the step time is input, {} {noun}", percent(steps.share(ns)))
        }
        None => format!("{share} of the step time is input"),
    }
}

/// `; forward 48 %, backward 41 %`.
fn rest(mode: &ModeSummary) -> String {
    let shown: Vec<String> = mode
        .phases
        .iter()
        .filter(|row| !row.phase.is_input() && row.exposed_share >= 0.01)
        .take(PHASES_NAMED)
        .map(|row| format!("{} {}", row.phase, percent(row.exposed_share)))
        .collect();
    if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) }
}
