//! Rule `slow_preprocessing`: the training thread prepares its data itself, and that takes a good part of the
//! step. Waiting for data that others prepare is the business of `input_bound`.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, Steps, no_duration};
use crate::report::finding::{Evidence, Finding, FindingType, rounded};
use crate::report::units::{duration, percent};
use crate::steps::PREPARATION;
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule =
    Rule { may_hold_up_ranks: true, ..Rule::new("Slow preprocessing", FindingType::Preprocessing) };

thresholds! {
    /// Share of the step time from which preparation is a finding.
    min_share: f64 = 0.05;
    /// What preparation takes in a step on average from which it is a finding whatever its share.
    long_preparation_ns: u64 = 500_000_000;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.slow_preprocessing;
    let steps = Steps::of(summary).and_then(Steps::with_phases)?;
    let exposed_ns = steps.exposed_ns(PREPARATION);
    let share = steps.share(exposed_ns);
    let preparation_ns = steps.per_step(exposed_ns);
    if share < thresholds.min_share && preparation_ns < thresholds.long_preparation_ns {
        let because = format!("{} of {} is preparation{}", percent(share), steps.looked_at(), place(&steps));
        return Err(steps.little(share, thresholds.min_share, &because));
    }
    // Of equals the first one.
    let phase = PREPARATION.iter().rev().max_by_key(|&&phase| steps.exposed_ns(&[phase]));
    let phase = phase.copied().unwrap_or(Phase::Preprocessing);
    let most_ns = steps.exposed_ns(&[phase]);
    let what = match percent(steps.share(most_ns)) {
        most if most == percent(share) => word(phase).into(),
        most => format!("preparation, {most} into {}", word(phase)),
    };
    let gain = steps
        .gain_of_work(exposed_ns, steps.mode.quick_without_preparation_ns, "preparation")
        .ok_or_else(no_duration)?;
    let rest_ns = steps.mean_ns().saturating_sub(preparation_ns);
    let worst = steps.worst_section(PREPARATION);
    let in_steps = worst.and_then(|row| row.in_mode(steps.mode.mode));
    let calls = in_steps.map(|part| part.calls / part.steps.max(1));
    let evidence = Evidence::new()
        .with("preparation_share", rounded(share, 6))
        .with("preparation_per_step_ns", preparation_ns)
        .with("step_without_preparation_ns", rest_ns)
        .with("preprocessing_share", rounded(steps.share(steps.exposed_ns(&[Phase::Preprocessing])), 6))
        .with("augmentation_share", rounded(steps.share(steps.exposed_ns(&[Phase::Augmentation])), 6))
        .with("collate_share", rounded(steps.share(steps.exposed_ns(&[Phase::Collate])), 6))
        .with_known(
            "section_per_step_ns",
            in_steps.map(|part| part.exposed_ns / steps.mode.whole_all.steps.max(1)),
        )
        .with_known("section_calls_per_step", calls)
        .with_known("section_p50_ns", worst.and_then(|row| row.stats.p50));
    Ok(vec![Finding {
        title: format!(
            "{} of {} goes into {}{}.",
            percent(share),
            steps.base().as_str(),
            what,
            place(&steps)
        ),
        phase: Some(phase.as_str().into()),
        evidence,
        recommendation: format!("{}{}", advice(worst, calls, rest_ns), steps.caveat()),
        ..Finding::about(worst, gain)
    }])
}

/// Where it runs; the sums of sections do not know it.
fn place(steps: &Steps<'_>) -> &'static str {
    if steps.sums.is_some() { steps.by() } else { " on the training thread" }
}

const fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Augmentation => "augmentation",
        Phase::Collate => "collation",
        _ => "preprocessing",
    }
}

fn advice(worst: Option<&SectionRow>, calls_per_step: Option<u64>, step_ns: u64) -> String {
    let path = worst.map_or("all of it".into(), |row| format!("`{}`", row.path));
    let once = calls_per_step.filter(|&calls| calls > 1).map(|calls| {
        format!("{path} runs {calls} times a step: compute once what does not change between the calls. ")
    });
    format!(
        "{}Move preparation into the loader threads, {path} first, where it runs while the step before computes; the rest of \
         the step takes {}.",
        once.unwrap_or_default(),
        duration(step_ns)
    )
}
