//! Rule `step_jitter`: steps that should take the same time do not. What makes single steps slow is told
//! where a phase or a section explains it.

use std::collections::BTreeMap;

use stepscope_core::Phase;

use super::common::levels::levels_since;
use super::common::taken::{ADVICE, Taken, capped, most_of};
use super::common::when::when;
use super::{Config, Rule, Same, Steps, ToldBy};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, Verdict, rounded};
use crate::report::names;
use crate::report::units::{count, duration, listed, percent, things};
use crate::sections::tail::{FEW, innermost, is_driving, is_in_few, longest_ns, slow_ns};
use crate::summary::{
    EXPLAINED_SHARE, ModeSummary, PeriodicSteps, SectionRow, SlowStep, StepChange, Summary, stands_out,
};

pub(super) const RULE: Rule = Rule {
    id: "step_jitter",
    since: "0.1.0",
    name: "Step jitter",
    kind: FindingType::Variability,
    may_hold_up_ranks: false,
    yields_to: &[
        ToldBy { rule: "slow_calls", same: Same::Phase },
        ToldBy { rule: "slower_since", same: Same::Phase },
    ],
    page: include_str!("step_jitter.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// p95 / p50 from which the steps have a tail.
    min_p95_ratio: f64 = 2.0;
    /// p99 / p50 from which the steps have a tail.
    min_p99_ratio: f64 = 3.0;
    /// Share of the step time, above the median, from which a tail is a finding.
    min_share: f64 = 0.05;
    /// Share of the excess of the slowest steps from which a phase explains them.
    explained_share: f64 = EXPLAINED_SHARE;
    /// Steps after warm-up that are needed: percentiles of fewer mean little.
    min_steps: u64 = 100;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.step_jitter;
    let steps = match Steps::read(summary, thresholds.min_steps) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    // What a bounded directory keeps goes by how long a step took: the slow ones stay.
    if let Some((read, all)) = summary.coverage.partly_read() {
        return Verdict::unknown(format!(
            "{} of {} were read, perhaps not at random: their spread may not be the run's",
            count(read),
            things(all, "step", "steps")
        ));
    }
    let periodic = summary.periodic.iter().find(|row| row.mode == steps.mode.mode);
    let stats = periodic.map_or(&steps.mode.steady, |row| &row.usual);
    let (Some(p50), Some(p95), Some(p99), Some(mean)) = (stats.p50, stats.p95, stats.p99, stats.mean) else {
        return Verdict::unknown("steps have no durations");
    };
    if p50 == 0 {
        return Verdict::unknown("the median step takes no time");
    }
    // Beside periodic steps these are the longest of all ranks: so are levels then, by what the median is above that of all
    // steps, and no rank's median is one.
    let of_ranks = || if periodic.is_some() { None } else { Levels::of_ranks(summary, config) };
    let levels = Levels::of(summary, steps.mode).or_else(of_ranks);
    let longer_ns = periodic.map_or(0, |_| p50.saturating_sub(steps.mode.steady.p50.unwrap_or(p50)));
    let usual_ns = levels.as_ref().map_or(p50, |levels| levels.highest_ns.max(p50));
    let ratio = |ns: u64| ns as f64 / usual_ns as f64;
    let mean_ns = mean.round() as u64;
    let above_ns = mean_ns
        .saturating_sub(levels.as_ref().map_or(p50, |levels| levels.mean_ns.saturating_add(longer_ns)));
    let (usual, usuals) = match levels {
        None => ("the median", "the median"),
        Some(Levels { are_of_ranks: false, .. }) => ("the longest level of the run", "the levels of the run"),
        Some(Levels { are_of_ranks: true, .. }) => {
            ("the median of the slowest rank", "the medians of the ranks")
        }
    };
    let gain = match periodic {
        None => Gain::upper_bound(above_ns, mean_ns),
        Some(row) => {
            let all = stats.count.saturating_add(row.steps()).max(1);
            let saved = u128::from(above_ns) * u128::from(stats.count) / u128::from(all);
            let steady = steps.mode.steady.mean.unwrap_or(0.0).round() as u64;
            Gain::upper_bound(u64::try_from(saved).unwrap_or(u64::MAX), steady)
        }
    };
    let Some(gain) = gain else {
        return Verdict::unknown("steps have no duration");
    };
    let has_tail = ratio(p95) >= thresholds.min_p95_ratio || ratio(p99) >= thresholds.min_p99_ratio;
    let rare = Rare::of(steps.mode, periodic, usual_ns, thresholds);
    let is_rare = !has_tail && rare.share >= thresholds.min_share;
    let few: &[&SlowStep] = if is_rare && (rare.steps.len() as u64) < FEW { &rare.steps } else { &[] };
    if !(has_tail || is_rare) || gain.share < thresholds.min_share {
        return Verdict::fine(format!(
            "p95 is {:.2} times {usual}, p99 {:.2} times; the mean step is {}{usuals}{}; a finding needs a p95 \
             of {} times or a p99 of {} times, and a mean above by {} of itself",
            ratio(p95),
            ratio(p99),
            match above_ns {
                0 => "not above ".to_owned(),
                _ => format!("{} of itself above ", percent(gain.share)),
            },
            if periodic.is_some() { ", periodic steps left out" } else { "" },
            thresholds.min_p95_ratio,
            thresholds.min_p99_ratio,
            percent(thresholds.min_share)
        ));
    }
    let by_p95 = ratio(p95) >= thresholds.min_p95_ratio;
    let (name, tail) = match (by_p95, is_rare) {
        (true, _) => ("p95", p95),
        (false, false) => ("p99", p99),
        (false, true) => ("the longest", stats.max.unwrap_or(p99)),
    };
    let name = match few {
        [SlowStep { step: Some(step), .. }] => format!("step {}", count(*step)),
        _ => name.to_owned(),
    };
    let cause = Cause::of(steps.mode, periodic).filter(|cause| cause.share >= thresholds.explained_share);
    let slow = match &cause {
        None => {
            let all_ns = above_ns.saturating_mul(stats.count);
            SlowCalls::of(summary, steps.mode, (p50, all_ns), periodic.is_some())
        }
        Some(_) => None,
    };
    let slow = slow.filter(|slow| slow.share >= thresholds.explained_share);
    let share = cause.as_ref().map(|cause| cause.share).or(slow.as_ref().map(|slow| slow.share));
    let evidence = Evidence::new()
        .with("p50_ns", p50)
        .with("p95_ns", p95)
        .with("p99_ns", p99)
        .with_known("max_ns", stats.max)
        .with_known("mad_ns", stats.mad)
        .with("p95_to_p50_ratio", rounded(ratio(p95), 3))
        .with("p99_to_p50_ratio", rounded(ratio(p99), 3))
        .with_known("robust_cv_ratio", stats.robust_cv.map(|cv| rounded(cv, 4)))
        .with_known("longest_level_ns", levels.as_ref().map(|levels| levels.highest_ns))
        .with("above_median_share", gain.share)
        .with_known("rare_steps", is_rare.then_some(rare.steps.len()))
        .with_known("periodic_steps_left_out", periodic.map(PeriodicSteps::steps))
        .with_known("explained_by", cause.as_ref().map(|cause| cause.phase.clone()))
        .with_known("explained_share", share.map(|share| rounded(share, 6)));
    let others = Taken::of(summary, steps.mode.mode).and_then(|taken| {
        let first = steps.mode.warmup.steady_step.unwrap_or(0);
        most_of(taken.mean_between(first, u64::MAX)?, above_ns)
    });
    let evidence = evidence.with_known("taken_by_others_share", others.map(|share| rounded(share, 6)));
    Verdict::Found(vec![Finding {
        title: format!(
            "Steps vary: {name} is {:.1} times {usual}, which costs {} of the step time.",
            ratio(tail),
            percent(gain.share)
        ),
        severity: capped(&gain, others.is_some() || !few.is_empty()),
        section: slow.as_ref().map(|slow| slow.row.path.clone()),
        phase: cause.as_ref().map(|cause| cause.phase.clone()),
        rank: None,
        evidence,
        recommendation: places(few, summary)
            + &match others {
                Some(share) => format!("{} of it is time in which {ADVICE}", percent(share)),
                None => match slow {
                    Some(slow) => slow.advice(),
                    None => advice(cause.as_ref(), p50, steps.mode.whole.steps > 0, !few.is_empty()),
                },
            },
        predicted_gain: Some(gain),
    }])
}

/// Share of the excess of the slowest steps from which a second phase is told. Where two phases are slow in turn, as often as
/// each other, one of them is slow in nine or more of ten steps once in fifty times.
const NEXT_SHARE: f64 = 0.15;

/// The slowest steps that are no periodic ones, and beyond the limit of p99: where numbers tell steps apart, one a number.
struct Rare<'a> {
    steps: Vec<&'a SlowStep>,
    /// What they take above the usual, as a share of the steps' time.
    share: f64,
}

