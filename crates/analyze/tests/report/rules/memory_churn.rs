//! Fixtures of `memory_churn`.

use stepscope_analyze::summary::{AllocatedLine, LiveMemory};
use stepscope_core::ThreadState;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::planted::{OWN, Planted};

const RULE: &str = "memory_churn";

#[test]
fn many_allocations_are_found_at_the_measured_cost() {
    let planted = Planted { allocations: 20_000, costs: Some((60, 500)), ..Planted::default() };
    let [finding] = found(RULE, &planted.run(|_| vec![(OWN, ThreadState::Running, 0)])).try_into().unwrap();
    // 20,000 × 60 ns of 10 ms.
    assert_eq!(finding.title, "Memory churn: 20,000 allocations a step take at least 12 % of its time.");
    assert_eq!(finding.severity, 12.0);
    assert_eq!(finding.predicted_gain.unwrap().method.as_str(), "about");
}

#[test]
fn the_line_that_allocates_most_in_the_section_is_named() {
    let mut summary = healthy().allocates(20_000.0, 0.0).leaves("step/forward", 0).build();
    let line = |section: &str, place: &str, blocks| AllocatedLine {
        section: Some(section.into()),
        place: place.into(),
        function: Some("trainer::model::Layer::apply".into()),
        bytes: 9 << 20,
        blocks,
        ..AllocatedLine::default()
    };
    let forward = "step/forward";
    let allocated = vec![
        line(forward, "src/a.rs:1", 250),
        line("step", "src/c.rs:1", 9_000),
        line(forward, "src/b.rs:7", 750),
    ];
    let mut memory = LiveMemory::default();
    (memory.period_bytes, memory.allocated) = (1 << 20, allocated);
    summary.live_memory = Some(memory);
    let [finding] = found(RULE, &summary).try_into().unwrap();
    let said = " About 75 % of what `step/forward` allocates itself comes from src/b.rs:7 (Layer::apply).";
    assert!(finding.title.ends_with(said), "{}", finding.title);
    assert_eq!(finding.section.as_deref(), Some(forward));
}

#[test]
fn where_the_cost_was_not_measured_it_is_about() {
    let [finding] = found(RULE, &healthy().allocates(20_000.0, 5_000.0).build()).try_into().unwrap();
    let title = "Memory churn: 20,000 allocations and 5,000 page faults a step take about 28 % of its time.";
    assert_eq!(finding.title, title);
    assert!(finding.recommendation.starts_with("Keep large buffers"), "{}", finding.recommendation);
}

#[test]
fn fine_names_the_figures_and_without_them_it_is_unknown() {
    let because = "120 allocations and 3 page faults a step take about 0.06 % of its time; limit 5.0 %";
    assert_eq!(fine(RULE, &healthy().build()), because);
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs allocations"));
}
