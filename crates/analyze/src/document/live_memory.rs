//! Live memory by line: which lines hold what is live, and since when; and why lines are not known.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cell::{Unit, bytes, code, count, float, keyed};
use super::names::printable;
use super::plot::Plot;
use super::{Block, Cell, Document, Shown, cells, palette};
use crate::live_memory::{UNKNOWN, short_function};
use crate::report::Report;
use crate::report::units::{bytes as bytes_words, count as count_words, things};
use crate::summary::{
    LiveAge, LiveBirths, LiveLine, LiveMemory, LiveModule, LiveMoment, LivePeak, SymbolState,
};

/// Lines shown briefly, and on a page.
const BRIEF: usize = 10;
const ROWS: usize = 60;
/// An age is told if it holds at least one part in so many of a line.
const TOLD_PART: u64 = 50;
/// A moment is told of its own if one part in so many more was live.
const MORE_PART: u64 = 4;
/// A stack of fewer frames was broken off early.
const SHORT: usize = 3;
/// Modules of which it is told why they have no lines.
const MODULES: usize = 3;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let Some(memory) = report.memory.as_ref().and_then(|memory| memory.sampled.as_ref()) else { return };
    if doc.is(Shown::HTML) {
        plot(report, doc);
    }
    doc.heading(Shown::ALL, "Live memory by line");
    if memory.lines.is_empty() {
        let (step, period) = (at_step(memory), bytes_words(memory.period_bytes));
        return doc.say(
            Shown::ALL,
            format!("No block that was chosen is live{step}: one in {period} is. A longer run tells."),
        );
    }
    doc.say(Shown::ALL, about(memory));
    let most = if doc.is(Shown::BRIEF) { BRIEF } else { ROWS };
    table(memory, most, doc);
    doc.more(Shown::ALL, memory.lines.len(), most, ("line", "lines"));
    peak(memory, doc);
    notes(memory, most, doc);
    graph(memory, doc);
}

/// The memory, if its moments have places among the steps.
pub(crate) fn plotted(report: &Report) -> Option<&LiveMemory> {
    let memory = report.memory.as_ref()?.sampled.as_ref()?;
    (moments(memory).len() > 1).then_some(memory)
}

/// The moments that have a step; of several of one step the last one.
pub(crate) fn moments(memory: &LiveMemory) -> Vec<&LiveMoment> {
    let mut moments: Vec<&LiveMoment> =
        memory.moments.iter().rev().filter(|moment| moment.step.is_some()).collect();
    // At the end of a run programs give back what they held: that is no course.
    moments.retain(|moment| !memory.gave_back(moment));
    moments.dedup_by_key(|moment| moment.step);
    moments.reverse();
    moments
}

/// The layers of the plot: names, classes, and bytes by moment; those that hold most lie below.
pub(crate) fn layers(memory: &LiveMemory) -> Vec<(String, String, Vec<u64>)> {
    let moments = moments(memory);
    let of =
        |bytes: &dyn Fn(&LiveMoment) -> u64| moments.iter().map(|moment| bytes(moment)).collect::<Vec<u64>>();
    let name = |section: &Option<String>| section.clone().unwrap_or_else(|| "outside of sections".into());
    let sections = moments.first().into_iter().flat_map(|moment| &moment.sections).enumerate();
    let sections = sections.map(|(at, one)| {
        let bytes = of(&|moment| moment.sections.get(at).map_or(0, |section| section.bytes));
        (name(&one.section), palette::of_layer(at), bytes)
    });
    let other = ("all others".into(), palette::HELD_OTHER.into(), of(&|moment| moment.other_bytes));
    sections.chain([other]).collect()
}

fn plot(report: &Report, doc: &mut Document) {
    let Some(memory) = plotted(report) else { return };
    let keys = layers(memory).into_iter().filter(|(.., bytes)| bytes.iter().any(|&bytes| bytes > 0));
    let keys = keys.map(|(name, class, _)| keyed(class, Cell::Slashes(name)));
    doc.plot(Plot {
        id: "sampled".into(),
        title: "Live memory by the section that allocated it, over step numbers".into(),
        heading: "Live, by section".into(),
        caption: cells![
            "Live memory by the section that allocated it, by sample: ",
            Cell::joined(keys, ", "),
            ". Taken at the ends of epochs and of the run, every minute, and when more is live than before."
        ],
    });
}