impl<'a> Rare<'a> {
    fn of(
        mode: &'a ModeSummary,
        periodic: Option<&'a PeriodicSteps>,
        usual_ns: u64,
        thresholds: &Thresholds,
    ) -> Self {
        let first = mode.warmup.steady_step.unwrap_or(0);
        let is_rare = |step: &SlowStep| {
            !is_of_a_period(step, periodic)
                && step.step.is_none_or(|step| step >= first)
                && step.duration_ns as f64 >= thresholds.min_p99_ratio * usual_ns as f64
        };
        // What the other processes took in the same steps: that they waited, too, is not said by their numbers.
        let known = mode.slowest_together.iter().copied().map(Some).chain(std::iter::repeat(None));
        let rare: Vec<(&SlowStep, Option<(u64, u64)>)> =
            mode.slowest.iter().zip(known).filter(|(step, _)| is_rare(step)).collect();
        let above = rare.iter().map(|(step, together)| {
            let (processes, ns) = together.unwrap_or((1, step.duration_ns));
            ns.saturating_sub(usual_ns.saturating_mul(processes))
        });
        let above_ns = above.fold(0, u64::saturating_add);
        let steps = rare.into_iter().map(|(step, _)| step).collect();
        Self { steps, share: above_ns as f64 / mode.steady_ns.max(1) as f64 }
    }
}

