//! The critical path: what held up the end of the steps, what had room beside it, what waits for batches were for.

use super::cell::{bar, count, ns, path, share};
use super::names::named_path;
use super::palette::STEP;
use super::{Cell, Document, Kind, Row, Shown, Tone, cells};
use crate::report::Report;
use crate::report::units::{duration, percent, things};
use crate::summary::{CriticalPath, CriticalSection, ThroughBatches, WaitParts};

/// Sections shown: briefly, beside the path on a terminal, on a page.
const BRIEF: usize = 8;
const BESIDE: usize = 3;
const ROWS: usize = 30;
const NAME: usize = 46;
/// Share below which a terminal leaves a section out.
const SMALL: f64 = 0.005;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if report.critical_path.is_some() || doc.is(Shown::HTML) {
        doc.part("critical", "Critical path", "Critical path");
    }
    let Some(critical) = &report.critical_path else {
        return doc.say(Shown::HTML, "No step was read with all its sections.");
    };
    let has_warmup = critical.mode.is_some() && report.summary.warmup_steps > 0;
    match doc.is(Shown::TEXT) {
        true => lines(critical, has_warmup, doc),
        false => tables(critical, has_warmup, doc),
    }
    if let Some(waits) = &critical.waits {
        fill_waits(waits, doc);
    }
    if let Some(text) = critical.through_batches.as_ref().and_then(through_batches) {
        doc.say(Shown::TEXT, text.clone());
        doc.say(Shown::TABLES, cells!["On the path ", text, "."]);
    }
}

/// Whose critical paths are told. Steps are alike, and stand for one; traces may be of anything, and are told all together.
fn held_up(critical: &CriticalPath) -> Cell {
    if critical.mode.is_none() && critical.windows > 1 {
        cells!["the ends of ", count(critical.windows).at("critical_path/windows"), " traces"]
    } else {
        format!("the end of the {}", critical.window).into()
    }
}

fn tables(critical: &CriticalPath, has_warmup: bool, doc: &mut Document) {
    let warmup = if has_warmup { ", warm-up included" } else { "" };
    doc.heading(Shown::MD, cells!["Critical path: what held up ", held_up(critical), warmup]);
    let rest = match critical.mode {
        Some(_) => "the rest is time of the step itself, in no section",
        None => "the roots of the traces are among these",
    };
    let warmup = if has_warmup { " Warm-up is included." } else { "" };
    doc.say(
        Shown::HTML,
        cells![
            "What held up ",
            held_up(critical),
            ": of ",
            ns(critical.total_ns).at("critical_path/total_ns"),
            " in all, ",
            share(critical.explained_share).at("critical_path/explained_share"),
            format!(" is explained by sections; {rest}.{warmup}")
        ],
    );
    let is_page = doc.is(Shown::HTML);
    let on_path = critical.sections.iter().filter(|row| row.on_path_ns > 0).count();
    let shown = critical.sections.iter().enumerate().filter(|(_, row)| is_page || row.on_path_ns > 0);
    let shown: Vec<(usize, &CriticalSection)> = shown.take(if is_page { ROWS } else { BRIEF }).collect();
    let is_alone = shown.iter().all(|(_, row)| row.slack_mean_ns.is_none() && row.beside_calls == 0);
    let (caption, beside) = match is_alone {
        true => ("Sections on the critical path", Shown::NONE),
        false => ("Sections on the critical path and beside it", Shown::HTML),
    };
    let other = ["(in no section)".into(), Cell::Empty, ns(critical.other_ns)];
    doc.table(Shown::TABLES, caption, shown)
        .at(|(at, _)| format!("critical_path/sections/{at}"))
        .column(Shown::TABLES, "Section", "", |(_, row)| path(&row.path))
        .column(Shown::HTML, "On the path", "", |(_, row)| bar(row.share, STEP))
        .column(Shown::TABLES, ">Share", "share", |(_, row)| share(row.share))
        .column(Shown::TABLES, ">On the path|Time", "on_path_ns", |(_, row)| ns(row.on_path_ns))
        .column(Shown::TABLES, ">Calls on it", "on_path_calls", |(_, row)| count(row.on_path_calls))
        .column(beside, ">Calls beside it", "beside_calls", |(_, row)| count(row.beside_calls))
        .column(Shown::MD, ">Room of the others, mean", "", |(_, row)| ns(row.slack_mean_ns))
        .column(beside, ">Room, mean", "slack_mean_ns", |(_, row)| ns(row.slack_mean_ns))
        .column(beside, ">Room, least", "slack_min_ns", |(_, row)| ns(row.slack_min_ns))
        .rest(!is_page && critical.other_ns > 0, Row { cells: other.into(), ..Row::default() })
        .end();
    doc.more(Shown::MD, on_path, BRIEF, ("", "sections on the path"));
}

