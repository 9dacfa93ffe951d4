//! Rule `memory_growth`: memory grows by the step, without end. Whether it does is judged in [`crate::memory`].

use serde_json::json;

use super::{Config, Judged, RestsOn, Rule, fine};
use crate::accumulate::saturate::saturate_signed;
pub use crate::memory::Thresholds;
use crate::memory::{Growth, Leak, LeakVerdict, Line, Urgency, grown, steps_of};
use crate::report::finding::{Evidence, Finding, FindingType, Note, rounded};
use crate::report::units::{bytes, count, duration, signed_bytes, things};
use crate::summary::{StepNumbers, Summary};

pub(super) const RULE: Rule = Rule {
    notes: |summary, _, _| notes(summary),
    rests_on: RestsOn::State,
    ..Rule::new("Memory growth", FindingType::Memory)
};

/// Most sections that evidence lists beside the one named.
const OTHER_CANDIDATES: usize = 4;

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.memory_growth;
    match Growth::of(summary, thresholds)? {
        None => fine(unchanged(summary)),
        Some(growth) => Ok(vec![finding(&growth, summary, thresholds)]),
    }
}

/// That steps share numbers, so that nothing is said of what happens over them.
fn notes(summary: &Summary) -> Vec<Note> {
    let mode = summary.primary().filter(|mode| mode.numbers == StepNumbers::Repeated);
    let range = mode.and_then(|mode| mode.step_range.map(|range| (mode.all.count, range)));
    let note = range.map(|(steps, (first, last))| Note {
        rule: "memory_growth",
        section: None,
        text: format!(
            "{} share the numbers {} to {}: growth of memory and changes are not judged, and plots over steps mix \
             them. Number steps through the run, or open each epoch with `stepscope::epoch!`.",
            things(steps, "step", "steps"),
            count(first),
            count(last)
        ),
    });
    note.into_iter().collect()
}

fn unchanged(summary: &Summary) -> String {
    let (kind, pair) = match (&summary.memory.live, &summary.memory.rss) {
        (Some(live), _) => ("live", live),
        (None, Some(rss)) => ("resident", rss),
        (None, None) => return "memory does not grow".into(),
    };
    let change = saturate_signed(i128::from(pair.last_bytes) - i128::from(pair.first_bytes));
    format!(
        "{kind} memory changed by {} from the first step to the last, without lasting growth",
        signed_bytes(change)
    )
}

fn finding(growth: &Growth, summary: &Summary, thresholds: &Thresholds) -> Finding {
    let Line { trend, tail, is_late } = growth.line;
    let (growth_bytes, steps) = (grown(&trend), steps_of(&trend));
    let Urgency { bytes_per_hour, hours_left, severity } =
        Urgency::of(growth, summary, thresholds.limit_bytes);
    let others: Vec<_> = growth
        .candidates
        .iter()
        .filter(|(path, _)| Some(path) != growth.leak.section.as_ref())
        .take(OTHER_CANDIDATES)
        .map(|(path, net)| json!({ "section": path, "net_per_step_bytes": net }))
        .collect();
    let named = growth.leak.section.as_ref();
    let own = growth.candidates.iter().find(|(path, _)| Some(path) == named).map(|&(_, net)| net);
    let suspected = growth.leak.verdict == LeakVerdict::Suspected;
    let slope = bytes(trend.slope_per_step.max(0.0).round() as u64);
    let since = if is_late { format!(" since step {}", count(trend.from_step)) } else { String::new() };
    let what = if suspected { "Resident memory grows (a leak is suspected)" } else { "Memory grows" };
    let total = format!("{} in {}", bytes(growth_bytes), things(steps, "step", "steps"));
    let lines: Vec<_> = growth
        .leak
        .lines
        .iter()
        .map(|line| json!({ "line": line.words(), "per_step_bytes": line.bytes_per_step, "growth_share": line.share }))
        .collect();
    Finding {
        title: match growth.leak.lines.first() {
            Some(line) => format!("Leaks {slope} a step{since} {}: {total}.", line.words()),
            None => format!("{what} by {slope} a step{since}, {total}."),
        },
        severity,
        section: growth.leak.section.clone(),
        evidence: Evidence::new()
            .with("growth_per_step_bytes", growth.leak.bytes_per_step)
            .with("slope_low_bytes", growth.leak.confidence_interval.0)
            .with("slope_high_bytes", growth.leak.confidence_interval.1)
            .with("p_value", growth.leak.p_value)
            .with("last_third_per_step_bytes", rounded(tail.slope_per_step, 3))
            .with("from_step", trend.from_step)
            .with("steps", steps)
            .with("growth_bytes", growth_bytes)
            .with("first_bytes", trend.first_bytes)
            .with("last_bytes", trend.last_bytes)
            .with_known("growth_per_hour_bytes", bytes_per_hour.map(|rate| rate.round() as u64))
            .with_known("hours_to_limit", hours_left.map(|hours| rounded(hours, 2)))
            .with_known("section_net_per_step_bytes", own)
            .with("allocated_at", lines)
            .with("other_candidates", others),
        recommendation: advice(&growth.leak, growth.is_told, summary.memory.live.is_some(), hours_left),
        ..Finding::default()
    }
}

/// `is_told` is whether sections say what they leave behind, `is_counted` whether the heap is counted.
fn advice(leak: &Leak, is_told: bool, is_counted: bool, hours_left: Option<f64>) -> String {
    let time = hours_left.map_or(String::new(), |hours| {
        format!(" The limit is reached in {}.", duration((hours * 3.6e12).min(1e19) as u64))
    });
    match (&leak.section, leak.verdict) {
        (Some(section), _) => format!(
            "Look at what `{section}` keeps: histories, caches without bound, values collected by step. Clear \
             or bound it, or keep numbers instead of tensors.{time}"
        ),
        (None, LeakVerdict::Growing) if !is_told => format!(
            "In which section is not known, as none says what it allocates and frees: record with `stepscope::Alloc` as \
             the global allocator, and put sections around what runs by step.{time}"
        ),
        (None, LeakVerdict::Growing) => format!(
            "No section leaves about as much behind: the memory is allocated outside of sections or freed by \
             others. Put sections around what runs by step.{time}"
        ),
        (None, LeakVerdict::Suspected) if is_counted => format!(
            "The counting allocator does not see this memory, the heap does not grow: look at native libraries, mapped \
             files, thread stacks, and at a heap in pieces that goes back to nobody.{time}"
        ),
        (None, LeakVerdict::Suspected) => format!(
            "Nobody counts the heap: install `stepscope::Alloc` as the global allocator to see whether it is what grows, \
             and look at native libraries.{time}"
        ),
    }
}