/// The slowest steps that are of no period.
fn aperiodic<'a>(
    mode: &'a ModeSummary,
    periodic: Option<&'a PeriodicSteps>,
) -> impl Iterator<Item = &'a SlowStep> {
    mode.slowest.iter().filter(move |step| !is_of_a_period(step, periodic))
}

fn is_of_a_period(step: &SlowStep, periodic: Option<&PeriodicSteps>) -> bool {
    periodic.zip(step.step).and_then(|(periodic, step)| periodic.every(step)).is_some()
}

/// What steps take where a run changed: medians, one before the first change and one after each. Where it did not, and one
/// rank is slower than others: the median of each rank.
struct Levels {
    highest_ns: u64,
    /// Over all steps.
    mean_ns: u64,
    are_of_ranks: bool,
}

impl Levels {
    /// None where the run kept its level.
    fn of(summary: &Summary, mode: &ModeSummary) -> Option<Self> {
        // Jitter is of the steps alone.
        let its = summary.changes.iter().filter(|change| change.mode == mode.mode);
        let changes: Vec<StepChange> = its.filter_map(StepChange::of_steps_alone).collect();
        let changes: Vec<&StepChange> = changes.iter().collect();
        let first = changes.first().map(|first| (first.steps_before, first.before_ns))?;
        let highest_ns = changes.iter().map(|change| change.after_ns).fold(first.1, u64::max);
        let since = levels_since(&changes).map(|level| (level.steps, level.mean_ns));
        let mean_ns = mean_of(std::iter::once(first).chain(since));
        Some(Self { highest_ns, mean_ns, are_of_ranks: false })
    }

    /// None where no rank is slower than others.
    fn of_ranks(summary: &Summary, config: &Config) -> Option<Self> {
        if !matches!((super::slow_rank::RULE.check)(summary, config), Verdict::Found(_)) {
            return None;
        }
        let ranks = || summary.instances.iter().filter_map(|row| Some((row.steps.count, row.steps.p50?)));
        let highest_ns = ranks().map(|(_, ns)| ns).max().unwrap_or(0);
        Some(Self { highest_ns, mean_ns: mean_of(ranks()), are_of_ranks: true })
    }
}

