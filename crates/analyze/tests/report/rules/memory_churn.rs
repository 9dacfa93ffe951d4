//! Fixtures of `memory_churn`.

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