fn lines(critical: &CriticalPath, has_warmup: bool, doc: &mut Document) {
    // Of steps times are means; of traces, which may be of anything, sums.
    let (divisor, sum) = match critical.mode {
        None if critical.windows > 1 => (1, format!(", {} in all", duration(critical.total_ns))),
        _ => (critical.windows.max(1), String::new()),
    };
    let warmup = if has_warmup { "; warm-up included" } else { "" };
    let title = cells!["Critical path (what held up ", held_up(critical), format!("{sum}{warmup})")];
    doc.heading(Shown::TEXT, title);
    let large = critical.sections.iter().filter(|row| row.share >= SMALL).take(BRIEF);
    let large: Vec<(String, f64, u64)> =
        large.map(|row| (named_path(&row.path), row.share, row.on_path_ns)).collect();
    let shown = large.len();
    let table = |doc: &mut Document, rows: Vec<(String, f64, u64)>| {
        doc.table(Shown::TEXT, "", rows)
            .indented()
            .text("", Kind::Words, NAME + 2, |(name, ..)| Cell::Plain(name.clone()))
            .text("", Kind::Figures, 8, |(_, part, _)| share(*part))
            .text("", Kind::Figures, 10, |(.., all_ns)| ns(all_ns / divisor))
            .end();
    };
    table(doc, large);
    let on_path = critical.sections.iter().filter(|row| row.on_path_ns > 0).count();
    if shown == 0 && on_path > 0 {
        let sections = things(on_path as u64, "section", "sections");
        let small = percent(SMALL);
        doc.line(Tone::Dim, format!("  {sections}, each for less than {small} (--format json has them all)"));
    } else {
        doc.more(Shown::TEXT, on_path, shown, ("section", "sections"));
    }
    let other = 1.0 - critical.explained_share;
    if other >= SMALL {
        let name = format!("(the {} itself, in no section)", critical.window);
        table(doc, vec![(name, other, critical.other_ns)]);
    }
    beside(critical, doc);
}

/// Sections that were never on the path and had room worth telling, those with least first.
fn beside(critical: &CriticalPath, doc: &mut Document) {
    let mut rows: Vec<(u64, &CriticalSection)> = critical
        .sections
        .iter()
        .filter(|row| row.on_path_calls == 0)
        .filter_map(|row| Some((row.slack_mean_ns?, row)))
        .filter(|(slack_ns, row)| {
            slack_ns.saturating_mul(row.beside_calls) as f64 >= SMALL * critical.total_ns as f64
        })
        .collect();
    rows.sort_by(|a, b| (a.0, &a.1.path).cmp(&(b.0, &b.1.path)));
    for (slack_ns, row) in rows.into_iter().take(BESIDE) {
        let text = format!("{} (could end {} later on average)", named_path(&row.path), duration(slack_ns));
        doc.lead(Shown::TEXT, Tone::Dim, "  beside it: ", Cell::Plain(text));
    }
}

fn fill_waits(parts: &WaitParts, doc: &mut Document) {
    let total_ns =
        parts.not_started_ns.saturating_add(parts.in_production_ns).saturating_add(parts.in_transit_ns);
    let named = [
        (parts.in_production_ns, "its batch was being made"),
        (parts.not_started_ns, "its loader had not begun it"),
        (parts.in_transit_ns, "it was made and on its way"),
    ];
    let said: Vec<String> = named
        .iter()
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, what)| format!("{} {what}", percent(*ns as f64 / total_ns as f64)))
        .collect();
    let waits = things(parts.waits, "wait", "waits");
    if !said.is_empty() {
        doc.say(Shown::TEXT, format!("of the time of {waits} for a batch: {}", said.join("; ")));
    }
    let said = named.map(|(ns, what)| format!("{} {what}", duration(ns))).join(", ");
    doc.say(Shown::MD, format!("{waits} for a batch: {said}."));
    doc.say(
        Shown::HTML,
        cells![
            "Waits for batches: ",
            count(parts.waits).at("critical_path/waits/waits"),
            ". For ",
            ns(parts.in_production_ns).at("critical_path/waits/in_production_ns"),
            " the batch was being made, for ",
            ns(parts.not_started_ns).at("critical_path/waits/not_started_ns"),
            " its loader had not begun it, for ",
            ns(parts.in_transit_ns).at("critical_path/waits/in_transit_ns"),
            " it was made and on its way."
        ],
    );
}

/// What the waits on the path that link to their batch were for, a sentence without its stop; nothing where they take no
/// time. An estimated figure is said to be one.
fn through_batches(through: &ThroughBatches) -> Option<Cell> {
    let (about, drawn) = match through.is_exact {
        true => ("", ""),
        false => ("about ", " (estimated from a sample of the traces)"),
    };
    let linked = ns(through.linked_ns).at("critical_path/through_batches/linked_ns");
    let making = ns(through.in_production_ns).at("critical_path/through_batches/in_production_ns");
    let what = match through.in_production_ns {
        0 => {
            cells!["; meanwhile no section of a loader was making it, so that the wait keeps the time", drawn]
        }
        _ => cells![
            format!("; for {about}"),
            making,
            " of that, sections of a loader were making the batch, and have the time instead of the wait",
            drawn
        ],
    };
    (through.linked_ns > 0).then(|| cells!["waits that link to their batch take ", linked, what])
}
