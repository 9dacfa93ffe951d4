//! Long runs, of which it is not known which steps take longer every so often: a caveat to what finds slow steps.

use crate::points::numbers;
use crate::report::finding::{Finding, Note};
use crate::report::units::count;
use crate::summary::Summary;

/// What is to know where a rule that leaves out what periodic steps take more found something, and points of the series
/// hold several steps.
pub(in crate::rules) fn note(summary: &Summary, rule: &'static str, found: &[Finding]) -> Vec<Note> {
    let series = summary.primary().and_then(|mode| summary.series_of(mode.mode));
    let Some(series) = series.filter(|series| series.shift > 0 && !found.is_empty()) else {
        return Vec::new();
    };
    let text = format!(
        "The run has so many steps that only {} of them together are told apart, so that it is not known which take longer \
         every so often: checkpoints, evaluations and the like may be a part of what `{rule}` finds.",
        count(numbers(series.shift))
    );
    vec![Note { rule, section: None, text }]
}