/// The mean of so many steps that each take so long.
fn mean_of(levels: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (steps, all_ns) = levels.fold((0u128, 0u128), |(steps, all_ns), (count, ns)| {
        (steps + u128::from(count), all_ns.saturating_add(u128::from(count) * u128::from(ns)))
    });
    u64::try_from(all_ns / steps.max(1)).unwrap_or(u64::MAX)
}

/// Which steps they are, a sentence; empty of none.
fn places(few: &[&SlowStep], summary: &Summary) -> String {
    let place = |step: &&SlowStep| {
        let number = step
            .step
            .map_or_else(|| "a step without a number".into(), |step| format!("step {}", count(step)));
        let rank = step.rank.filter(|_| summary.instances.len() > 1);
        let rank = rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
        format!("{number}{rank} ({})", when(summary, step.start_ns, step.duration_ns))
    };
    match few {
        [] => String::new(),
        [one] => format!("It is {}. ", place(one)),
        some => format!("These are {}. ", listed(some.iter().map(place))),
    }
}

fn advice(cause: Option<&Cause>, p50: u64, has_phases: bool, is_told: bool) -> String {
    if !has_phases {
        return "Which part of the steps is slow at times is not known, since none was read with its sections: \
                record at level `detailed`, or keep what was lost."
            .into();
    }
    let Some(cause) = cause else {
        if is_told {
            return "No phase explains it: look at what the program and its machine did then (a process that stood still, a \
                    device or a file that did not answer), and put sections around what may take so long."
                .into();
        }
        return "No phase explains the slow steps: all of the step is slower at times, or now one part of it and now \
                another. Look for clock changes, samples of varying length, and other processes on the machine; and put \
                sections around what is in none."
            .into();
    };
    let what = match Phase::parse(&cause.phase) {
        Some(Phase::Checkpoint) => "write checkpoints in a thread of their own, or less often",
        Some(Phase::DataWait) => "deepen the queue or add loader threads, so that slow batches are bridged",
        Some(phase) if phase.is_input() => {
            "let loader threads do this, so that a full queue bridges the inputs that take long"
        }
        Some(Phase::Evaluation) => "evaluate outside of training steps, where it does not count as one",
        Some(Phase::Communication | Phase::Synchronization) => {
            "find the rank or thread that the others wait for"
        }
        _ => "look at what this phase does differently in the slowest steps listed below",
    };
    format!(
        "The slow steps are explained by `{}` ({} of their excess over the usual {}): {what}.{}",
        cause.phase,
        percent(cause.share),
        duration(p50),
        cause.next.as_ref().map_or_else(String::new, |(phase, share)| format!(
            " `{phase}` takes {} of it: in other slow steps than the slowest it may be the first.",
            percent(*share)
        ))
    )
}

/// The phase in which the slowest steps exceed the usual one most, and the rest of the step less.
struct Cause {
    phase: String,
    share: f64,
    /// The one after it, with its share, where the steps that are kept are too few to tell which of the two is first.
    next: Option<(String, f64)>,
}

impl Cause {
    /// Of the slowest steps that are of no period.
    fn of(mode: &ModeSummary, periodic: Option<&PeriodicSteps>) -> Option<Self> {
        let usual_ns = mode.steady.p50?;
        let excess = |step: &SlowStep| step.duration_ns.saturating_sub(usual_ns);
        let all_excess = aperiodic(mode, periodic).map(excess).fold(0, u64::saturating_add);
        // Of the others it is not known what took them.
        let known: Vec<&SlowStep> =
            aperiodic(mode, periodic).filter(|step| !step.phases.is_empty()).collect();
        let (steps, usual) = (known.len() as f64, usual_ns as f64);
        let slow = known.iter().map(|step| step.duration_ns as f64).sum::<f64>() / steps;
        let mean = |total_ns: u64| total_ns as f64 / mode.whole.steps.max(1) as f64;
        // All steps are a mix of usual ones and of such as these, which gives their share from step times, and with it the
        // usual time of a phase from its mean.
        let mixed = ((mean(mode.whole.total_ns) - usual) / (slow - usual)).clamp(0.0, 0.9);
        let mut exposed: BTreeMap<&str, f64> = BTreeMap::new();
        for part in known.iter().flat_map(|step| &step.phases) {
            *exposed.entry(part.phase.as_str()).or_default() += part.exposed_ns as f64;
        }
        let causes = exposed.into_iter().map(|(phase, took)| {
            let took = took / steps;
            let row = mode.phases.iter().find(|row| row.phase.as_str() == phase);
            let all = row.map_or(0.0, |row| mean(row.exposed_ns));
            (phase, (((all - mixed * took) / (1.0 - mixed)).max(0.0), took))
        });
        let above = |part: (f64, f64)| part.1 - part.0;
        let share = |part: (f64, f64)| (above(part) * steps / all_excess as f64).min(1.0);
        let mut causes: Vec<(&str, (f64, f64))> = causes.collect();
        // Of equals the first name.
        causes.sort_by(|a, b| above(b.1).total_cmp(&above(a.1)).then_with(|| a.0.cmp(b.0)));
        let &(phase, part) = causes.first()?;
        let is_it = above(part) > 0.0 && all_excess > 0 && stands_out((usual, slow), part);
        let next = causes.get(1).map(|&(phase, part)| (phase.to_owned(), share(part)));
        let next = next.filter(|(_, share)| *share >= NEXT_SHARE);
        is_it.then(|| Self { phase: phase.to_owned(), share: share(part), next })
    }
}