/// The flame graph of live bytes. Without scripts the table says the same of the lines.
fn graph(memory: &LiveMemory, doc: &mut Document) {
    if memory.stacks.is_empty() {
        return;
    }
    doc.heading(Shown::HTML, "Live memory by call");
    doc.add(Shown::HTML, || Block::Graph {
        id: "live",
        without: "The flame graph needs scripts; the table of lines above holds the same figures by line.",
        caption: "The wider, the more is live: sections at the top, in each the calls that led to its allocations, callers \
                  above callees (below, where that is chosen)."
            .into(),
    });
}

/// The stacks of the flame graph: names, and of each stack its bytes and the places of its names, outermost first.
pub(crate) fn calls(report: &Report) -> Option<Value> {
    let memory = report.memory.as_ref()?.sampled.as_ref()?;
    let mut names: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut place = |name: String| {
        *places.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            names.len() - 1
        })
    };
    let mut stacks: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
    for row in &memory.rows {
        let section = row.section.clone().unwrap_or_else(|| "outside of sections".into());
        let mut calls = vec![place(printable(&section))];
        calls.extend(
            row.stack.iter().flat_map(|&stack| memory.calls(stack)).map(|call| place(printable(&call))),
        );
        let sum = stacks.entry(calls).or_default();
        *sum = sum.saturating_add(row.bytes);
    }
    let stacks: Vec<Vec<u64>> = stacks
        .into_iter()
        .map(|(calls, bytes)| std::iter::once(bytes).chain(calls.into_iter().map(|at| at as u64)).collect())
        .collect();
    Some(json!({ "names": names, "stacks": stacks }))
}

fn at_step(memory: &LiveMemory) -> String {
    memory.step.map_or_else(String::new, |step| format!(" at step {}", count_words(step)))
}

/// What the table is of.
fn about(memory: &LiveMemory) -> Cell {
    let step = at_step(memory);
    let of = match (memory.processes, memory.rank) {
        (0 | 1, _) | (_, None) => String::new(),
        (_, Some(rank)) => format!(" on rank {rank}, which holds most"),
    };
    cells![
        "About ",
        bytes(memory.bytes).at("memory/sampled/bytes"),
        format!(
            " live{step}{of}, by sample: one in {} was chosen. Lines that hold most for two steps or longer come first.",
            bytes_words(memory.period_bytes)
        )
    ]
}

