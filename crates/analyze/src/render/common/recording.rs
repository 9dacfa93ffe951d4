//! What a report says about the end of its run. No layout and no escaping.

use crate::report::{Input, Report, Run};

/// That figures end before the run did; absent where it ended in order, and for foreign input.
pub(crate) fn unended(report: &Report) -> Option<&'static str> {
    (report.run.ended == Some(false)).then_some(
        "The run did not end: what had been written is in this report; what was recorded after the last write (half \
         a second at most, in a directory) is missing and cannot be counted.",
    )
}

/// Whether offsets in a file are those of what it holds unpacked.
pub(crate) fn is_unpacked(report: &Report, file: &str) -> bool {
    let is_compressed = |input: &Input| input.format.as_deref().is_some_and(stepscope_model::is_compressed);
    report.inputs.iter().any(|input| input.path == file && is_compressed(input))
}

/// Whether the run ended in order, and at which signal.
pub(crate) fn ended_in_order(run: &Run) -> String {
    let ended = match run.ended {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    run.ended_by.map_or(ended.into(), |signal| format!("{ended}, by {signal}"))
}
