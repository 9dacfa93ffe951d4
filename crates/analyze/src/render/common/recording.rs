//! What a report on a run that did not end says about its end. No layout and no escaping.

use crate::report::Report;

/// That figures end before the run did; absent where it ended in order, and for foreign input.
pub(crate) fn unended(report: &Report) -> Option<&'static str> {
    (report.run.ended == Some(false)).then_some(
        "The run did not end: what had been written is in this report; what was recorded after the last write (half \
         a second at most, in a directory) is missing and cannot be counted.",
    )
}
