//! Rule `evaluation_stalls`: evaluation beside training waits for its input, prepares it, or reads and writes.

use stepscope_core::{Mode, Phase};

use super::{Config, Judged, RestsOn, Rule, Steps, TOLD, fine, no_duration, unknown};
use crate::between_steps::untold;
use crate::ranks::Evaluating;
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, rounded};
use crate::report::units::{duration, listed, percent, things};
use crate::summary::Summary;

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::Evaluation, ..Rule::new("Evaluation stalls", FindingType::Io) };

thresholds! {
    /// Share of the training time (training steps, input between them, evaluation steps) from which it is a finding.
    min_share: f64 = 0.05;
}

/// What evaluation need not do itself, or not each time.
const STALLS: &[Phase] = &[
    Phase::DataWait,
    Phase::DataLoading,
    Phase::Preprocessing,
    Phase::Augmentation,
    Phase::Collate,
    Phase::Io,
];

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.evaluation_stalls;
    let training = Steps::read(summary)?;
    if training.mode.mode == Mode::Eval {
        return unknown("all steps are evaluation: the other rules judge them");
    }
    let Some(evaluation) = Steps::beside(summary, Mode::Eval) else {
        return without_steps(summary, &training, thresholds);
    };
    let those = Evaluating::of(summary, &training);
    let between_ns = evaluation.mode.input_between_ns;
    let whole_ns = evaluation.mode.steady_ns.saturating_add(between_ns);
    let (total_ns, of) = (those.training_ns.saturating_add(whole_ns), those.words());
    let share = |ns: u64| ns as f64 / total_ns.max(1) as f64;
    let whole = percent(share(whole_ns));
    if share(whole_ns) < thresholds.min_share {
        let limit = percent(thresholds.min_share);
        return fine(format!("{whole} of {}{of} is evaluation steps; limit {limit}", looked_at(total_ns)));
    }
    let steps = evaluation.with_phases()?;
    let stalled_ns = steps.inside_ns(STALLS).saturating_add(between_ns);
    if share(stalled_ns) < thresholds.min_share {
        return fine(format!(
            "{whole} of {}{of} is evaluation steps, {} goes into their input, reading and writing; limit {}",
            looked_at(total_ns),
            percent(share(stalled_ns)),
            percent(thresholds.min_share)
        ));
    }
    let per_step = |ns: u64| ns / those.steps.max(1);
    let gain = Gain::upper_bound(per_step(stalled_ns), per_step(total_ns)).ok_or_else(no_duration)?;
    let gain = gain.of(TimeBase::TrainingTime);
    let mut phases: Vec<(u64, Phase)> =
        STALLS.iter().map(|&phase| (steps.inside_ns(&[phase]), phase)).collect();
    // (The sort is stable: of equals the first one of the list.)
    phases.sort_by_key(|&(ns, _)| std::cmp::Reverse(ns));
    let told = phases.iter().filter(|&&(ns, _)| share(ns) >= TOLD);
    let names = listed(told.map(|(_, phase)| phase.as_str().to_owned()));
    let places = match (names.is_empty(), share(between_ns) >= TOLD) {
        (true, true) => "input between evaluation steps".to_owned(),
        (false, true) => format!("{names} in evaluation steps, and input between them"),
        (_, false) => format!("{names} in evaluation steps"),
    };
    let count = steps.count();
    Ok(vec![Finding {
        title: format!("{} of the training time{of} goes into {places}.", percent(share(stalled_ns))),
        phase: phases.first().filter(|&&(ns, _)| ns > 0).map(|(_, phase)| phase.as_str().into()),
        rank: those.one(),
        evidence: Evidence::new()
            .with("evaluation_stalled_share", rounded(share(stalled_ns), 6))
            .with("evaluation_stalled_ns", stalled_ns)
            .with("evaluation_total_ns", whole_ns)
            .with("evaluation_input_between_ns", between_ns)
            .with("evaluation_steps", count)
            .with_known("evaluating_ranks", those.ranks.as_ref().map(|ranks| ranks.len() as u64))
            .with("steps", those.steps),
        recommendation: format!(
            "Load the held-out samples in threads of their own, as those of training, or read and prepare them once and keep them: \
             of the {} that {} took, {} went into that. Or evaluate less often.{}",
            duration(whole_ns),
            things(count, "evaluation step", "evaluation steps"),
            duration(stalled_ns),
            if those.ranks.is_some() { SHARED } else { "" }
        ),
        ..Finding::about(steps.worst_section(STALLS), gain)
    }])
}

fn looked_at(ns: u64) -> String {
    TimeBase::TrainingTime.looked_at(ns)
}

/// Where no steps are evaluation: what sections between the steps are is told, and no more.
fn without_steps(summary: &Summary, training: &Steps<'_>, thresholds: &Thresholds) -> Judged {
    let rows = summary.between_steps.iter();
    let evaluates = rows.filter(|row| row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Evaluation)));
    let section_ns = evaluates.fold(0u64, |sum, row| sum.saturating_add(row.stats.total));
    let share = section_ns as f64 / training.total_ns().saturating_add(section_ns).max(1) as f64;
    if share < thresholds.min_share {
        return match untold(summary, training, thresholds.min_share, "evaluation") {
            Some(verdict) => Err(verdict),
            None => Err(training.little(
                share,
                thresholds.min_share,
                &format!(
                    "no steps are evaluation, {} of {} is sections of it between them",
                    percent(share),
                    looked_at(training.total_ns().saturating_add(section_ns))
                ),
            )),
        };
    }
    unknown(format!(
        "{} of the training time is evaluation between the steps, {} of it, and what it waits for is not known: make each of its \
         batches a step (`step!(n, mode = eval)`)",
        percent(share),
        duration(section_ns)
    ))
}

const SHARED: &str = " The other ranks may wait for it meanwhile: let each evaluate a part of the samples.";
