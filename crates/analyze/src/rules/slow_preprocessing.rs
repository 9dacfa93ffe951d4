//! Rule `slow_preprocessing`: the training thread prepares its data itself, and that takes a good part of the
//! step. Waiting for data that others prepare is the business of `input_bound`.

use stepscope_core::Phase;

use super::common::tail::is_inside;
use super::{Config, Rule, Steps, TOLD};
use crate::report::finding::{BottleneckType, Evidence, Finding, Verdict, rounded};
use crate::report::names;
use crate::report::units::{duration, listed, percent};
use crate::steps::PREPARATION;
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "slow_preprocessing",
    since: "0.1.0",
    name: "Slow preprocessing",
    kind: BottleneckType::Preprocessing,
    may_hold_up_ranks: true,
    page: include_str!("slow_preprocessing.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the step time from which preparation is a finding.
    min_share: f64 = 0.05;
    /// What preparation takes in a step on average from which it is a finding whatever its share.
    long_preparation_ns: u64 = 500_000_000;
    /// And from which that of a sample is told, without a finding.
    noted_per_sample_ns: u64 = 1_000_000;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.slow_preprocessing;
    let steps = match Steps::of(summary, thresholds.min_steps).and_then(Steps::with_phases) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let exposed_ns = steps.exposed_ns(PREPARATION);
    let share = steps.share(exposed_ns);
    let preparation_ns = steps.per_step(exposed_ns);
    let samples = steps.mode.throughput.samples.filter(|&samples| samples > 0 && steps.sums.is_none());
    let per_sample_ns = samples.map(|samples| exposed_ns / samples);
    if share < thresholds.min_share && preparation_ns < thresholds.long_preparation_ns {
        let noted = per_sample_ns.filter(|&ns| ns >= thresholds.noted_per_sample_ns);
        return Verdict::fine(format!(
            "{} of {} is preparation{}{}",
            percent(share),
            steps.base().as_str(),
            place(&steps),
            noted.map_or_else(String::new, |ns| format!(", {} a sample", duration(ns)))
        ));
    }
    let phases = by_time(&steps);
    let phase = phases.first().map_or(Phase::Preprocessing, |&(_, phase)| phase);
    let Some(gain) = steps.gain_of_work(exposed_ns, steps.mode.quick_without_preparation_ns, "preparation")
    else {
        return Verdict::unknown("steps have no duration");
    };
    let rest_ns = steps.mean_ns().saturating_sub(preparation_ns);
    let worst = steps.worst_section(PREPARATION);
    let part = worst.and_then(|row| row.in_mode(steps.mode.mode));
    let evidence = Evidence::new()
        .with("preparation_share", rounded(share, 6))
        .with("preparation_per_step_ns", preparation_ns)
        .with("step_without_preparation_ns", rest_ns)
        .with("preprocessing_share", rounded(steps.share(steps.exposed_ns(&[Phase::Preprocessing])), 6))
        .with("augmentation_share", rounded(steps.share(steps.exposed_ns(&[Phase::Augmentation])), 6))
        .with("collate_share", rounded(steps.share(steps.exposed_ns(&[Phase::Collate])), 6))
        .with_known("per_sample_ns", per_sample_ns)
        .with_known(
            "section_per_step_ns",
            part.map(|part| part.exposed_ns / steps.mode.whole_all.steps.max(1)),
        )
        .with_known("section_calls_per_step", part.map(|part| part.calls / part.steps.max(1)))
        .with_known("section_p50_ns", worst.and_then(|row| row.stats.p50));
    Verdict::Found(vec![Finding {
        title: format!(
            "{} of {} goes into {}{}.",
            percent(share),
            steps.base().as_str(),
            words(&phases, &steps),
            place(&steps)
        ),
        severity: gain.severity(),
        section: worst.map(|row| row.path.clone()),
        phase: Some(phase.as_str().into()),
        rank: None,
        evidence,
        recommendation: format!(
            "{}{}",
            advice(
                worst,
                part.map(|part| part.calls / part.steps.max(1)),
                &Others::of(summary, worst, exposed_ns, &steps),
                rest_ns
            ),
            steps.caveat()
        ),
        predicted_gain: Some(gain),
    }])
}

/// The phases of preparation with their time, the longest first; of equals the first one in the vocabulary's order.
fn by_time(steps: &Steps<'_>) -> Vec<(u64, Phase)> {
    let mut phases: Vec<(u64, Phase)> =
        PREPARATION.iter().map(|&phase| (steps.exposed_ns(&[phase]), phase)).collect();
    phases.sort_by_key(|&(ns, phase)| (std::cmp::Reverse(ns), phase));
    phases
}

