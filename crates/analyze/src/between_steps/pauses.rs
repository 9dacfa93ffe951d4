//! The pauses between steps that make most of the time there.

use stepscope_core::Mode;

use super::Between;
use crate::report::units::{count, duration, listed};
use crate::rules::common::steps::Steps;
use crate::rules::common::when::when;
use crate::summary::{StepGap, StepNumbers, Summary};

/// The longest pauses, as few as make at least half of `ns`, even if all sections between steps were in them.
pub(crate) fn places<'a>(
    ns: u64,
    between: &Between<'_>,
    steps: &Steps<'a>,
    processes: u64,
) -> Option<&'a [StepGap]> {
    let outside_ns = between.recorded_ns.saturating_add(ns / 2);
    let pauses = steps.mode.step_gaps.as_slice();
    (1..=pauses.len()).filter_map(|few| pauses.get(..few)).find(|few| {
        let all_ns = few.iter().fold(0u64, |sum, pause| sum.saturating_add(pause.gap_ns));
        all_ns.saturating_mul(processes) >= outside_ns
    })
}

/// Where a pause is, and how long: `after step 299 (1 min 00 s, 2.40 s into the run)`.
pub(crate) fn place(pause: &StepGap, summary: &Summary) -> String {
    let after = match pause.step_numbers {
        1 => format!("after step {}", count(pause.step)),
        many => {
            format!("in steps {} to {}", count(pause.step), count(pause.step.saturating_add(many - 1)))
        }
    };
    format!("{after} ({})", when(summary, pause.start_ns, pause.gap_ns))
}

const REQUESTS: &str = " Where the steps serve requests they wait for them here, and that is no loss.";

const SEVERAL_RUNS: &str = " Steps share their numbers: the input may hold several runs of the program, and the time \
                            between these.";

/// What to do about time in which nothing is recorded; `few` are the pauses that make most of it.
pub(crate) fn what_to_do(
    ns: u64,
    usual_ns: Option<u64>,
    few: Option<&[StepGap]>,
    steps: &Steps<'_>,
    summary: &Summary,
) -> String {
    let mean_ns = steps.per_step(ns);
    let advice = match (usual_ns, few) {
        (Some(usual_ns), Some(few)) => format!(
            "From the end of a step to the start of the next it is usually {}, but not {}: look at what the program and its \
             machine did there (saving, evaluation, a job that was suspended), and put sections around it.",
            duration(usual_ns),
            listed(few.iter().map(|pause| place(pause, summary)))
        ),
        (Some(usual_ns), None) => format!(
            "From the end of a step to the start of the next it is usually {}, and {} in all: look for what the loop \
             does now and then, such as saving or evaluation, and put sections around it.{}",
            duration(usual_ns),
            duration(ns),
            if steps.mode.numbers == StepNumbers::Repeated { SEVERAL_RUNS } else { "" }
        ),
        (None, _) => format!(
            "Put sections around what the loop does from the end of a step to the start of the next, {} on average: \
             loading, logging, saving, evaluation.",
            duration(mean_ns)
        ),
    };
    format!("{advice}{}", if steps.mode.mode == Mode::Inference { REQUESTS } else { "" })
}
