//! Rule `between_steps`: time passes between steps that no phase explains.

use stepscope_core::{Mode, Phase};

use super::common::apart;
use super::common::taken::MOST_OF_CHANCE;
use super::common::when::when;
use super::{Config, Rule, Steps};
use crate::report::finding::{BottleneckType, Evidence, Finding, Gain, TimeBase, Verdict, rounded};
use crate::report::names;
use crate::report::units::{count, duration, listed, percent, things};
use crate::summary::{Pause, PhaseName, SectionRow, StepNumbers, Summary};

pub(super) const RULE: Rule = Rule {
    id: "between_steps",
    since: "0.1.0",
    name: "Time between steps",
    kind: BottleneckType::Compute,
    may_hold_up_ranks: true,
    needs_steady_clock: true,
    notes: |summary, _, _| apart::note(summary, RULE.id).into_iter().collect(),
    page: include_str!("between_steps.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the time from the first step to the last one from which time between steps is a finding.
    min_share: f64 = 0.05;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.between_steps;
    let steps = match Steps::read(summary, thresholds.min_steps) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    if let Some((read, all)) = read_of(summary, &steps) {
        return Verdict::unknown(format!(
            "{} of {} were read: what is between them may be the others",
            count(read),
            things(all, "step", "steps")
        ));
    }
    let between = Between::of(summary, &steps);
    if between.elapsed_ns == 0 {
        return Verdict::unknown("when steps ran is not known");
    }
    if summary.instances.iter().any(|row| row.steps_overlap) {
        return Verdict::unknown(
            "steps run at the same time, on several threads: what passes between those of each is not known",
        );
    }
    let is_much = |ns: u64| between.share(ns) >= thresholds.min_share;
    if is_much(between.left_ns) && between.outside_ns > between.left_ns.saturating_add(between.left_ns / 4) {
        return Verdict::unknown(
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
        return Verdict::Found(found);
    }
    let rest_ns = between.unnamed_ns.saturating_add(between.unrecorded_ns);
    let rest = percent(between.share(rest_ns));
    if is_much(between.unrecorded_ns) {
        return Verdict::unknown(format!(
            "{rest} of the time passes between steps, and sections were lost: they may have been there"
        ));
    }
    Verdict::fine(match rest_ns {
        0 if between.outside_ns == 0 => "no time between steps is without a phase".into(),
        _ if between.has_phases => {
            format!("{rest} of the time passes between steps in what no other rule judges")
        }
        _ => format!("{rest} of the time passes between steps in no phase"),
    })
}

/// Phases whose time between steps no other rule judges, and which are no work of the model's.
const UNJUDGED: [Phase; 4] = [Phase::Compile, Phase::HostToDevice, Phase::DeviceToHost, Phase::Other];

/// Whether sections of this phase are told here, as those without one are.
fn is_own(phase: Option<&PhaseName>) -> bool {
    match phase {
        Some(PhaseName::Known(phase)) => UNJUDGED.contains(phase),
        Some(PhaseName::Custom(_)) | None => true,
    }
}

/// Read steps and all there were, where some are missing: by what processes counted, or else by their numbers.
fn read_of(summary: &Summary, steps: &Steps<'_>) -> Option<(u64, u64)> {
    let (mode, coverage) = (steps.mode, &summary.coverage);
    let by_numbers = || {
        let (first, last) = mode.step_range.filter(|_| mode.numbers == StepNumbers::Unique)?;
        let all = last.saturating_sub(first).saturating_add(1);
        // Steps of other modes may be counted along.
        let read = summary.modes.iter().fold(0u64, |sum, row| sum.saturating_add(row.all.count));
        (coverage.recorded_steps.is_none() && all > read).then_some((read, all))
    };
    coverage.partly_read().or_else(by_numbers)
}

/// The time between the steady steps, over all processes.
struct Between<'a> {
    /// From the first step to the last one.
    elapsed_ns: u64,
    /// Of it, neither in steps nor in outermost sections of phases that others judge.
    left_ns: u64,
    /// The other outermost sections, some of which may reach beyond the last step.
    outside_ns: u64,
    /// Whether some of these have a phase.
    has_phases: bool,
    /// What they take of `left_ns`.
    unnamed_ns: u64,
    /// In none.
    unrecorded_ns: u64,
    /// All outermost sections, some of which may reach beyond the last step.
    recorded_ns: u64,
    /// The median time from a step to the next one, the longest of all processes; absent where one does not know it.
    usual_gap_ns: Option<u64>,
    /// The section that takes most of `unnamed_ns`.
    section: Option<&'a SectionRow>,
}

impl<'a> Between<'a> {
    fn of(summary: &'a Summary, steps: &Steps<'_>) -> Self {
        let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
        let elapsed_ns = sum(&mut summary.instances.iter().map(|row| row.throughput.elapsed_ns));
        let others_ns = sum(&mut summary.instances.iter().map(|row| row.other_steps_ns));
        let between_ns = elapsed_ns.saturating_sub(steps.mode.steady_ns).saturating_sub(others_ns);
        let outside = |is_meant: bool| {
            let rows = summary.outside.iter().filter(move |row| is_own(row.phase.as_ref()) == is_meant);
            sum(&mut rows.map(|row| row.stats.total))
        };
        let (named_ns, unnamed_ns) = (outside(false), outside(true));
        let left_ns = between_ns.saturating_sub(named_ns);
        Self {
            elapsed_ns,
            left_ns,
            outside_ns: unnamed_ns,
            has_phases: summary.outside.iter().any(|row| row.phase.is_some() && is_own(row.phase.as_ref())),
            unnamed_ns: unnamed_ns.min(left_ns),
            unrecorded_ns: left_ns.saturating_sub(unnamed_ns),
            recorded_ns: named_ns.saturating_add(unnamed_ns),
            usual_gap_ns: summary
                .instances
                .iter()
                .map(|row| row.usual_gap_ns)
                .collect::<Option<Vec<_>>>()
                .and_then(|gaps| gaps.into_iter().max()),
            section: longest(summary, unnamed_ns),
        }
    }

    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.elapsed_ns.max(1) as f64
    }

    fn gain(&self, ns: u64, steps: &Steps<'_>) -> Option<Gain> {
        let gain = Gain::upper_bound(steps.per_step(ns), steps.per_step(self.elapsed_ns))?;
        Some(gain.of(TimeBase::TrainingTime))
    }

    fn evidence(&self, ns: u64, steps: &Steps<'_>) -> Evidence {
        Evidence::new()
            .with("between_share", rounded(self.share(ns), 6))
            .with("between_ns", ns)
            .with("elapsed_ns", self.elapsed_ns)
            .with("steps", steps.count())
    }
}

