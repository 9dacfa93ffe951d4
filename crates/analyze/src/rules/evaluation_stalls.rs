//! Rule `evaluation_stalls`: evaluation beside training waits for its input, prepares it, or reads and writes.

use stepscope_core::{Mode, Phase};

use super::{Config, Rule, Steps, TOLD};
use crate::ranks::Evaluating;
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, Verdict, rounded};
use crate::report::units::{duration, listed, percent, things};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    id: "evaluation_stalls",
    since: "0.1.0",
    name: "Evaluation stalls",
    kind: FindingType::Io,
    page: include_str!("evaluation_stalls.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the training time (training steps, input between them, evaluation steps) from which it is a finding.
    min_share: f64 = 0.05;
    /// Evaluation steps after warm-up that are needed.
    min_steps: u64 = 20;
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

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.evaluation_stalls;
    let training = match Steps::read(summary, 1) {
        Ok(training) => training,
        Err(verdict) => return verdict,
    };
    if training.mode.mode == Mode::Eval {
        return Verdict::fine("all steps are evaluation, which the other rules judge");
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
        return Verdict::fine(format!("{whole} of the training time{of} is evaluation steps"));
    }
    let steps = match evaluation.at_least(thresholds.min_steps).and_then(|()| evaluation.with_phases()) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let stalled_ns = steps.inside_ns(STALLS).saturating_add(between_ns);
    if share(stalled_ns) < thresholds.min_share {
        return Verdict::fine(format!(
            "{whole} of the training time{of} is evaluation steps, {} goes into their input, reading and writing",
            percent(share(stalled_ns))
        ));
    }
    let per_step = |ns: u64| ns / those.steps.max(1);
    let Some(gain) = Gain::upper_bound(per_step(stalled_ns), per_step(total_ns)) else {
        return Verdict::unknown("steps have no duration");
    };
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
    Verdict::Found(vec![Finding {
        title: format!("{} of the training time{of} goes into {places}.", percent(share(stalled_ns))),
        severity: gain.severity(),
        section: steps.worst_section(STALLS).map(|row| row.path.clone()),
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
        predicted_gain: Some(gain),
    }])
}

/// Where no steps are evaluation: what sections between the steps are is told, and no more.
fn without_steps(summary: &Summary, training: &Steps<'_>, thresholds: &Thresholds) -> Verdict {
    let rows = summary.between_steps.iter();
    let evaluates = rows.filter(|row| row.phase.as_ref().is_some_and(|phase| phase.is(Phase::Evaluation)));
    let section_ns = evaluates.fold(0u64, |sum, row| sum.saturating_add(row.stats.total));
    let share = section_ns as f64 / training.total_ns().saturating_add(section_ns).max(1) as f64;
    if share < thresholds.min_share {
        return Verdict::fine("no steps are evaluation");
    }
    Verdict::unknown(format!(
        "{} of the training time is evaluation between the steps, {} of it, and what it waits for is not known: make each of its \
         batches a step (`step!(n, mode = eval)`)",
        percent(share),
        duration(section_ns)
    ))
}

const SHARED: &str = " The other ranks may wait for it meanwhile: let each evaluate a part of the samples.";
