//! Rule `loader_bound`: the loaders of ranks that wait for each other are busy all the time. What a step waits for its own batch
//! is the business of `input_bound`.

use super::{Config, Judged, RestsOn, Rule, Steps, fine, no_duration, unknown};
use crate::loaders::LoaderJudgement;
use crate::loaders::cpu_contention::CpuContention;
use crate::ranks::{Rank, RankWaits};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::units::{percent, things};
use crate::steps::WAITING;
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    rests_on: RestsOn::ReadSteps,
    // What others wait is in its own gain.
    ..Rule::new("Loader bound", FindingType::DataLoading)
};

thresholds! {
    /// What ranks may wait for batches, their own and those of others, of the step time, from which it is a finding.
    min_share: f64 = 0.10;
    /// Share of their time from which loader threads count as busy all the time.
    busy_share: f64 = 0.95;
    /// Share of their time for which they wait for a place in the queue, from which they are not.
    slot_wait_share: f64 = 0.05;
}

/// What ranks wait for batches.
struct Waits<'a> {
    steps: Steps<'a>,
    /// For which share of their time loaders are busy.
    busy_share: f64,
    /// What to do about them.
    advice: String,
    ranks: u64,
    /// In a step for their own.
    own_ns: u64,
    /// And for those of others, at most.
    others_ns: u64,
}

impl Waits<'_> {
    fn all_ns(&self) -> u64 {
        self.own_ns.saturating_add(self.others_ns)
    }

    /// A time of a step as a share of it.
    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.steps.mean_ns().max(1) as f64
    }
}

/// Where that is a finding; else why not.
fn waits<'a>(summary: &'a Summary, config: &Config) -> Judged<Waits<'a>> {
    let thresholds = &config.loader_bound;
    let steps = Steps::read(summary).and_then(Steps::with_phases)?;
    let Some(ranks) = RankWaits::of(summary, &steps) else {
        return match Rank::all(summary) {
            Ok(_) => unknown("ranks do not say what they wait for each other"),
            Err(because) => Err(because),
        };
    };
    let rest_ns = steps.mean_ns().saturating_sub(steps.per_step(steps.exposed_ns(WAITING)));
    let contention = CpuContention::of(summary, steps.mode);
    let loader = LoaderJudgement::of(summary, &steps, &contention, &config.input_bound, rest_ns);
    let Some(busy_share) = loader.busy_share.filter(|_| loader.is_beside_all_steps()) else {
        return unknown("no batches of loader threads were read");
    };
    let spare = "loaders have time to spare: they";
    if busy_share < thresholds.busy_share {
        let limit = percent(thresholds.busy_share);
        return fine(format!("{spare} are busy for {} of it; limit {limit}", percent(busy_share)));
    }
    if let Some(share) = loader.slot_wait_share.filter(|&share| share >= thresholds.slot_wait_share) {
        let limit = percent(thresholds.slot_wait_share);
        return fine(format!(
            "{spare} wait for a place in the queue for {} of it; limit {limit}",
            percent(share)
        ));
    }
    if let Some(unused) = loader.waits.unused.filter(|&unused| unused > 0) {
        return fine(format!("{spare} are {} ahead at all times", things(unused, "batch", "batches")));
    }
    let own_ns = steps.per_step(steps.exposed_ns(WAITING));
    let others_ns = own_ns.saturating_mul(ranks.ranks - 1).min(ranks.waits_ns);
    let advice = loader.advice(&config.input_bound);
    let waits = Waits { steps, busy_share, advice, ranks: ranks.ranks, own_ns, others_ns };
    if waits.share(waits.all_ns()) < thresholds.min_share || others_ns <= own_ns {
        return fine(format!(
            "loaders are busy all the time; ranks wait for others' batches for {} of {} at most; limit {}",
            percent(waits.share(others_ns)),
            waits.steps.looked_at(),
            percent(thresholds.min_share)
        ));
    }
    Ok(waits)
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let waits = waits(summary, config)?;
    let Waits { steps, own_ns, others_ns, .. } = &waits;
    let share = |ns: u64| waits.share(ns);
    let gain = Gain::upper_bound(waits.all_ns(), steps.mean_ns());
    let mut gain = gain.map(|gain| gain.of(steps.base())).ok_or_else(no_duration)?;
    gain.because = Some(format!(
        "{} is waiting for a batch; {} is what ranks may wait for those of others",
        percent(share(*own_ns)),
        percent(share(*others_ns))
    ));
    let evidence = Evidence::new()
        .with("waiting_share", rounded(share(*own_ns), 6))
        .with("others_waiting_share", rounded(share(*others_ns), 6))
        .with("ranks", waits.ranks)
        .with("workers_busy_share", rounded(waits.busy_share, 6));
    Ok(vec![Finding {
        title: format!(
            "Ranks wait for each other's batches: {} of {} at most.",
            percent(share(waits.all_ns())),
            steps.base().as_str()
        ),
        severity: gain.severity(),
        evidence,
        recommendation: format!(
            "Loaders are busy {} of the time. Each step takes as long as that of the rank whose batch comes last, and all \
             others wait for it in communication. {}",
            percent(waits.busy_share),
            waits.advice
        ),
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}

/// What ranks may wait in a step for the batches of others, where that is a finding.
pub(super) fn others_ns(summary: &Summary, config: &Config) -> Option<u64> {
    waits(summary, config).ok().map(|waits| waits.others_ns)
}
