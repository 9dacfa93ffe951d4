//! Memory over the steps: what there was, what sections hold, what grows.

use std::cmp::Reverse;

use super::cell::{Unit, bytes, change, code, count, float, keyed, keyed_line, number, path};
use super::names::word;
use super::plot::Plot;
use super::series::{held_series, series, together};
use super::{Cell, Document, Shown, cells, palette};
use crate::report::units::things;
use crate::report::{Memory, Report};
use crate::summary::{
    Gauge, RetainedFigures, RetainedPoint, RetainedSeries, SectionResident, SectionRow, SeriesPoint,
    StepSeries,
};

/// Processes shown briefly.
const PROCESSES: usize = 8;
/// Sections shown briefly, and on a page.
const BRIEF: usize = 5;
const ROWS: usize = 60;
/// Sections are told whose calls change resident memory by one part in so many of the most of it, and such in which it was higher
/// than at the ends of all steps by one part in so many of that.
const TOLD_PART: u64 = 100;
const HIGHER_PART: u64 = 10;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let memory = report.memory.as_ref();
    // A run without steps could have had none.
    if memory.is_none() && (!report.has_steps() || doc.is(Shown::BRIEF)) {
        return;
    }
    doc.part("memory", "Memory", "Memory");
    if doc.is(Shown::HTML) {
        plots(report, doc);
    }
    let Some(memory) = memory else { return doc.say(Shown::HTML, "Nothing about memory was recorded.") };
    doc.heading(Shown::BRIEF, "Memory at the ends of steps");
    trends(memory, doc);
    if memory.live.is_none() && memory.processes.iter().all(|process| process.live_max_bytes.is_none()) {
        doc.say(
            Shown::ALL,
            "Live memory is not recorded: add `#[global_allocator] static ALLOC: stepscope::Alloc = \
             stepscope::Alloc::system();` to the program.",
        );
    }
    if doc.is(Shown::HTML) {
        held_table(memory, doc);
    }
    processes(memory, doc);
    by_section(report, doc);
    if memory.by_section.is_some() && doc.is(Shown::MD) {
        doc.heading(Shown::MD, "Memory held by sections");
        held_table(memory, doc);
    }
    leaks(report, doc);
}

fn trends(memory: &Memory, doc: &mut Document) {
    let kinds = [("live", "Live", &memory.live), ("rss", "Resident", &memory.rss)];
    let rows = kinds.into_iter().filter_map(|(name, title, pair)| Some((name, title, pair.as_ref()?)));
    doc.table(Shown::ALL, "Memory at the ends of steps", rows)
        .at(|(name, ..)| format!("memory/{name}"))
        .column(Shown::ALL, "Memory", "", |(_, title, _)| (*title).into())
        .column(Shown::ALL, ">First", "first_bytes", |(.., pair)| bytes(pair.first_bytes))
        .column(Shown::ALL, ">Last", "last_bytes", |(.., pair)| bytes(pair.last_bytes))
        .column(Shown::ALL, ">Most", "max_bytes", |(.., pair)| bytes(pair.max_bytes))
        .column(Shown::ALL, ">A step|Growth a step", "whole/slope_per_step", |(.., pair)| {
            float(pair.whole.map(|trend| trend.slope_per_step), Unit::BytesChange)
        })
        .end();
    let processes = memory.processes.iter().filter(|process| process.is_told).count();
    if processes > 1 {
        let all = things(processes as u64, "process", "processes");
        doc.say(Shown::ALL, format!("First, last and growth are means of {all}; most is that of one."));
    }
}

fn processes(memory: &Memory, doc: &mut Document) {
    let all = memory.processes.len();
    let most = if doc.is(Shown::BRIEF) { PROCESSES } else { all };
    doc.table(Shown::ALL, "Memory of the processes", memory.processes.iter().take(most).enumerate())
        .at(|(at, _)| format!("memory/processes/{at}"))
        .column(Shown::ALL, ">Rank", "rank", |(_, row)| number(row.rank))
        .column(Shown::ALL, "Host", "", |(_, row)| code(&row.host))
        .column(Shown::HTML, ">Resident at last", "rss_last_bytes", |(_, row)| bytes(row.rss_last_bytes))
        .column(Shown::ALL, ">Resident, most seen", "rss_max_bytes", |(_, row)| bytes(row.rss_max_bytes))
        .column(Shown::HTML, ">Live at last", "live_last_bytes", |(_, row)| bytes(row.live_last_bytes))
        .column(Shown::ALL, ">Live, most seen", "live_max_bytes", |(_, row)| bytes(row.live_max_bytes))
        .column(Shown::HTML, "Over the steps", "", |(_, row)| {
            row.course.map_or(Cell::Empty, |course| Cell::Plain(course.verdict.name().replace('_', " ")))
        })
        .column(Shown::HTML, ">A step", "course/trend/slope_per_step", |(_, row)| {
            let trend = row.course.and_then(|course| course.trend);
            float(trend.map(|trend| trend.slope_per_step), Unit::BytesChange)
        })
        .end();
    doc.more(Shown::BRIEF, all, most, ("process", "processes"));
}

