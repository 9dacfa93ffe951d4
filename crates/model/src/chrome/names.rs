//! Names that are not of our vocabulary: members of the document, and how an object is known as an event.

use crate::json_cursor::Cursor;

/// Attribute of a span that was an event: its category.
pub(crate) const CATEGORY: &str = "trace_event.category";
/// Attribute of a point of a counter: which of its series.
pub(super) const SERIES: &str = "trace_event.series";
/// Member of `args` with the fields of a span of OTLP.
pub(crate) const OTLP: &str = "otlp";
/// What Kineto calls a step, before its number.
pub(crate) const PROFILER_STEP: &str = "ProfilerStep";

/// Whether `bytes`, an object or the beginning of one, is an event.
pub(crate) fn is_event(bytes: &[u8]) -> bool {
    let (mut has_phase, mut has_more) = (false, false);
    // That it ends early is expected of a beginning.
    let _ = Cursor::new(bytes).members(|cursor, key| {
        let value = bytes.get(cursor.value()?)?;
        match key {
            b"ph" => has_phase = matches!(value, [b'"', _, b'"']),
            b"ts" | b"pid" | b"tid" | b"name" | b"cat" => has_more = true,
            _ => {}
        }
        if has_phase && has_more { None } else { Some(()) }
    });
    has_phase && has_more
}
