//! What grew in live bytes between two steps that were asked for: a sentence that names the snapshots, and a table of lines.

use super::cell::{bytes, change};
use super::live_memory::{function, place};
use super::{Cell, Document, Shown, cells};
use crate::report::Report;
use crate::report::units::{bytes as bytes_words, count as count_words};

/// Lines shown briefly, and on a page.
const BRIEF: usize = 10;
const ROWS: usize = 60;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    const ALL: Shown = Shown::ALL;
    let Some(memory) = report.memory.as_ref().and_then(|memory| memory.sampled.as_ref()) else { return };
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
