//! Rule `tiny_sections`: so many sections are so short that recording them takes a good part of the step.

use super::{Config, Judged, Rule, Steps, fine, no_duration, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::names;
use crate::report::units::{count, duration, percent, things};
use crate::sections::tiny::Tiny;
use crate::summary::Summary;

pub(super) const RULE: Rule =
    Rule { may_hold_up_ranks: true, ..Rule::new("Too many tiny sections", FindingType::Recording) };

thresholds! {
    /// Mean duration up to which a section is tiny, nanoseconds.
    tiny_ns: u64 = 1_000;
    /// What recording a section costs its thread, nanoseconds.
    section_cost_ns: u64 = 200;
    /// What it costs the whole process at most, the background thread included, nanoseconds.
    process_cost_ns: u64 = 1_000;
    /// Share of the step time from which recording is a finding.
    min_share: f64 = 0.05;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.tiny_sections;
    let steps = Steps::of(summary).and_then(Steps::with_sections)?;
    if !summary.state.is_ours {
        return unknown("another library recorded the spans, and what they cost is not known");
    }
    let tiny = Tiny::of(summary, &steps, thresholds.tiny_ns);
    let cost = |calls: u64, ns: u64| steps.share_inside(calls.saturating_mul(ns), tiny.steps_ns);
    let share = cost(tiny.calls, thresholds.section_cost_ns);
    let all = tiny.calls.saturating_add(tiny.elsewhere);
    let per_step = |calls: u64| calls.saturating_add(tiny.steps / 2) / tiny.steps.max(1);
    let Some((row, calls)) = tiny.most.filter(|_| share >= thresholds.min_share) else {
        return fine(format!(
            "recording the sections below {}, {} a step, takes about {} of {}; limit {}",
            duration(thresholds.tiny_ns),
            count(per_step(all)),
            percent(share),
            steps.looked_at(),
            percent(thresholds.min_share)
        ));
    };
    let mean_ns = steps.mean_ns();
    let saved = |share: f64| (share * mean_ns as f64).round() as u64;
    let most = cost(all, thresholds.process_cost_ns.max(thresholds.section_cost_ns));
    let mut gain = Gain::with_side_effects(saved(share), saved(most), mean_ns).ok_or_else(no_duration)?;
    gain.because = Some(format!(
        "{} is recording {}; the rest is what the background thread may take from it{}",
        percent(gain.direct_share),
        if steps.sums.is_some() { "itself" } else { "on the training thread" },
        if tiny.elsewhere > 0 { ", and recording on other threads, if it waits for these" } else { "" }
    ));
    let gain = gain.of(steps.base());
    let each_ns = row.stats.mean.map(|mean| mean.round() as u64);
    let saved_ns = gain.saved_ns_per_step.min(saved(share));
    Ok(vec![Finding {
        title: format!(
            "Recording tiny sections takes {} of {}{}.",
            percent(share),
            steps.base().as_str(),
            steps.by()
        ),
        evidence: Evidence::new()
            .with("recording_share", rounded(share, 6))
            .with("recording_per_step_ns", saved_ns)
            .with("tiny_calls_per_step", per_step(tiny.calls))
            .with_known(
                "tiny_calls_on_other_threads_per_step",
                Some(per_step(tiny.elsewhere)).filter(|&calls| calls > 0),
            )
            .with("calls_per_step", per_step(calls))
            .with_known("call_mean_ns", each_ns)
            .with("section_cost_ns", thresholds.section_cost_ns)
            .with("steps", tiny.steps),
        recommendation: format!(
            "Put one section around the loop that `{}` is in: it runs {} a step, {} each, and recording takes about \
             as long.{}",
            names::path(&row.path),
            things(per_step(calls), "time", "times"),
            each_ns.map_or_else(|| "very briefly".into(), duration),
            steps.caveat()
        ),
        ..Finding::about(Some(row), gain)
    }])
}
