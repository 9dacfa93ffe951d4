//! Rule `between_steps`: time passes between steps that no phase explains.

use stepscope_core::Mode;

use super::{Config, Judged, Rule, Steps, fine, unknown};
use crate::between_steps::{Between, apart, place, places, read_of, what_to_do};
use crate::report::finding::{Finding, FindingType, TimeBase};
use crate::report::names;
use crate::report::units::{count, duration, percent, things};
use crate::steps::run_queue_delay::MOST_OF_CHANCE;
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    may_hold_up_ranks: true,
    needs_steady_clock: true,
    notes: |summary, _, _| apart::note(summary, "between_steps").into_iter().collect(),
    ..Rule::new("Time between steps", FindingType::Compute)
};

thresholds! {
    /// Share of the time from the first step to the last one from which time between steps is a finding.
    min_share: f64 = 0.05;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.between_steps;
    let steps = Steps::read(summary)?;
    if let Some((read, all)) = read_of(summary, &steps) {
        return unknown(format!(
            "{} of {} were read: what is between them may be the others",
            count(read),
            things(all, "step", "steps")
        ));
    }
    let between = Between::of(summary, &steps);
    if between.elapsed_ns == 0 {
        return unknown("when steps ran is not known");
    }
    if summary.instances.iter().any(|row| row.steps_overlap) {
        return unknown("steps overlap on several threads: what is between them is not known");
    }
    let is_much = |ns: u64| between.share(ns) >= thresholds.min_share;
    if is_much(between.left_ns) && between.outside_ns > between.left_ns.saturating_add(between.left_ns / 4) {
        return unknown(
            "sections that no other rule judges last longer than what is between steps: which of them is there is not known",
        );
    }
    // What was lost may have been recorded between steps.
    let are_lost = summary.lost_spans() > 0 || summary.coverage.partly_whole().is_some();
    let named = is_much(between.unnamed_ns).then(|| unnamed(&between, &steps)).flatten();
    let rest = (is_much(between.unrecorded_ns) && !are_lost)
        .then(|| unrecorded(&between, &steps, summary))
        .flatten();
    let found: Vec<Finding> = [named, rest].into_iter().flatten().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let rest_ns = between.unnamed_ns.saturating_add(between.unrecorded_ns);
    let rest = percent(between.share(rest_ns));
    let elapsed = TimeBase::TrainingTime.looked_at(between.elapsed_ns);
    if is_much(between.unrecorded_ns) {
        return unknown(format!(
            "{rest} of the time passes between steps, and sections were lost: they may have been there"
        ));
    }
    let what = if between.has_phases { "what no other rule judges" } else { "no phase" };
    fine(format!(
        "{rest} of {elapsed} passes between steps in {what}; limit {}",
        percent(thresholds.min_share)
    ))
}

fn unnamed(between: &Between<'_>, steps: &Steps<'_>) -> Option<Finding> {
    let ns = between.unnamed_ns;
    let gain = between.gain(ns, steps)?;
    let section = between.section;
    let what = section.map_or_else(
        || "Give the sections between steps a phase, do it less often".into(),
        |row| {
            format!(
                "`{}` takes {} in {}: {}do it less often",
                names::path(&row.path),
                duration(row.stats.total),
                things(row.stats.count, "call", "calls"),
                if row.phase.is_some() { "" } else { "give it a phase, " }
            )
        },
    );
    Some(Finding {
        title: format!(
            "{} of the time passes between steps in sections {}.",
            percent(between.share(ns)),
            if between.has_phases { "that no other rule judges" } else { "without a phase" }
        ),
        evidence: between
            .evidence(ns, steps)
            .with_known("calls", section.map(|row| row.stats.count))
            .with_known("call_p50_ns", section.and_then(|row| row.stats.p50)),
        recommendation: format!("{what}, or let another thread do it while the steps go on."),
        ..Finding::about(section, gain)
    })
}

fn unrecorded(between: &Between<'_>, steps: &Steps<'_>, summary: &Summary) -> Option<Finding> {
    let ns = between.unrecorded_ns;
    let gain = between.gain(ns, steps)?;
    let mean_ns = steps.per_step(ns);
    let usual_ns = between.usual_gap_ns.filter(|usual_ns| usual_ns.saturating_mul(2) <= mean_ns);
    let processes = summary.instances.iter().filter(|row| row.steps.count > 0).count() as u64;
    let few = usual_ns.and_then(|_| places(ns, between, steps, processes));
    let what = match (usual_ns, few) {
        (None, _) => "where nothing is recorded".into(),
        (Some(_), None) => "in few pauses in which nothing is recorded".into(),
        (Some(_), Some([one])) => {
            format!("where nothing is recorded: most of it {}", place(one, summary))
        }
        (Some(_), Some(some)) => format!("where nothing is recorded: most of it in {} pauses", some.len()),
    };
    let may_be_requests = steps.mode.mode == Mode::Inference;
    Some(Finding {
        title: format!("{} of the time passes between steps, {what}.", percent(between.share(ns))),
        severity: if may_be_requests { gain.severity().min(MOST_OF_CHANCE) } else { gain.severity() },
        evidence: between
            .evidence(ns, steps)
            .with_known("usual_gap_ns", between.usual_gap_ns)
            .with_known("longest_pause_ns", few.and_then(|few| few.first()).map(|pause| pause.gap_ns))
            .with_known("longest_pause_after_step", few.and_then(|few| few.first()).map(|pause| pause.step)),
        recommendation: what_to_do(ns, usual_ns, few, steps, summary),
        predicted_gain: Some(gain),
        ..Finding::default()
    })
}