/// Sections in which resident memory grows, or is higher than at the ends of steps, those with most of that first.
fn by_section(report: &Report, doc: &mut Document) {
    let parts = report.sections.iter().enumerate().filter(|(_, row)| row.is_part());
    let known = parts.filter_map(|(at, row)| Some((at, row, row.resident?, row.resident?.peak_bytes?)));
    let at_ends = report.memory.as_ref().and_then(|memory| memory.rss.as_ref());
    let at_ends = at_ends.map_or(u64::MAX, |pair| pair.max_bytes);
    let above = |peak: u64| peak.saturating_sub(at_ends);
    let is_told = |&(.., resident, peak): &(usize, &SectionRow, SectionResident, u64)| {
        resident.largest_delta_bytes.unsigned_abs() >= (peak / TOLD_PART).max(1)
            || above(peak) > at_ends / HIGHER_PART
    };
    let mut rows: Vec<_> = known.filter(is_told).collect();
    let most = |resident: SectionResident, peak: u64| {
        u64::try_from(resident.largest_delta_bytes).unwrap_or(0).max(above(peak))
    };
    rows.sort_by_key(|&(at, _, resident, peak)| (Reverse(most(resident, peak)), at));
    if rows.is_empty() {
        return;
    }
    let most = if doc.is(Shown::BRIEF) { BRIEF } else { ROWS };
    doc.heading(Shown::ALL, "Resident memory by section");
    doc.say(
        Shown::ALL,
        "By sample, about every 40 ms: of calls of 50 ms and more, with what is nested and what other threads do meanwhile.",
    );
    let all = rows.len();
    doc.table(Shown::ALL, "Resident memory by section", rows.into_iter().take(most))
        .at(|(at, ..)| format!("sections/{at}/resident"))
        .column(Shown::ALL, "Section", "", |(_, row, ..)| path(&row.path))
        .column(Shown::ALL, ">Calls", "spans", |(.., resident, _)| count(resident.spans))
        .column(Shown::ALL, ">Change|Change in all calls", "delta_bytes", |(.., resident, _)| {
            change(resident.delta_bytes)
        })
        .column(Shown::ALL, ">In one|Largest change in a call", "largest_delta_bytes", |(.., resident, _)| {
            change(resident.largest_delta_bytes)
        })
        .column(Shown::ALL, ">At most|Resident at most", "peak_bytes", |(.., peak)| bytes(*peak))
        .end();
    doc.more(Shown::ALL, all, most, ("section", "sections"));
}

/// Ends and extremes of what sections hold.
fn held_table(memory: &Memory, doc: &mut Document) {
    let Some(held) = &memory.by_section else { return };
    let is_page = doc.is(Shown::HTML);
    let classes = classes(held);
    let mut rows: Vec<(Cell, String, &RetainedFigures)> = Vec::new();
    for (at, (section, class)) in held.sections.iter().zip(classes).enumerate() {
        let inside = if section.includes_nested { " with all inside" } else { "" };
        let name = if is_page { Cell::Path(section.path.clone()) } else { code(&section.path) };
        rows.push((keyed_line(class, cells![name, inside]), format!("sections/{at}"), &section.figures));
    }
    rows.push((keyed_line(palette::HELD_OTHER, "all others"), "other".into(), &held.other));
    rows.push((keyed_line(palette::HELD, "all sections"), "total".into(), &held.total));
    doc.table(Shown::TABLES, "Memory that sections hold", rows)
        .at(|(_, place, _)| format!("memory/by_section/{place}"))
        .column(Shown::TABLES, "Section", "", |(name, ..)| name.clone())
        .column(Shown::TABLES, ">First|After the first point", "first_bytes", |row| change(row.2.first_bytes))
        .column(Shown::TABLES, ">Last|After the last", "last_bytes", |row| change(row.2.last_bytes))
        .column(Shown::TABLES, ">Peak|Farthest from zero", "peak_bytes", |row| change(row.2.peak_bytes))
        .column(Shown::TABLES, ">At step", "peak_step", |row| count(row.2.peak_step))
        .end();
}

fn leaks(report: &Report, doc: &mut Document) {
    let grows = |value: f64| float(value, Unit::BytesChange);
    doc.table(Shown::HTML, "Memory that grows", report.leaks.iter().enumerate())
        .at(|(at, _)| format!("leaks/{at}"))
        .column(Shown::HTML, "Section", "", |(_, leak)| {
            super::cell::code_or(leak.section.as_deref(), "no single section".into())
        })
        .column(Shown::HTML, "Verdict", "", |(_, leak)| Cell::Plain(word(&leak.verdict)))
        .column(Shown::HTML, ">A step", "bytes_per_step", |(_, leak)| grows(leak.bytes_per_step))
        .column(Shown::HTML, ">At least (95 %)", "confidence_interval/0", |(_, leak)| {
            grows(leak.confidence_interval.0)
        })
        .column(Shown::HTML, ">At most (95 %)", "confidence_interval/1", |(_, leak)| {
            grows(leak.confidence_interval.1)
        })
        .column(Shown::HTML, ">Memory at the end", "live_bytes", |(_, leak)| bytes(leak.live_bytes))
        .end();
}

