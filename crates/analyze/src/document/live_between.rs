//! What grew in live bytes between two steps that were asked for: a sentence that names the snapshots, and a table of lines; and
//! how places and functions of lines are said.

use super::cell::{bytes, change, code};
use super::{Cell, Document, Shown, cells};
use crate::live_memory::{UNKNOWN, short_function};
use crate::report::units::{bytes as bytes_words, count as count_words};
use crate::summary::LiveMemory;

/// Lines shown briefly, and on a page.
const BRIEF: usize = 10;
const ROWS: usize = 60;

pub(super) fn fill(memory: &LiveMemory, doc: &mut Document) {
    const ALL: Shown = Shown::ALL;
    let Some(between) = &memory.between else { return };
    let step = count_words;
    let (from, to) = (&between.from, &between.to);
    doc.heading(
        ALL,
        format!("Live memory between steps {} and {}", step(from.asked_step), step(to.asked_step)),
    );
    let at = "memory/sampled/between";
    doc.say(
        ALL,
        cells![
            change(between.change_bytes).at(format!("{at}/change_bytes")),
            " from ",
            bytes(from.bytes).at(format!("{at}/from/bytes")),
            format!(" at step {} to ", step(from.step)),
            bytes(to.bytes).at(format!("{at}/to/bytes")),
            format!(
                " at step {}, the snapshots nearest to these steps. By sample: changes of a few {} can be chance.",
                step(to.step),
                bytes_words(memory.period_bytes)
            )
        ],
    );
    let most = if doc.is(Shown::BRIEF) { BRIEF } else { ROWS };
    doc.table(ALL, "What grew, by line", between.lines.iter().take(most).enumerate())
        .at(|(row, _)| format!("{at}/lines/{row}"))
        .column(ALL, "Allocated at", "", |(_, line)| place(&line.place, line.section_place.as_deref()))
        .column(ALL, "Function", "", |(_, line)| function(line.function.as_deref(), line.caller.as_deref()))
        .column(ALL, "Section", "", |(_, line)| {
            line.section.as_deref().map_or(Cell::Raw("none".into()), super::cell::path)
        })
        .column(ALL, ">Change", "change_bytes", |(_, line)| change(line.change_bytes))
        .column(ALL, ">First", "from_bytes", |(_, line)| bytes(line.from_bytes))
        .column(ALL, ">Then", "to_bytes", |(_, line)| bytes(line.to_bytes))
        .end();
    doc.more(ALL, between.lines.len(), most, ("line", "lines"));
}

/// The function, and of a helper who calls it.
pub(super) fn function(function: Option<&str>, caller: Option<&str>) -> Cell {
    let Some(function) = function.map(short_function) else { return Cell::Empty };
    match caller {
        Some(caller) => cells![code(&function), " by ", code(caller)],
        None => code(&function),
    }
}

/// The line; where that is not known, where the section begins.
pub(super) fn place(place: &str, section_place: Option<&str>) -> Cell {
    match section_place {
        Some(begins) if place == UNKNOWN => cells!["below ", code(begins)],
        _ => code(place),
    }
}
