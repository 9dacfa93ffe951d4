//! Long runs, of which it is not known which steps take longer every so often: a caveat to what finds slow steps.

use crate::points::numbers;
use crate::report::units::count;
use crate::report::{Bottleneck, Note};
use crate::summary::Summary;

/// Rules that leave out what periodic steps take more.
const LEAVE_OUT: [&str; 2] = ["slow_calls", "step_jitter"];

/// What is to know where one of these found something, and points of the series hold several steps.
pub(crate) fn note(summary: &Summary, found: &[Bottleneck]) -> Option<Note> {
    let series = summary.series_of(summary.primary()?.mode).filter(|series| series.shift > 0)?;
    let finding = found.iter().find(|finding| LEAVE_OUT.contains(&finding.rule))?;
    let text = format!(
        "The run has so many steps that only {} of them together are told apart, so that it is not known which take longer \
         every so often: checkpoints, evaluations and the like may be a part of what `{}` finds.",
        count(numbers(series.shift)),
        finding.rule
    );
    Some(Note { rule: finding.rule, section: None, text })
}
