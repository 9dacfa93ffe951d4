//! Rule `memory_growth`: memory grows by the step, without end. Whether it does is judged in [`crate::memory`].

use serde_json::json;

use super::{Config, Judged, RestsOn, Rule, fine};
pub use crate::memory::Thresholds;
use crate::memory::{Growth, Leak, LeakVerdict, Urgency};
use crate::report::finding::{Evidence, Finding, FindingType, Note, rounded};
use crate::report::units::{bytes, count, duration, things};
use crate::summary::{CourseVerdict, MemoryCourse, StepNumbers, Summary};

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
        Err(course) => fine(without_leak(summary, &course)),
        Ok(growth) => Ok(vec![finding(&growth, summary, thresholds)]),
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

/// What memory does where it does not grow on.
fn without_leak(summary: &Summary, course: &MemoryCourse) -> String {
    let kind = if course.is_suspected { "resident" } else { "live" };
    let pair = if course.is_suspected { &summary.memory.rss } else { &summary.memory.live };
    let last = pair.as_ref().map_or(0, |pair| pair.last_bytes);
    let end = bytes(course.plateau_bytes.unwrap_or(last));
    let seen = bytes(course.least_seen_bytes_per_step.ceil().max(0.0) as u64);
    match course.verdict {
        CourseVerdict::Decelerating => match course.plateau_bytes {
            Some(_) => format!("{kind} memory grows ever more slowly, to about {end}"),
            None => format!("{kind} memory grows ever more slowly; it came to {end}"),
        },
        CourseVerdict::CacheFilling => {
            format!("{kind} memory filled up to about {end}, as a cache does, and stays there")
        }
        CourseVerdict::Stopped => format!("{kind} memory grew for a while and stopped at about {end}"),
        _ => format!("{kind} memory does not grow; {seen} a step would have been seen"),
    }
}

fn finding(growth: &Growth, summary: &Summary, thresholds: &Thresholds) -> Finding {
    let (trend, steps) = (&growth.trend, growth.steps());
    let growth_bytes = trend.growth_bytes();
    let limit = Limit::of(growth, summary, thresholds);
    let urgency = Urgency::of(growth, summary, limit.reached_at_bytes);
    let others: Vec<_> = growth
        .candidates
        .iter()
        .filter(|(path, _)| Some(path) != growth.leak.section.as_ref())
        .take(OTHER_CANDIDATES)
        .map(|(path, net)| json!({ "section": path, "net_per_step_bytes": net }))
        .collect();
    let named = growth.leak.section.as_ref();
    let own = growth.candidates.iter().find(|(path, _)| Some(path) == named).map(|&(_, net)| net);
    let slope = bytes(trend.slope_per_step.max(0.0).round() as u64);
    let since =
        if growth.is_late { format!(" since step {}", count(trend.from_step)) } else { String::new() };
    let what = match (growth.course.verdict, growth.leak.verdict) {
        (CourseVerdict::Fragmentation, _) => {
            "Resident memory grows, the heap does not (fragmentation or retention),"
        }
        (_, LeakVerdict::Suspected) => "Resident memory grows (a leak is suspected)",
        (_, LeakVerdict::Growing) => "Memory grows",
    };
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
        severity: urgency.severity,
        section: growth.leak.section.clone(),
        evidence: Evidence::new()
            .with("growth_per_step_bytes", growth.leak.bytes_per_step)
            .with("slope_low_bytes", growth.leak.confidence_interval.0)
            .with("slope_high_bytes", growth.leak.confidence_interval.1)
            .with("p_value", growth.leak.p_value)
            .with("from_step", trend.from_step)
            .with("steps", steps)
            .with("growth_bytes", growth_bytes)
            .with("first_bytes", growth.gauge.first_bytes)
            .with("last_bytes", growth.gauge.last_bytes)
            .with_known("growth_per_hour_bytes", urgency.bytes_per_hour.map(|rate| rate.round() as u64))
            .with_known("limit_bytes", Some(limit.limit_bytes).filter(|bytes| *bytes > 0))
            .with_known("hours_to_limit", urgency.hours_left.map(|hours| rounded(hours, 2)))
            .with_known("hours_to_limit_at_least", urgency.between_hours.map(|hours| rounded(hours.0, 2)))
            .with_known("hours_to_limit_at_most", urgency.between_hours.map(|hours| rounded(hours.1, 2)))
            .with_known("section_net_per_step_bytes", own)
            .with("allocated_at", lines)
            .with("other_candidates", others),
        recommendation: advice(
            &growth.leak,
            growth.is_told,
            summary.memory.live.is_some(),
            &deadline(&urgency, limit.limit_bytes),
        ),
        ..Finding::default()
    }
}

/// The limit of memory; 0 where none is known.
struct Limit {
    limit_bytes: u64,
    /// What the gauge that grows has come to by then.
    reached_at_bytes: u64,
}

impl Limit {
    /// What the configuration says, which bounds resident memory; else what a process reaches first of those that say it,
    /// against which others may count as well.
    fn of(growth: &Growth, summary: &Summary, thresholds: &Thresholds) -> Self {
        let grown_to = growth.leak.live_bytes;
        let resident = summary.memory.rss.as_ref().map_or(0, |pair| pair.last_bytes);
        let set = Some((thresholds.limit_bytes, resident.max(grown_to))).filter(|(limit, _)| *limit > 0);
        let room = |&(limit, used): &(u64, u64)| limit.saturating_sub(used);
        let told = || summary.instances.iter().filter_map(|row| row.memory_limit).min_by_key(room);
        let Some(limit) = set.or_else(told) else { return Self { limit_bytes: 0, reached_at_bytes: 0 } };
        Self { limit_bytes: limit.0, reached_at_bytes: grown_to.saturating_add(room(&limit)) }
    }
}

/// When the limit is reached, where one is known.
fn deadline(urgency: &Urgency, limit_bytes: u64) -> String {
    let time = |hours: f64| duration((hours * 3.6e12).min(1e19) as u64);
    let between = urgency
        .between_hours
        .map_or(String::new(), |(least, most)| format!(" ({} to {})", time(least), time(most)));
    if urgency.hours_left == Some(0.0) {
        return format!(" It has reached {}.", bytes(limit_bytes));
    }
    urgency.hours_left.map_or(String::new(), |hours| {
        format!(" It reaches {} in {}{between}.", bytes(limit_bytes), time(hours))
    })
}

/// `is_told` is whether sections say what they leave behind, `is_counted` whether the heap is counted.
fn advice(leak: &Leak, is_told: bool, is_counted: bool, time: &str) -> String {
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
