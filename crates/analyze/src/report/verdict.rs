//! The first sentence of a report: whether the run waits for its input, and where its time goes.

use stepscope_core::Phase;

use super::Bottleneck;
use super::units::percent;
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
        return "No steps were found: mark them with `step!`, or name their span in STEPSCOPE_STEP_SPAN."
            .into();
    };
    let share = percent(summary.input.share.unwrap_or(0.0));
    match summary.input.verdict {
        InputVerdict::NotEnoughData => {
            format!("Too few steps to judge: {} after warm-up.", mode.steady.count)
        }
        InputVerdict::High | InputVerdict::Moderate => {
            let degree =
                if summary.input.verdict == InputVerdict::High { "Input" } else { "Moderately input" };
            format!("{degree} bound: {share} of the step time {}.", goes_into(summary))
        }
        InputVerdict::No => {
            let other =
                bottlenecks.iter().find(|found| found.severity >= 10.0).map(|found| found.title.as_str());
            match other {
                Some(title) => format!("Not input bound ({share}), but: {title}"),
                None => format!("Not input bound: {share} of the time is input{}.", rest(mode)),
            }
        }
    }
}

/// What most of the input time is.
fn goes_into(summary: &Summary) -> &'static str {
    const WAIT: &[Phase] = &[Phase::DataWait];
    const LOADING: &[Phase] = &[Phase::DataLoading];
    const PREPARATION: &[Phase] = &[Phase::Preprocessing, Phase::Augmentation, Phase::Collate];
    let Ok(steps) = Steps::of(summary, 1) else { return "is input" };
    let kinds = [
        (WAIT, "is spent waiting for batches"),
        (LOADING, "goes into loading data on the training thread"),
        (PREPARATION, "goes into preparing data on the training thread"),
    ];
    // Of equals the first.
    let most = kinds.into_iter().rev().max_by_key(|&(phases, _)| steps.exposed_ns(phases));
    most.map_or("is input", |(_, words)| words)
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
