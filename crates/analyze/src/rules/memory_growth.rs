//! Rule `memory_growth`: memory grows by the step, without end. Whether it does is judged in [`crate::memory`].

use serde_json::json;

use super::{Config, Judged, RestsOn, Rule, fine};
use crate::live_memory::Culprit;
pub use crate::memory::Thresholds;
use crate::memory::{Growth, Leak, LeakVerdict, Spread, Urgency};
use crate::report::finding::{Evidence, Finding, FindingType, Note, rounded};
use crate::report::units::{bytes, count, duration, percent, things};
use crate::summary::{CourseVerdict, MemoryCourse, StepNumbers, Summary};

pub(super) const RULE: Rule = Rule {
    notes: |summary, _, _| notes(summary),
    rests_on: RestsOn::State,
    ..Rule::new("Memory growth", FindingType::Memory)
};

/// Share of a growth from which a line is all of it, and most of it.
const ALL_OF_IT: f64 = 0.85;
const MOST_OF_IT: f64 = 0.5;

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
    note.into_iter().chain(fell(summary)).chain(impossible(summary)).collect()
}

fn note(text: String) -> Note {
    Note { rule: "memory_growth", section: None, text }
}

/// That memory jumps back.
fn fell(summary: &Summary) -> Option<Note> {
    let course = summary.memory.course?;
    let fell = course.fell?;
    let kind = if course.is_suspected { "Resident" } else { "Live" };
    let (from, to, step) = (bytes(fell.from_bytes), bytes(fell.to_bytes), count(fell.step));
    Some(note(format!(
        "{kind} memory falls from {from} to {to} at step {step}, after it had grown: a process that began anew, or memory \
         that was given back."
    )))
}

/// That sizes were left out.
fn impossible(summary: &Summary) -> Option<Note> {
    let values = summary.memory.processes.iter().map(|process| process.impossible_values);
    let values = values.fold(0u64, u64::saturating_add);
    let sizes = things(values, "size", "sizes");
    let said =
        || note(format!("{sizes} at steps are below zero or larger than any memory, and are left out."));
    (values > 0).then(said)
}

/// What memory does where it does not grow on.
fn without_leak(summary: &Summary, course: &MemoryCourse) -> String {
    let spread = Spread::of(&summary.memory);
    let kind = if course.is_suspected { "resident" } else { "live" };
    let memory = match &spread {
        Some(spread) => format!("{kind} memory of {}", spread.words()),
        None => format!("{kind} memory"),
    };
    let pair = if course.is_suspected { &summary.memory.rss } else { &summary.memory.live };
    let pair = summary.memory.alike().first().map_or(pair, |process| &process.gauge);
    let last = pair.as_ref().map_or(0, |pair| pair.last_bytes);
    let end = bytes(course.plateau_bytes.unwrap_or(last));
    let seen = bytes(course.least_seen_bytes_per_step.ceil().max(0.0) as u64);
    match course.verdict {
        CourseVerdict::Decelerating => match course.plateau_bytes {
            Some(_) => format!("{memory} grows ever more slowly, to about {end}"),
            None => format!("{memory} grows ever more slowly; it came to {end}"),
        },
        CourseVerdict::CacheFilling => {
            format!("{memory} filled up to about {end}, as a cache does, and stays there")
        }
        CourseVerdict::Stopped => format!("{memory} grew for a while and stopped at about {end}"),
        _ => format!("{memory} does not grow on; {seen} a step would have been seen"),
    }
}

/// What grows, where and how fast, in a sentence.
fn title(growth: &Growth) -> String {
    let (trend, steps) = (&growth.trend, growth.steps());
    let slope = bytes(trend.slope_per_step.max(0.0).round() as u64);
    let since =
        if growth.is_late { format!(" since step {}", count(trend.from_step)) } else { String::new() };
    let total = format!("{} in {}", bytes(trend.growth_bytes()), things(steps, "step", "steps"));
    let most = |line: &Culprit| match line.share {
        share if share >= ALL_OF_IT => String::new(),
        share if share >= MOST_OF_IT => ", most of it".into(),
        share => format!(", about {} of it", percent(share)),
    };
    let line = growth.leak.lines.first();
    let line = line.map_or_else(String::new, |line| format!("{} {}", most(line), line.words()));
    let but = match (growth.course.verdict, growth.leak.verdict) {
        (CourseVerdict::Fragmentation, _) => {
            " and the heap does not (native code, fragmentation or retention)"
        }
        (_, LeakVerdict::Suspected) => " (a leak is suspected)",
        (_, LeakVerdict::Growing) => "",
    };
    match (&growth.spread, growth.leak.verdict, line.as_str()) {
        (Some(spread), LeakVerdict::Growing, line) => {
            let leak = if spread.is_plural() { "leak" } else { "leaks" };
            let (who, rate, others) = (spread.beginning(), spread.rate(), spread.others());
            format!("{who} {leak} {rate} a step{since}{line}: {}{total}{others}.", spread.most())
        }
        (Some(spread), LeakVerdict::Suspected, _) => {
            let (who, rate, others) = (spread.words(), spread.rate(), spread.others());
            format!(
                "Resident memory of {who} grows{but} by {rate} a step{since}: {}{total}{others}.",
                spread.most()
            )
        }
        (None, LeakVerdict::Suspected, _) => {
            format!("Resident memory grows{but} by {slope} a step{since}, {total}.")
        }
        (None, LeakVerdict::Growing, "") => format!("Memory grows by {slope} a step{since}, {total}."),
        (None, LeakVerdict::Growing, line) => format!("Leaks {slope} a step{since}{line}: {total}."),
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
        // Beside a section that explains it, what others leave is handed on and freed elsewhere.
        .filter(|_| growth.leak.section.is_none())
        .take(OTHER_CANDIDATES)
        .map(|(path, net)| json!({ "section": path, "net_per_step_bytes": net }))
        .collect();
    let named = growth.leak.section.as_ref();
    let own = growth.candidates.iter().find(|(path, _)| Some(path) == named).map(|&(_, net)| net);
    let is_declared = !growth.declared.names.is_empty();
    let lines: Vec<_> = growth
        .leak
        .lines
        .iter()
        .map(|line| json!({ "line": line.words(), "per_step_bytes": line.bytes_per_step, "growth_share": line.share }))
        .collect();
    Finding {
        title: title(growth),
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
            .with_known("declared_caches", is_declared.then(|| json!(growth.declared.names)))
            .with_known(
                "declared_per_step_bytes",
                is_declared.then(|| rounded(growth.declared.bytes_per_step, 3)),
            )
            .with_known(
                "ranks",
                Some(&growth.leak.ranks).filter(|ranks| !ranks.is_empty()).map(|ranks| json!(ranks)),
            )
            .with("other_candidates", others),
        recommendation: beside(growth)
            + &advice(
                &growth.leak,
                growth.is_told,
                summary.memory.live.is_some(),
                &deadline(&urgency, limit.limit_bytes),
            ),
        ..Finding::default()
    }
}

/// What declared caches hold beside it.
fn beside(growth: &Growth) -> String {
    match growth.declared.names.as_slice() {
        [] => String::new(),
        _ => format!("Beside this, memory {}. ", growth.declared.words()),
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
