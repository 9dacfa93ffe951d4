//! What spans of ours are meant to cost at most. On a slower machine more is no fault of theirs: it is said, and nothing fails.

/// With the allocation figures of `--features mem`, or without.
const WITH_MEMORY: bool = cfg!(feature = "mem");

/// CPU time of the thread for a span, nanoseconds.
pub(crate) fn time_ns(case: &str) -> Option<f64> {
    match case {
        "layer_3" => Some(300.0),
        "layer_log_3" => Some(400.0),
        "root_3" => Some(130.0),
        "times_0" => Some(30.0),
        "section_3" => Some(if WITH_MEMORY { 90.0 } else { 60.0 }),
        _ => None,
    }
}

/// Instructions of the thread for a span.
pub(crate) fn instructions(case: &str) -> Option<f64> {
    (case == "layer_3").then_some(1_650.0)
}

/// CPU time of the process for a span that has arrived, nanoseconds.
pub(crate) fn delivered_ns(sender: &str) -> Option<f64> {
    (sender == "layer_3").then_some(900.0)
}

/// Whose spans are to take how many times what those of ours take that have arrived, at least.
pub(crate) const OURS: &str = "layer_3";
pub(crate) const THEIRS: &str = "otel_3";
pub(crate) const TIMES: f64 = 6.0;

/// As [`told`], of what is to be no less.
pub(crate) fn told_at_least(is: f64, aim: f64) -> String {
    format!("   aim {aim}: {}", if is >= aim { "reached" } else { "missed" })
}

/// Words for the end of a line: what was meant, and whether that is so.
pub(crate) fn told(is: f64, aim: Option<f64>) -> String {
    let word = |aim| if is <= aim { "reached" } else { "missed" };
    aim.map_or_else(String::new, |aim| format!("   aim {aim}: {}", word(aim)))
}
