//! Rule `memory_churn`: allocations and page faults of the step's thread, each of which costs little, and all together much.

use super::{Config, Judged, RestsOn, Rule, Steps, fine, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded};
use crate::report::names;
use crate::report::units::{count, percent};
use crate::summary::{AllocatedLine, SectionMemory, SectionRow, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::ReadSteps, ..Rule::new("Memory churn", FindingType::Memory) };

thresholds! {
    /// Share of the step time that allocations and page faults take, from which they are a finding.
    min_share: f64 = 0.05;
    /// Time of a small allocation and its release where the program did not measure it, nanoseconds.
    alloc_ns: f64 = 40.0;
    /// Time of a page fault that needs no storage where the program did not measure it, nanoseconds.
    fault_ns: f64 = 400.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.memory_churn;
    let steps = Steps::read(summary)?;
    let used = steps.mode.use_per_step;
    if used.alloc_count.is_none() && used.minor_faults.is_none() {
        return unknown(
            "needs allocations (`stepscope::Alloc`) or page faults (Linux) of steps, from level `detailed` on",
        );
    }
    let measured = &summary.threads.processors;
    let cost = |measured: Option<u64>, usual: f64| measured.map_or(usual, |ns| ns as f64);
    let alloc_ns = used.alloc_count.unwrap_or(0.0) * cost(measured.alloc_cost_ns, thresholds.alloc_ns);
    let fault_ns = used.minor_faults.unwrap_or(0.0) * cost(measured.fault_cost_ns, thresholds.fault_ns);
    let mean_ns = steps.per_step(steps.mode.steady_ns);
    let share = ((alloc_ns + fault_ns) / mean_ns.max(1) as f64).min(1.0);
    let number = |value: Option<f64>, what: &str| {
        let number = value.map(|value| value.round() as u64).filter(|&number| number > 0);
        number.map(|number| format!("{} {what}", count(number)))
    };
    let done = [number(used.alloc_count, "allocations"), number(used.minor_faults, "page faults")];
    let done: Vec<String> = done.into_iter().flatten().collect();
    if done.is_empty() {
        return fine("steps allocate nothing, and their memory is there");
    }
    let is_measured = (alloc_ns == 0.0 || measured.alloc_cost_ns.is_some())
        && (fault_ns == 0.0 || measured.fault_cost_ns.is_some());
    let about = if is_measured { "at least" } else { "about" };
    let said = format!("{} a step take {about} {} of its time", done.join(" and "), percent(share));
    if share < thresholds.min_share {
        return fine(format!("{said}; limit {}", percent(thresholds.min_share)));
    }
    let Some(mut gain) = Gain::upper_bound((share * mean_ns as f64).round() as u64, mean_ns) else {
        return Err(super::no_duration());
    };
    gain = gain.estimated();
    gain.because = Some("allocating and faulting alone; what is done with cold memory comes on top".into());
    let allocates = |of: fn(&SectionMemory) -> u64| most_of_its_own(summary, of);
    // Fresh memory comes with large allocations.
    let section = match alloc_ns >= fault_ns {
        true => allocates(|memory| memory.alloc_count),
        false => most_faults(&steps).or_else(|| allocates(|memory| memory.alloc_bytes)),
    };
    // Fresh pages come with bytes, work of the allocator with blocks.
    let by: fn(&AllocatedLine) -> u64 =
        if alloc_ns >= fault_ns { |line| line.blocks } else { |line| line.bytes };
    let line = summary
        .live_memory
        .as_ref()
        .zip(section)
        .and_then(|(memory, section)| memory.allocates_most(section, by));
    let line = line.map(|(line, share)| {
        let section = names::path(line.section.as_deref().unwrap_or_default());
        format!(" About {} of what `{section}` allocates itself comes from {}.", percent(share), line.words())
    });
    Ok(vec![Finding {
        title: format!("Memory churn: {said}.{}", line.unwrap_or_default()),
        severity: gain.severity(),
        section: section.map(str::to_owned),
        evidence: Evidence::new()
            .with("churn_share", rounded(share, 6))
            .with_known("allocations_per_step", used.alloc_count.map(|value| rounded(value, 1)))
            .with_known("page_faults_per_step", used.minor_faults.map(|value| rounded(value, 1)))
            .with("allocations_per_step_ns", alloc_ns.round() as u64)
            .with("page_faults_per_step_ns", fault_ns.round() as u64)
            .with("is_cost_measured", is_measured),
        recommendation: if alloc_ns >= fault_ns {
            "Allocate once and use it again: reserve room (`with_capacity`), keep buffers between steps, use an arena, or \
             fewer and larger pieces."
                .into()
        } else {
            "Keep large buffers between steps: memory that is given back to the system is faulted in anew, page by page."
                .into()
        },
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}

/// The section of steps that allocates most of its own; of equals the first path.
fn most_of_its_own(summary: &Summary, of: impl Fn(&SectionMemory) -> u64) -> Option<&str> {
    let allocations = |row: &SectionRow| row.memory.as_ref().map_or(0, &of);
    let own = |row: &SectionRow| {
        let is_child = |other: &&SectionRow| {
            let below = other.path.strip_prefix(row.path.as_str());
            other.depth == row.depth + 1 && below.is_some_and(|rest| rest.starts_with('/'))
        };
        let nested =
            summary.sections.iter().filter(is_child).map(allocations).fold(0u64, u64::saturating_add);
        allocations(row).saturating_sub(nested)
    };
    let rows = summary.sections.iter().filter(|row| !row.in_steps.is_empty());
    let most =
        rows.map(|row| (own(row), row)).max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.path.cmp(&a.1.path)));
    most.filter(|&(own, _)| own > 0).map(|(_, row)| row.path.as_str())
}

/// The section of deep steps with most page faults; of equals the first path.
fn most_faults<'a>(steps: &Steps<'a>) -> Option<&'a str> {
    let rows = steps.summary.threads.of(steps.mode.mode)?.sections.iter().filter(|row| row.minor_faults > 0);
    let most = rows.max_by(|a, b| a.minor_faults.cmp(&b.minor_faults).then_with(|| b.path.cmp(&a.path)));
    most.map(|row| row.path.as_str())
}
