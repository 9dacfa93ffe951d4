//! Words for steps that were not read, or not with all their sections: how many, why, and what to do.

use stepscope_core::LossReason;

use super::units::{count, things};
use crate::losses::lost::elsewhere;
use crate::summary::{Coverage, Shortfall, Summary};

/// `1,000 of 20,000 steps were read`; absent where nobody counted more than were read.
pub(crate) fn read(coverage: &Coverage) -> Option<String> {
    coverage
        .partly_read()
        .map(|(read, all)| format!("{} of {} were read", count(read), things(all, "step", "steps")))
}

/// How many steps were read and, where the directory's bound is why they are few, that: the end of a sentence.
pub(crate) fn read_because(coverage: &Coverage) -> Option<String> {
    let read = read(coverage)?;
    Some(match coverage.unread_because {
        Some(Shortfall::Lost(LossReason::SizeBound)) => format!(
            "{read}, as the directory's bound left no room for the others; raise it (STEPSCOPE_DIR_BYTES)"
        ),
        _ => read,
    })
}

/// Why steps were not read and what to do about it, sentences.
pub(crate) fn unread_because(coverage: &Coverage) -> String {
    match coverage.unread_because {
        Some(Shortfall::Lost(LossReason::SizeBound)) => {
            "The others went with the oldest files: raise the directory's bound (STEPSCOPE_DIR_BYTES).".into()
        }
        Some(Shortfall::Lost(reason)) => format!("The others were lost ({reason}). {}", reason.advice()),
        _ => "The others are not in this input: a collector sampled them, or not all files of the run were given."
            .into(),
    }
}

/// Why the sections of steps were not read, as the end of a sentence.
pub(crate) fn parts_because(coverage: &Coverage) -> String {
    match coverage.parts_because {
        None | Some(Shortfall::Level) => "were recorded without their sections".into(),
        Some(Shortfall::Lost(LossReason::Level)) => "were recorded at a lower level, without them".into(),
        Some(Shortfall::Lost(LossReason::Filtered)) => "have sections that a filter left out".into(),
        Some(Shortfall::Lost(LossReason::SampledOut)) => "have sections of which not all were sampled".into(),
        Some(Shortfall::Lost(LossReason::Thinned)) => {
            "were thinned out to stay within the directory's bound".into()
        }
        Some(Shortfall::Lost(reason)) => format!("lost sections on the way ({reason})"),
        Some(Shortfall::NotRead) => "were read without all their sections".into(),
    }
}

/// What to do so that sections of steps are there, as the end of a sentence.
pub(crate) fn parts_advice(coverage: &Coverage) -> &'static str {
    match coverage.parts_because {
        None | Some(Shortfall::Level | Shortfall::Lost(LossReason::Level)) => "record at level `detailed`",
        Some(Shortfall::Lost(LossReason::Thinned)) => "raise the directory's bound (STEPSCOPE_DIR_BYTES)",
        Some(Shortfall::Lost(LossReason::Filtered | LossReason::SampledOut)) => {
            "record without a filter (STEPSCOPE_FILTER)"
        }
        Some(Shortfall::Lost(_)) => "see the losses for what to do",
        Some(Shortfall::NotRead) => {
            "read all files of the run, and have a collector that samples keep whole traces"
        }
    }
}

/// What qualifies figures where not all steps and sections were read, and what other inputs lack, sentences.
pub(crate) fn notes(summary: &Summary) -> Vec<String> {
    let coverage = &summary.coverage;
    let mut texts = Vec::new();
    if let Some(read) = read(coverage) {
        texts.push(format!(
            "{read}. {} Counts, totals and quantiles of sections are those of all steps; rates, step times and \
             phases those of the steps read.",
            unread_because(coverage)
        ));
    }
    if let Some((whole, all)) = coverage.partly_whole().filter(|&(whole, _)| whole > 0) {
        texts.push(format!(
            "{} of {} were read with all their sections, the others {}. Phases and own times are those of the \
             whole ones, taken to be typical; for more of them, {}.",
            count(whole),
            things(all, "step", "steps"),
            parts_because(coverage),
            parts_advice(coverage)
        ));
    }
    let unplaced = summary.losses.unplaced;
    if unplaced > 0 {
        texts.push(format!(
            "{} in no row of the sections: what was around {} was not read (it was still open when the run stopped, or \
             was lost), and could be one of several.",
            things(unplaced, "section is", "sections are"),
            if unplaced == 1 { "it" } else { "them" }
        ));
    }
    texts.extend(elsewhere(summary).map(|row| {
        format!(
            "{} lost on the way to `{}` ({}). This input came another way and does not lack them. {}",
            things(row.spans, "span was", "spans were"),
            row.sink,
            row.reason.map_or("for an unknown reason", LossReason::as_str),
            row.reason.map_or("", LossReason::advice)
        )
    }));
    texts
}