fn table(memory: &LiveMemory, most: usize, doc: &mut Document) {
    const ALL: Shown = Shown::ALL;
    doc.table(ALL, "Live memory by line", memory.lines.iter().take(most).enumerate())
        .at(|(at, _)| format!("memory/sampled/lines/{at}"))
        .column(ALL, "Allocated at", "", |(_, line)| place(&line.place, line.section_place.as_deref()))
        .column(ALL, "Function", "", |(_, line)| function(line.function.as_deref(), line.caller.as_deref()))
        .column(ALL, "Section", "", |(_, line)| section(line))
        .column(ALL, ">Live", "bytes", |(_, line)| bytes(line.bytes))
        .column(Shown::TABLES, ">Blocks", "blocks", |(_, line)| count(line.blocks))
        .column(Shown::TABLES, ">Older than 2 steps", "old_bytes", |(_, line)| bytes(line.old_bytes))
        .column(Shown::TABLES, ">Stays a step", "bytes_per_step", |(_, line)| {
            float(line.bytes_per_step, Unit::Bytes).or_empty()
        })
        .column(ALL, "Allocated", "", |(_, line)| Cell::Plain(births(line)))
        .end();
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

fn section(line: &LiveLine) -> Cell {
    line.section.as_deref().map_or(Cell::Raw("none".into()), super::cell::path)
}

/// When what is live was allocated.
fn births(line: &LiveLine) -> String {
    let is_told = |age: &&LiveAge| age.bytes >= line.bytes / TOLD_PART;
    let mut told = line.ages.iter().filter(is_told);
    let (youngest, oldest) = (told.clone().next(), told.next_back());
    let (Some(youngest), Some(oldest)) = (youngest, oldest) else { return String::new() };
    let end = oldest.age_steps.saturating_mul(2).max(1);
    match line.births {
        LiveBirths::Throughout => "all along".into(),
        LiveBirths::Early => format!("{}+ steps ago", count_words(youngest.age_steps)),
        LiveBirths::Recent => format!("last {}", things(end, "step", "steps")),
        LiveBirths::Unknown => {
            format!("{}–{}", count_words(youngest.age_steps), things(end, "step", "steps"))
        }
    }
}

/// When most was live, where that is more than the table has.
fn peak(memory: &LiveMemory, doc: &mut Document) {
    let is_more = |peak: &&LivePeak| peak.bytes.saturating_sub(memory.bytes) > memory.bytes / MORE_PART;
    let Some(peak) = memory.peak.as_ref().filter(is_more) else { return };
    let step = peak.step.map_or_else(String::new, |step| format!(" is of step {}", count_words(step)));
    let function = peak.function.as_deref().map(short_function);
    let function = function.map_or(Cell::Empty, |function| cells![" (", code(&function), ")"]);
    let section = peak.section.as_deref().map_or_else(
        || Cell::from(", outside of sections."),
        |section| cells![" in ", super::cell::path(section), "."],
    );
    doc.say(
        Shown::ALL,
        cells![
            format!("The snapshot with most{step}: "),
            bytes(peak.bytes).at("memory/sampled/peak/bytes"),
            " live, of which ",
            bytes(peak.line_bytes).at("memory/sampled/peak/line_bytes"),
            " was allocated at ",
            code(&peak.place),
            function,
            section
        ],
    );
}

/// What is not known, and what to do about it.
fn notes(memory: &LiveMemory, most: usize, doc: &mut Document) {
    let shown = memory.lines.iter().take(most).filter(|line| line.file.is_none());
    let named: Vec<&str> = shown.filter_map(|line| Some(line.place.rsplit_once('+')?.0)).collect();
    let without = memory.modules.iter().filter(|module| named.contains(&module.name.as_str()));
    for text in without.filter_map(without_lines).take(MODULES) {
        doc.say(Shown::ALL, text);
    }
    if memory.has_no_frame_pointers() {
        return doc.say(
            Shown::ALL,
            "The program has no frame pointers: sections and where they begin stand in for lines. Build with \
             `RUSTFLAGS=\"-C force-frame-pointers=yes\"`, and `debug = \"line-tables-only\"` in the profile.",
        );
    }
    // What starts a program has no frame pointers: that alone does no harm.
    let is_short = |line: &LiveLine| {
        let lengths = line.stacks.iter().filter_map(|&stack| memory.stacks.get(stack));
        lengths.map(Vec::len).max().is_none_or(|length| length < SHORT)
    };
    if memory.stacks_truncated > 0 && memory.lines.iter().take(most).any(is_short) {
        doc.say(
            Shown::ALL,
            format!(
                "{} could not be followed to the end: build with `-C force-frame-pointers=yes`.",
                things(memory.stacks_truncated, "stack", "stacks")
            ),
        );
    }
    let lost = memory.samples_dropped.saturating_add(memory.stacks_dropped);
    if lost > 0 {
        doc.say(
            Shown::ALL,
            format!("{} found no room: what is live is more.", things(lost, "sample", "samples")),
        );
    }
}

/// Why a module has no lines; none where it has.
fn without_lines(module: &LiveModule) -> Option<String> {
    let LiveModule { name, path, .. } = module;
    let why = match module.symbols {
        SymbolState::Lines => return None,
        SymbolState::NotLookedUp => {
            format!("Lines of `{name}` were not looked up: `stepscope analyze` does.")
        }
        SymbolState::NoLines => {
            format!("`{name}` was built without lines: set `debug = \"line-tables-only\"` in its profile.")
        }
        SymbolState::Stripped => format!(
            "`{name}` is stripped: set `strip = false` and `debug = \"line-tables-only\"` in its profile, or keep its debug \
             file."
        ),
        SymbolState::Missing => format!(
            "`{name}` is not at `{path}`, and no debug file of its build id was found: name it with `--symbols`."
        ),
        SymbolState::Differs => format!(
            "`{path}` is not the file that ran: its build id differs. Addresses stand for lines; name the one that ran with \
             `--symbols`."
        ),
        SymbolState::NoBuildId => format!(
            "`{name}` has no build id, so that `{path}` may be another one: link with `-C link-arg=-Wl,--build-id`."
        ),
        SymbolState::Unreadable => format!("`{path}` could not be read for lines."),
    };
    Some(why)
}
