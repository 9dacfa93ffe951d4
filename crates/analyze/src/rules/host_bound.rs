//! Rule `host_bound`: the step spends its time in code of its own that is no stage of training and no input. Sections
//! that take it are the business of `slow_section`.

use stepscope_core::{PhaseClass, SectionKind};

use super::{Config, Judged, RestsOn, Rule, Steps, fine, no_duration, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::units::{duration, percent};
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    may_hold_up_ranks: true,
    rests_on: RestsOn::ReadSteps,
    ..Rule::new("Host bound", FindingType::Compute)
};

thresholds! {
    /// Share of the step time from which the step's own code is a finding.
    min_share: f64 = 0.15;
    /// Own time of a step below which it is not judged, nanoseconds: it may be recording.
    min_own_ns: u64 = 100_000;
    /// Share of the step time that phases must cover.
    min_phase_share: f64 = 0.25;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.host_bound;
    let steps = Steps::read(summary);
    let steps = steps.and_then(Steps::with_phases)?;
    let mode = steps.mode;
    let paths = summary.critical_path.as_ref().filter(|paths| paths.mode == Some(mode.mode));
    let Some(paths) = paths.filter(|paths| paths.total_ns > 0) else {
        return unknown("no step was read with all its sections, so that its own time is not known");
    };
    if !mode.phases.iter().any(|row| row.phase.class() == PhaseClass::CpuOperation) {
        return unknown(
            "no stage of training (forward, backward, optimizer …) is known, so that it cannot be told from the code \
             around it; give sections their phase",
        );
    }
    let covered = 1.0 - mode.unattributed_ns as f64 / mode.whole.total_ns.max(1) as f64;
    // Where the path leaves a thread that is in a section for what ended later elsewhere, what was before is the step's.
    let is_step = |row: &&SectionRow| row.kind == SectionKind::Step;
    let exposed = summary.sections.iter().filter(is_step).filter_map(|row| row.in_mode(mode.mode));
    let exposed_ns = exposed.fold(0u64, |sum, part| sum.saturating_add(part.after_warmup().exposed_ns));
    let other_ns = paths.other_ns.saturating_sub(paths.warmup_other_ns).min(exposed_ns);
    let share = steps.share_inside(other_ns, paths.total_ns.saturating_sub(mode.whole_warmup.total_ns));
    let windows = paths.windows.saturating_sub(mode.whole_warmup.steps);
    let own_ns = other_ns / windows.max(1);
    if share < thresholds.min_share || own_ns < thresholds.min_own_ns {
        return fine(format!(
            "{} of {}, {} a step, is code between its sections; limits {} and {}",
            percent(share),
            steps.looked_at(),
            duration(own_ns),
            percent(thresholds.min_share),
            duration(thresholds.min_own_ns)
        ));
    }
    if covered < thresholds.min_phase_share {
        return unknown(format!(
            "phases cover only {} of the step time, so that regular stages cannot be told from the code around them; give \
             sections their phase",
            percent(covered)
        ));
    }
    let mean_ns = steps.mean_ns();
    let gain = Gain::upper_bound((share * mean_ns as f64).round() as u64, mean_ns).ok_or_else(no_duration)?;
    let gain = gain.of(steps.base());
    let input_share = summary.input.share;
    // Of equals the first path.
    let step = summary.sections.iter().rev().filter(is_step).max_by_key(|row| row.stats.total);
    let against = input_share.map_or_else(String::new, |input| format!(" Input takes {}.", percent(input)));
    Ok(vec![Finding {
        title: format!(
            "Host bound: {} of {} is code of the step between its sections.",
            percent(share),
            steps.base().as_str()
        ),
        evidence: Evidence::new()
            .with("own_share", rounded(share, 6))
            .with("own_per_step_ns", own_ns)
            .with_known("input_share", input_share.map(|share| rounded(share, 6)))
            .with("phase_share", rounded(covered, 6))
            .with("steps", windows),
        recommendation: format!(
            "{} a step is in no section: give the parts of the loop sections of their own, see which it is, and do it less \
             often or in another thread.{against}",
            duration(own_ns)
        ),
        ..Finding::about(step, gain)
    }])
}