/// The section that no other rule judges, in no step, that takes longest between steps, where that is at least half of
/// `all_ns`: of those around each other the outermost.
fn longest(summary: &Summary, all_ns: u64) -> Option<&SectionRow> {
    let is_meant = |row: &&SectionRow| row.is_part() && is_own(row.phase.as_ref()) && row.in_steps.is_empty();
    let between = |row: &SectionRow| {
        row.stats.total.saturating_sub(summary.beyond.get(&row.path).copied().unwrap_or(0))
    };
    let rows = summary.sections.iter().filter(is_meant).map(|row| (between(row), row));
    let rows = rows.filter(|&(ns, _)| ns <= all_ns && ns >= all_ns / 2 && ns > 0);
    // Of equals the first path, which is the shorter one of two around each other.
    let longest = rows.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.path.cmp(&a.1.path)));
    longest.map(|(_, row)| row)
}

fn unnamed(between: &Between<'_>, steps: &Steps<'_>) -> Option<Finding> {
    let ns = between.unnamed_ns;
    let gain = between.gain(ns, steps)?;
    let section = between.section;
    let phase = section.and_then(|row| row.phase.as_ref());
    let what = section.map_or_else(
        || "Give the sections between steps a phase, do it less often".into(),
        |row| {
            format!(
                "`{}` takes {} in {}: {}do it less often",
                names::path(&row.path),
                duration(row.stats.total),
                things(row.stats.count, "call", "calls"),
                if phase.is_some() { "" } else { "give it a phase, " }
            )
        },
    );
    Some(Finding {
        title: format!(
            "{} of the time passes between steps in sections {}.",
            percent(between.share(ns)),
            if between.has_phases { "that no other rule judges" } else { "without a phase" }
        ),
        severity: gain.severity(),
        section: section.map(|row| row.path.clone()),
        phase: phase.map(|phase| phase.as_str().to_owned()),
        rank: None,
        evidence: between
            .evidence(ns, steps)
            .with_known("calls", section.map(|row| row.stats.count))
            .with_known("call_p50_ns", section.and_then(|row| row.stats.p50)),
        recommendation: format!("{what}, or let another thread do it while the steps go on."),
        predicted_gain: Some(gain),
    })
}

