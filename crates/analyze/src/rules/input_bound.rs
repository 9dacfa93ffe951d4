//! Rule `input_bound`: the step waits for its data. Preparation on the training thread is the business of
//! `slow_preprocessing`.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, Steps, TOLD, no_duration};
use crate::between_steps::untold;
use crate::loaders::LoaderJudgement;
pub use crate::loaders::Thresholds;
use crate::loaders::cpu_contention::CpuContention;
use crate::report::finding::{Evidence, Finding, FindingType, rounded};
use crate::report::units::{duration, percent};
use crate::steps::{PREPARATION, WAITING};
use crate::summary::Summary;

pub(super) const RULE: Rule =
    Rule { may_hold_up_ranks: true, ..Rule::new("Input bound", FindingType::DataLoading) };

const WHAT: &str = "waiting for batches";
const WAIT: &[Phase] = &[Phase::DataWait];
const LOADING: &[Phase] = &[Phase::DataLoading];

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.input_bound;
    let steps = Steps::of(summary).and_then(Steps::with_phases)?;
    let exposed_ns = steps.exposed_ns(WAITING);
    let share = steps.share(exposed_ns);
    let waiting_ns = steps.per_step(exposed_ns);
    if share < thresholds.moderate_share && waiting_ns < thresholds.long_wait_ns {
        return waits_little(&steps, share, thresholds);
    }
    let contention = CpuContention::of(summary, steps.mode);
    let (gain, contention_ns) = contention.gain(&steps, exposed_ns).ok_or_else(no_duration)?;
    let rest_ns = steps.mean_ns().saturating_sub(waiting_ns);
    let loader = LoaderJudgement::of(summary, &steps, &contention, thresholds, rest_ns);
    let is_serial = steps.exposed_ns(LOADING) > steps.exposed_ns(WAIT);
    let phase = if is_serial { Phase::DataLoading } else { Phase::DataWait };
    let advice = if is_serial {
        format!(
            "Load in threads of their own and hand the batches over through a bounded queue: the step itself needs {}, and \
             loading can go on meanwhile.",
            duration(rest_ns)
        )
    } else {
        loader.advice(thresholds)
    };
    let evidence = Evidence::new()
        .with("waiting_share", six(share))
        .with("data_wait_share", six(steps.share(steps.exposed_ns(WAIT))))
        .with("data_loading_share", six(steps.share(steps.exposed_ns(LOADING))))
        .with("waiting_per_step_ns", waiting_ns)
        .with("step_without_waiting_ns", rest_ns)
        .with_known("loaders_compute_per_step_ns", Some(contention.computing_ns).filter(|&ns| ns > 0))
        .with("cpu_contention_share", six(contention_ns as f64 / steps.mean_ns().max(1) as f64));
    Ok(vec![Finding {
        title: title(&steps, exposed_ns, is_serial),
        phase: Some(phase.as_str().into()),
        evidence: of_loader(evidence, &loader),
        recommendation: format!("{advice}{}", steps.caveat()),
        ..Finding::about(steps.worst_section(&[phase]), gain)
    }])
}

fn waits_little(steps: &Steps<'_>, share: f64, thresholds: &Thresholds) -> Judged {
    // The verdict calls preparation input as well.
    let prepared = steps.share(steps.exposed_ns(PREPARATION));
    let prepared = (prepared >= thresholds.moderate_share)
        .then(|| format!("; preparation takes {}: see `{}`", percent(prepared), "slow_preprocessing"));
    if let Some(verdict) = untold(steps.summary, steps, thresholds.moderate_share, WHAT) {
        return Err(verdict);
    }
    let because = format!(
        "{} of {} is spent {WHAT}{}{}",
        percent(share),
        steps.looked_at(),
        steps.by(),
        prepared.unwrap_or_default()
    );
    Err(steps.little(share, thresholds.moderate_share, &because))
}

fn of_loader(evidence: Evidence, loader: &LoaderJudgement<'_>) -> Evidence {
    evidence
        .with_known("loader", loader.name)
        .with_known("loader_waiting_share", loader.waiting_share.map(six))
        .with_known("wait_p50_ns", loader.waits.wait.p50)
        .with_known("wait_p95_ns", loader.waits.wait.p95)
        .with_known("produce_mean_ns", loader.produce_ns)
        .with_known("queue_time_p50_ns", loader.waits.queue.p50)
        .with_known("queue_depth_p50", loader.waits.depth.p50)
        .with_known("batches_per_step", loader.batches_per_step().map(six))
        .with_known("loader_rank", loader.rank)
        .with_known("workers", loader.workers)
        .with_known("workers_busy_share", loader.busy_share.map(six))
        .with_known("workers_slot_wait_share", loader.slot_wait_share.map(six))
        .with_known("produce_mean_while_awaited_ns", loader.under_demand.map(|then| then.produce_mean_ns))
        .with_known("workers_busy_while_awaited_share", loader.under_demand.map(|then| six(then.utilisation)))
        .with_known("workers_needed", loader.needed)
        .with_known("waited_for_by", loader.taken_by.map(|(first, _)| first))
        .with_known("waited_for_by_share", loader.taken_by.map(|(_, share)| six(share)))
}

/// How much of the step is waiting and loading, and which is which where both are worth telling and one is not all.
fn title(steps: &Steps<'_>, exposed_ns: u64, is_serial: bool) -> String {
    let share = |phases| steps.share(steps.exposed_ns(phases));
    let (of, all) = (steps.base().as_str(), percent(steps.share(exposed_ns)));
    let place = if is_serial && steps.sums.is_none() { " on the training thread" } else { steps.by() };
    let (verb, most, noun, other) = if is_serial {
        ("goes into loading data", share(LOADING), "waiting for batches", share(WAIT))
    } else {
        ("is spent waiting for batches", share(WAIT), "loading data", share(LOADING))
    };
    if other >= TOLD && percent(most) != all {
        format!("{all} of {of} {verb} ({}) and {noun} ({}){place}.", percent(most), percent(other))
    } else {
        format!("{all} of {of} {verb}{place}.")
    }
}

fn six(share: f64) -> f64 {
    rounded(share, 6)
}