/// A section that takes most of what steps take above the usual: in its slow calls, or in all of them where few steps run it.
struct SlowCalls<'a> {
    row: &'a SectionRow,
    longest_ns: Option<u64>,
    share: f64,
    /// The steps that run it, where they are few.
    few: Option<u64>,
}

impl<'a> SlowCalls<'a> {
    /// The one that takes most, of `above_ns` that all steps take above the usual; of those around each other the innermost.
    /// None where its calls grow no more than the rest of the step does, which is usually `usual_ns`: then all of it is slower.
    /// What periodic steps run is in few steps as well, and what takes longer there is not told here.
    fn of(
        summary: &'a Summary,
        mode: &ModeSummary,
        (usual_ns, above_ns): (u64, u64),
        has_periods: bool,
    ) -> Option<Self> {
        let steps = mode.whole_all.steps;
        let few = |row: &'a SectionRow| {
            row.in_mode(mode.mode).filter(|part| !has_periods && is_in_few(part, steps))
        };
        let cost_ns = |row: &'a SectionRow| match few(row) {
            Some(part) => Some(part.after_warmup().driving_ns),
            None => slow_ns(row, mode),
        };
        let is_inside = |row: &&SectionRow| row.is_part() && row.in_mode(mode.mode).is_some_and(is_driving);
        let slow = summary.sections.iter().filter(is_inside);
        let slow = slow.filter_map(|row| Some((row, cost_ns(row)?)));
        let (row, slow_ns) = innermost(slow.collect()).into_iter().next()?;
        let few = few(row).map(|part| part.steps);
        let (slow, above) = (slow_ns as f64, above_ns as f64);
        // As if all of it were one step's: how many of them it is does not matter.
        let calls = row.in_mode(mode.mode).map_or(0, |part| part.calls) as f64;
        let usual = match few {
            Some(_) => 0.0,
            None => row.stats.p50? as f64 * calls / steps.max(1) as f64,
        };
        let step = (usual_ns as f64, usual_ns as f64 + above);
        let is_it = above_ns > 0 && stands_out(step, (usual, usual + slow.min(above)));
        is_it.then(|| Self { row, longest_ns: longest_ns(row, mode), share: (slow / above).min(1.0), few })
    }

    fn advice(&self) -> String {
        let stats = &self.row.stats;
        let (path, share) = (names::path(&self.row.path), percent(self.share));
        if let Some(few) = self.few {
            return format!(
                "The slow steps are explained by `{path}` ({share} of what steps take above the usual), which {} {}: let it do \
                 its work beside the steps, or in smaller parts.",
                things(few, "step", "steps"),
                if few == 1 { "runs" } else { "run" }
            );
        }
        format!(
            "The slow steps are explained by slow calls of `{path}` ({share} of what steps take above the usual): look at \
             what it does in calls that take up to {} and not in the usual one, {}.",
            self.longest_ns.map_or_else(|| "unknown".into(), duration),
            stats.p50.map_or_else(|| "unknown".into(), duration)
        )
    }
}