const REQUESTS: &str = " Where the steps serve requests they wait for them here, and that is no loss.";

const SEVERAL_RUNS: &str = " Steps share their numbers: the input may hold several runs of the program, and the time \
                            between these.";

/// The longest pauses, as few as make at least half of `ns`, even if all sections between steps were in them.
fn places<'a>(ns: u64, between: &Between<'_>, steps: &Steps<'a>, processes: u64) -> Option<&'a [Pause]> {
    let outside_ns = between.recorded_ns.saturating_add(ns / 2);
    let pauses = steps.mode.pauses.as_slice();
    (1..=pauses.len()).filter_map(|few| pauses.get(..few)).find(|few| {
        let all_ns = few.iter().fold(0u64, |sum, pause| sum.saturating_add(pause.pause_ns));
        all_ns.saturating_mul(processes) >= outside_ns
    })
}

/// Where a pause is, and how long: `after step 299 (1 min 00 s, 2.40 s into the run)`.
fn place(pause: &Pause, summary: &Summary) -> String {
    let after = match pause.step_numbers {
        1 => format!("after step {}", count(pause.step)),
        many => {
            format!("in steps {} to {}", count(pause.step), count(pause.step.saturating_add(many - 1)))
        }
    };
    format!("{after} ({})", when(summary, pause.start_ns, pause.pause_ns))
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
    let severity = gain.severity();
    let mut recommendation = what_to_do(ns, usual_ns, few, steps, summary);
    if may_be_requests {
        recommendation.push_str(REQUESTS);
    }
    Some(Finding {
        title: format!("{} of the time passes between steps, {what}.", percent(between.share(ns))),
        severity: if may_be_requests { severity.min(MOST_OF_CHANCE) } else { severity },
        section: None,
        phase: None,
        rank: None,
        evidence: between
            .evidence(ns, steps)
            .with_known("usual_gap_ns", between.usual_gap_ns)
            .with_known("longest_pause_ns", few.and_then(|few| few.first()).map(|pause| pause.pause_ns))
            .with_known("longest_pause_after_step", few.and_then(|few| few.first()).map(|pause| pause.step)),
        recommendation,
        predicted_gain: Some(gain),
    })
}

/// What to do about time in which nothing is recorded; `few` are the pauses that make most of it.
fn what_to_do(
    ns: u64,
    usual_ns: Option<u64>,
    few: Option<&[Pause]>,
    steps: &Steps<'_>,
    summary: &Summary,
) -> String {
    let mean_ns = steps.per_step(ns);
    match (usual_ns, few) {
        (Some(usual_ns), Some(few)) => format!(
            "From the end of a step to the start of the next it is usually {}, but not {}: look at what the program and its \
             machine did there (saving, evaluation, a job that was suspended), and put sections around it.",
            duration(usual_ns),
            listed(few.iter().map(|pause| place(pause, summary)))
        ),
        (Some(usual_ns), None) => format!(
            "From the end of a step to the start of the next it is usually {}, and {} in all: look for what the loop \
             does now and then, such as saving or evaluation, and put sections around it.{}",
            duration(usual_ns),
            duration(ns),
            if steps.mode.numbers == StepNumbers::Repeated { SEVERAL_RUNS } else { "" }
        ),
        (None, _) => format!(
            "Put sections around what the loop does from the end of a step to the start of the next, {} on average: \
             loading, logging, saving, evaluation.",
            duration(mean_ns)
        ),
    }
}
