//! The moment at which most was live, and the line that held most of it then.

use std::collections::BTreeMap;

use super::lines;
use crate::summary::{LiveMemory, LivePeak};

/// A section, and a place.
type Line<'a> = (Option<&'a str>, String);

/// The moment with most live bytes, of equals the first; none without moments.
pub(super) fn of(memory: &LiveMemory) -> Option<LivePeak> {
    let moments = memory.moments.iter().enumerate().rev();
    let (at, moment) = moments.max_by_key(|(_, moment)| moment.bytes)?;
    let mut held: BTreeMap<Line<'_>, (u64, Option<String>)> = BTreeMap::new();
    for ((section, stack), course) in &memory.courses {
        let (place, source) = lines::place(memory, *stack);
        let line = held.entry((section.as_deref(), place)).or_default();
        line.0 = line.0.saturating_add(course.get(at).map_or(0, |held| held.bytes));
        line.1 = line.1.take().or(source.function);
    }
    let ((section, place), (line_bytes, function)) =
        held.into_iter().rev().max_by_key(|(_, (bytes, _))| *bytes)?;
    Some(LivePeak {
        time_ns: moment.time_ns,
        step: moment.step,
        bytes: moment.bytes,
        section: section.map(str::to_owned),
        place,
        function,
        line_bytes,
    })
}
