//! Rule `long_warmup`: the first steps take so much longer than the others that it costs a good part of the run.

use super::common::taken::{ADVICE, Taken, capped, most_of};
use super::{Config, Rule, Steps};
use crate::ranks::is_waiting;
use crate::report::finding::{Evidence, Finding, FindingType, Gain, TimeBase, Verdict, rounded};
use crate::report::names;
use crate::report::units::{count, duration, percent, things};
use crate::sections::tail::{above_usual_ns, innermost, warmup_excess_ns};
use crate::summary::{ModeSummary, SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "long_warmup",
    since: "0.1.0",
    name: "Long warm-up",
    kind: FindingType::Compute,
    may_hold_up_ranks: false,
    page: include_str!("long_warmup.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the time of all steps from which warm-up is a finding.
    min_share: f64 = 0.10;
    /// Seconds that warm-up must take at least: what is shorter bothers nobody, however short the run.
    min_excess_s: f64 = 1.0;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.long_warmup;
    let steps = match Steps::read(summary, thresholds.min_steps) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    // What a bounded directory keeps always are the first steps.
    if let Some((read, all)) = summary.coverage.partly_read() {
        return Verdict::unknown(format!(
            "{} of {} were read, the first ones rather than others: what share they are is not known",
            count(read),
            things(all, "step", "steps")
        ));
    }
    let mode = steps.mode;
    let (excess_ns, all) = (warmup_excess_ns(mode), mode.all);
    if excess_ns == 0 {
        return Verdict::fine("the first steps take as long as the others");
    }
    let share = excess_ns as f64 / all.total.max(1) as f64;
    if share < thresholds.min_share || (excess_ns as f64) < thresholds.min_excess_s * 1e9 {
        return Verdict::fine(format!(
            "the first {} {} above the usual, {} of the time of all steps{}",
            if mode.warmup.steps == 1 {
                "step takes".into()
            } else {
                format!("{} steps take", count(mode.warmup.steps))
            },
            duration(excess_ns),
            percent(share),
            if share < thresholds.min_share {
                String::new()
            } else {
                format!("; below {} it bothers nobody", duration((thresholds.min_excess_s * 1e9) as u64))
            }
        ));
    }
    let steps_all = all.count.max(1);
    let Some(gain) = Gain::upper_bound(excess_ns / steps_all, all.total / steps_all) else {
        return Verdict::unknown("steps have no duration");
    };
    let gain = gain.of(TimeBase::TrainingTime);
    let (section, waiting) = slow_at_first(summary, mode, excess_ns);
    let usual_ns = mode.steady.p50.unwrap_or(0);
    let longest = mode.warmup.max_per_instance;
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
    let what = match waiting {
        Some(row) => format!("{what} Meanwhile others wait for it in `{}`.", names::path(&row.path)),
        None => what,
    };
    let others = Taken::of(summary, mode.mode).and_then(|taken| {
        let (taken_ns, _) = taken.between(0, mode.warmup.steady_step?.checked_sub(1)?);
        most_of(taken_ns, excess_ns)
    });
    Verdict::Found(vec![Finding {
        title: format!("{} of the training time is warm-up.", percent(share)),
        severity: capped(&gain, others.is_some()),
        section: section.map(|row| row.path.clone()),
        phase: section.and_then(|row| row.phase.as_ref()).map(|phase| phase.as_str().to_owned()),
        rank: None,
        evidence: Evidence::new()
            .with("warmup_share", rounded(share, 6))
            .with("warmup_ns", mode.warmup.total_ns)
            .with("above_usual_ns", excess_ns)
            .with("warmup_steps", mode.warmup.steps)
            .with("usual_step_ns", usual_ns)
            .with("steps", all.count)
            .with_known("taken_by_others_share", others.map(|share| rounded(share, 3))),
        recommendation: match others {
            Some(share) => format!("{} of it is time in which {ADVICE}", percent(share)),
            None => {
                let above = duration(excess_ns);
                match (mode.warmup.steps, longest) {
                    (1, _) => format!("{what} The first step takes {above} more than a usual one."),
                    (all, 1) => {
                        format!(
                            "{what} The first steps of {all} ranks take {above} more than as many usual ones."
                        )
                    }
                    _ => format!(
                        "{what} The first {} steps take {above} more than as many usual ones.",
                        count(longest)
                    ),
                }
            }
        },
        predicted_gain: Some(gain),
    }])
}

/// The section whose calls lie most above their median, if that is at least half of the warm-up; or one that others wait
/// for, with where they do.
fn slow_at_first<'a>(
    summary: &'a Summary,
    mode: &ModeSummary,
    excess_ns: u64,
) -> (Option<&'a SectionRow>, Option<&'a SectionRow>) {
    const EXPLAINS: f64 = 0.5;
    let explains = |ns: u64, of_ns: u64| ns > 0 && ns as f64 >= EXPLAINS * of_ns as f64;
    let rows = summary.sections.iter().filter(|row| row.is_part() && row.in_mode(mode.mode).is_some());
    let above_ns =
        |row: &SectionRow| if is_rare(row, mode) { row.stats.total } else { above_usual_ns(&row.stats) };
    let tails: Vec<(&SectionRow, u64)> = rows.map(|row| (row, above_ns(row))).collect();
    let named = |of_ns: u64, is_meant: &dyn Fn(&SectionRow) -> bool| {
        let tails = tails.iter().copied().filter(|&(row, ns)| is_meant(row) && explains(ns, of_ns));
        innermost(tails.collect()).first().map(|&(row, _)| row)
    };
    let waits = |row: &SectionRow| row.phase.as_ref().is_some_and(is_waiting);
    let longest = named(excess_ns, &|_| true);
    let processes = summary.instances.iter().filter(|row| row.steps.count > 0).count() as u64;
    let Some(wait) = longest.filter(|row| processes > 1 && waits(row)) else { return (longest, None) };
    let waiting_ns = tails.iter().filter(|(row, _)| waits(row)).map(|&(_, ns)| ns).max().unwrap_or(0);
    let left_ns = excess_ns.saturating_sub(waiting_ns).max(excess_ns / processes.max(1));
    match named(left_ns, &|row| !waits(row)) {
        Some(waited_for) => (Some(waited_for), Some(wait)),
        None => (longest, None),
    }
}

/// Whether a section occurs in no more steps than are warm-up.
fn is_rare(row: &SectionRow, mode: &ModeSummary) -> bool {
    row.in_mode(mode.mode).is_some_and(|part| part.steps <= mode.warmup.steps)
}