/// What the time goes into: `collation`, or, where several are worth telling and one is not
/// all, `preprocessing (13 %) and collation (12 %)`.
fn words(phases: &[(u64, Phase)], steps: &Steps<'_>) -> String {
    let told: Vec<_> = phases
        .iter()
        .map(|&(ns, phase)| (steps.share(ns), phase))
        .filter(|&(share, _)| share >= TOLD)
        .collect();
    let all_ns = phases.iter().fold(0, |sum, &(ns, _)| u64::saturating_add(sum, ns));
    let longest = phases.first().copied();
    match (told.as_slice(), longest) {
        ([_, _, ..], Some((ns, _))) if percent(steps.share(ns)) != percent(steps.share(all_ns)) => {
            listed(told.iter().map(|&(share, phase)| format!("{} ({})", word(phase), percent(share))))
        }
        (_, longest) => word(longest.map_or(Phase::Preprocessing, |(_, phase)| phase)).into(),
    }
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

/// What prepares besides the section that is named and what is inside of it.
struct Others {
    /// Their time a step; 0 where it is not worth telling.
    per_step_ns: u64,
    /// Those of them that are known in steps and worth telling, with their time in one, the longest first; at most
    /// [`NAMED`].
    sections: Vec<(String, u64)>,
}

/// How many other sections are named.
const NAMED: usize = 3;

impl Others {
    fn of(summary: &Summary, worst: Option<&SectionRow>, exposed_ns: u64, steps: &Steps<'_>) -> Self {
        let prepares = |row: &&SectionRow| {
            row.is_part()
                && row.phase.as_ref().is_some_and(|name| PREPARATION.iter().any(|&phase| name.is(phase)))
        };
        let is_its = |row: &SectionRow| {
            worst.is_some_and(|worst| worst.path == row.path || is_inside(&row.path, &worst.path))
        };
        let per_step = |row: &SectionRow| match &steps.sums {
            Some(sums) => {
                sums.inside.get(row.path.as_str()).map_or(0, |row| row.stats.total / sums.steps.max(1))
            }
            None => {
                let exposed_ns =
                    row.in_mode(steps.mode.mode).map_or(0, |part| part.after_warmup().exposed_ns);
                exposed_ns / steps.mode.whole_after_warmup().steps.max(1)
            }
        };
        let is_told = |ns: u64| ns as f64 >= TOLD * steps.mean_ns() as f64;
        let times = || summary.sections.iter().filter(prepares).map(|row| (row, per_step(row)));
        let inside = times().filter(|(row, _)| is_its(row));
        let own_ns = match &steps.sums {
            // There the time of a section holds that of what is inside of it.
            Some(_) => worst.map_or(0, per_step),
            None => inside.fold(0, |sum, (_, ns)| u64::saturating_add(sum, ns)),
        };
        let per_step_ns = steps.per_step(exposed_ns).saturating_sub(own_ns);
        let mut sections: Vec<(String, u64)> = times()
            .filter(|&(row, ns)| !is_its(row) && is_told(ns))
            .map(|(row, ns)| (row.path.clone(), ns))
            .collect();
        // Of equals the first path.
        sections.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sections.truncate(NAMED);
        Self { per_step_ns: if is_told(per_step_ns) { per_step_ns } else { 0 }, sections }
    }

    /// `, and with it what else prepares (`step/b` 1.90 ms a step)`; empty where there is nothing else.
    fn words(&self) -> String {
        if self.per_step_ns == 0 {
            return String::new();
        }
        let each = |(path, ns): &(String, u64)| format!("`{}` {}", names::path(path), duration(*ns));
        let named = listed(self.sections.iter().map(each));
        format!(
            ", and with it what else prepares, {} a step{}",
            duration(self.per_step_ns),
            if named.is_empty() { named } else { format!(" ({named})") }
        )
    }
}

fn advice(worst: Option<&SectionRow>, calls_per_step: Option<u64>, others: &Others, step_ns: u64) -> String {
    let path = worst.map_or("it".into(), |row| format!("`{}`", row.path));
    let (once, what) = match calls_per_step {
        Some(calls) if calls > 1 => {
            let once = format!(
                "{path} runs {calls} times a step: compute once what does not change between the calls. "
            );
            (once, "what remains".into())
        }
        _ => (String::new(), path),
    };
    format!(
        "{once}Move {what} into the loader threads{}, where it runs while the step before computes; the rest of the \
         step takes {}.",
        others.words(),
        duration(step_ns)
    )
}