fn plots(report: &Report, doc: &mut Document) {
    let Some((at, series)) = series(report) else { return };
    let is_known =
        |gauge: fn(&SeriesPoint) -> Option<Gauge>| series.points.iter().any(|point| gauge(point).is_some());
    let figures = [
        ("Resident", palette::RESIDENT, is_known(|point| point.rss_bytes)),
        ("Live", palette::LIVE, is_known(|point| point.live_bytes)),
    ];
    let keys = figures.into_iter().filter(|(.., is_known)| *is_known);
    let keys: Vec<Cell> = keys.map(|(label, class, _)| keyed(class, label)).collect();
    if !keys.is_empty() {
        doc.plot(Plot {
            id: "memory".into(),
            title: "Memory at the ends of steps, over step numbers".into(),
            heading: "At the ends of steps".into(),
            caption: cells![
                "Memory at the ends of steps: ",
                Cell::joined(keys, ", "),
                ". Live is what the program allocated and did not free; resident is what the system gave it.",
                peak(at, series)
            ],
        });
    } else if report.memory.is_some() {
        doc.say(Shown::HTML, "No step says how much memory there was.");
    }
    if let Some(held) = held_series(report) {
        doc.plot(held_plot(report, held));
    }
}

/// Where most memory was, with a link that moves the cursor of all plots there.
fn peak(at: usize, series: &StepSeries) -> Cell {
    type Figure = fn(&SeriesPoint) -> Option<Gauge>;
    let live: Figure = |point| point.live_bytes;
    let figures = [("live_bytes", "live", live), ("rss_bytes", "resident", |point| point.rss_bytes)];
    let most = |gauge: Figure| {
        let known = series.points.iter().enumerate().filter_map(|(n, point)| Some((gauge(point)?.max, n)));
        // Of equals the first.
        known.rev().max_by_key(|&(max, _)| max)
    };
    let found = figures.into_iter().find_map(|(name, word, gauge)| Some((name, word, most(gauge)?)));
    let Some((name, word, (max, n))) = found else { return Cell::Empty };
    let Some(point) = series.points.get(n) else { return Cell::Empty };
    let place = format!("detailed_metrics/series/{at}/points/{n}");
    let step = cells!["at step ", count(point.step).at(format!("{place}/step"))];
    let does = ("look", point.step.to_string());
    cells![
        format!(" There most {word} memory was "),
        Cell::Link { to: "plot-memory", does, cell: Box::new(step) },
        ": ",
        bytes(max).at(format!("{place}/{name}/max")),
        "."
    ]
}

/// The looks of the sections' lines.
fn classes(held: &RetainedSeries) -> Vec<String> {
    palette::of_sections(&held.sections.iter().map(|section| section.path.as_str()).collect::<Vec<_>>())
}

/// The lines of what sections hold: names, classes, and bytes by point; those that hold least come first and lie below.
pub(crate) fn held_lines(held: &RetainedSeries) -> Vec<(String, String, Vec<i64>)> {
    let of = |bytes: &dyn Fn(&RetainedPoint) -> i64| held.points.iter().map(bytes).collect::<Vec<i64>>();
    let mut lines = vec![
        ("All sections".to_owned(), palette::HELD.to_owned(), of(&|point| point.retained_bytes)),
        ("All others".to_owned(), palette::HELD_OTHER.to_owned(), of(&|point| point.other_bytes)),
    ];
    let sections = held.sections.iter().zip(classes(held)).enumerate().rev();
    lines.extend(sections.map(|(at, (section, class))| {
        let inside = if section.includes_nested { ", with all inside" } else { "" };
        let bytes = of(&|point| point.sections.get(at).copied().unwrap_or(0));
        (format!("{}{inside}", section.path), class, bytes)
    }));
    lines
}

fn held_plot(report: &Report, held: &RetainedSeries) -> Plot {
    let keys = held_lines(held).into_iter().rev();
    let keys = keys.map(|(label, class, _)| keyed_line(class, Cell::Slashes(label)));
    let mut caption = vec![
        "Memory that sections hold: allocated by them and not freed by them since the run began. ".into(),
        Cell::joined(keys, ", "),
        ". Where one rises and all together stay level, others free what it allocates, and fall. What other threads do is at \
         the step in which it ended."
            .into(),
    ];
    if report.summary.coverage.partly_read().is_some() {
        caption.push(" Only steps that were read count.".into());
    }
    if !held.excluded.is_empty() {
        let paths = held.excluded.iter().map(|path| Cell::Path(path.clone()));
        let paths = Cell::joined(paths, ", ");
        caption.push(cells![" Not told, because steps or batches may be inside: ", paths, "."]);
    }
    caption.push(together(held.shift).into());
    Plot {
        id: "held".into(),
        title: "Memory that sections hold, over step numbers".into(),
        heading: "Held by sections".into(),
        caption: Cell::Row(caption),
    }
}
