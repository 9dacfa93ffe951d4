//! Rule `long_warmup`: the first steps take so much longer than the others that it costs a good part of the run.

use super::{Config, Judged, Rule, Steps, fine, no_duration};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, rounded};
use crate::report::names;
use crate::report::units::{count, duration, percent, things};
use crate::sections::slow_at_first::{is_rare, slow_at_first};
use crate::sections::tail::warmup_excess_ns;
use crate::steps::run_queue_delay::{ADVICE, RunQueueDelay, capped, most_of};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule::new("Long warm-up", FindingType::Compute);

thresholds! {
    /// Share of the time of all steps from which warm-up is a finding.
    min_share: f64 = 0.10;
    /// Seconds that warm-up must take at least: what is shorter bothers nobody, however short the run.
    min_excess_s: f64 = 0.5;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.long_warmup;
    let steps = Steps::read(summary)?;
    steps.all_read("the share of the first ones")?;
    steps.tell_warmup()?;
    let mode = steps.mode;
    let (excess_ns, all) = (warmup_excess_ns(mode), mode.all);
    if excess_ns == 0 {
        return fine(format!(
            "the first of {} take as long as the others, {} in all",
            things(all.count, "step", "steps"),
            duration(all.total)
        ));
    }
    let share = excess_ns as f64 / all.total.max(1) as f64;
    if share < thresholds.min_share || (excess_ns as f64) < thresholds.min_excess_s * 1e9 {
        return fine(format!(
            "the first {} {} above the usual, {} of {}; limits {} and {}",
            if mode.warmup.steps == 1 {
                "step takes".into()
            } else {
                format!("{} steps take", count(mode.warmup.steps))
            },
            duration(excess_ns),
            percent(share),
            TimeBase::StepTime.looked_at(all.total),
            percent(thresholds.min_share),
            duration((thresholds.min_excess_s * 1e9) as u64)
        ));
    }
    let steps_all = all.count.max(1);
    let gain = Gain::upper_bound(excess_ns / steps_all, all.total / steps_all).ok_or_else(no_duration)?;
    let gain = gain.of(TimeBase::TrainingTime);
    let section = slow_at_first(summary, mode, excess_ns);
    let what = match section {
        Some(row) if is_rare(row, mode) => format!(
            "`{}` takes {} in {}: keep what it compiles, tunes or loads.",
            names::path(&row.path),
            duration(row.stats.total),
            things(row.stats.count, "call", "calls")
        ),
        Some(row) => format!(
            "`{}` takes {} in its slowest call and {} in the usual one: keep what it compiles, tunes or loads.",
            names::path(&row.path),
            duration(row.stats.max.unwrap_or(0)),
            duration(row.stats.p50.unwrap_or(0))
        ),
        None => "No section explains it: give what the first steps do (compiling, tuning, filling caches) sections of its \
                 own."
            .into(),
    };
    let others = RunQueueDelay::of(summary, mode.mode).and_then(|delay| {
        let (taken_ns, _) = delay.between(0, mode.warmup.steady_step?.checked_sub(1)?);
        most_of(taken_ns, excess_ns)
    });
    let above = duration(excess_ns);
    let first = match (mode.warmup.steps, mode.warmup.max_per_instance) {
        (1, _) => format!("The first step takes {above} more than a usual one."),
        (all, 1) => format!("The first steps of {all} ranks take {above} more than as many usual ones."),
        (_, most) => format!("The first {} steps take {above} more than as many usual ones.", count(most)),
    };
    Ok(vec![Finding {
        title: format!("{} of the training time is warm-up.", percent(share)),
        severity: capped(&gain, others.is_some()),
        evidence: Evidence::new()
            .with("warmup_share", rounded(share, 6))
            .with("warmup_ns", mode.warmup.total_ns)
            .with("above_usual_ns", excess_ns)
            .with("warmup_steps", mode.warmup.steps)
            .with("usual_step_ns", mode.steady.p50.unwrap_or(0))
            .with("steps", all.count)
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 3))),
        recommendation: match others {
            Some(share) => format!("{} of it is time in which {ADVICE}", percent(share)),
            None => format!("{what} {first}"),
        },
        ..Finding::about(section, gain)
    }])
}
