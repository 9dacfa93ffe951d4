//! The critical path: what held up the end of the steps, what had slack beside it, what waits for batches were for.

use super::cell::{bar, count, ns, path, share};
use super::names::named_path;
use super::palette::STEP;
use super::{Cell, Document, Row, Shown, Tone, cells};
use crate::report::Report;
use crate::report::units::duration;
use crate::summary::{CriticalPath, CriticalSection, ThroughBatches, WaitParts};

/// Sections shown: briefly, beside the path, on a page.
const BRIEF: usize = 8;
const BESIDE: usize = 3;
const ROWS: usize = 30;
/// Share of the time below which a section beside the path is left out.
const SMALL: f64 = 0.005;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if report.critical_path.is_some() || doc.is(Shown::HTML) {
        doc.part("critical", "Critical path", "Critical path");
    }
    let Some(critical) = &report.critical_path else {
        return doc.say(Shown::HTML, "No step was read with all its sections.");
    };
    doc.heading(Shown::BRIEF, "Critical path");
    table(critical, critical.mode.is_some() && report.summary.warmup_steps > 0, doc);
    if let Some(waits) = &critical.waits {
        fill_waits(waits, doc);
    }
    if let Some(text) = critical.through_batches.as_ref().and_then(through_batches) {
        doc.say(Shown::ALL, cells!["On the path ", text, "."]);
    }
}

/// Whose critical paths are told. Steps are alike, and stand for one; traces may be of anything, and are told all together.
fn ends(critical: &CriticalPath) -> Cell {
    if critical.mode.is_none() && critical.windows > 1 {
        cells!["the ends of ", count(critical.windows).at("critical_path/windows"), " traces"]
    } else {
        format!("the end of the {}", critical.window).into()
    }
}

fn table(critical: &CriticalPath, has_warmup: bool, doc: &mut Document) {
    let rest = match critical.mode {
        Some(_) => "the rest is time of the step itself, in no section",
        None => "the roots of the traces are among these",
    };
    let warmup = if has_warmup { " Warm-up is included." } else { "" };
    doc.say(
        Shown::ALL,
        cells![
            "What held up ",
            ends(critical),
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
    let (caption, beside, brief) = match is_alone {
        true => ("Sections on the critical path", Shown::NONE, Shown::NONE),
        false => ("Sections on the critical path and beside it", Shown::HTML, Shown::ALL),
    };
    // Of steps times are means, of traces sums.
    let divisor = if critical.mode.is_some() { critical.windows.max(1) } else { 1 };
    let a_step = if critical.mode.is_some() { Shown::BRIEF } else { Shown::NONE };
    let mut other = vec!["(in no section)".into(), share(1.0 - critical.explained_share)];
    other.extend(doc.is(a_step).then(|| ns(critical.other_ns / divisor)));
    other.push(ns(critical.other_ns));
    doc.table(Shown::ALL, caption, shown)
        .at(|(at, _)| format!("critical_path/sections/{at}"))
        .column(Shown::ALL, "Section", "", |(_, row)| path(&row.path))
        .column(Shown::HTML, "On the path", "", |(_, row)| bar(row.share, STEP))
        .column(Shown::ALL, ">Share", "share", |(_, row)| share(row.share))
        .column(a_step, ">A step", "", |(_, row)| ns(row.on_path_ns / divisor))
        .column(Shown::ALL, ">In all|Time", "on_path_ns", |(_, row)| ns(row.on_path_ns))
        .column(Shown::ALL, ">Calls on it", "on_path_calls", |(_, row)| count(row.on_path_calls))
        .column(beside, ">Calls beside it", "beside_calls", |(_, row)| count(row.beside_calls))
        .column(brief, ">Slack, mean", "slack_mean_ns", |(_, row)| ns(row.slack_mean_ns))
        .column(beside, ">Slack, least", "slack_min_ns", |(_, row)| ns(row.slack_min_ns))
        .rest(!is_page && critical.other_ns > 0, Row { cells: other, ..Row::default() })
        .end();
    doc.more(Shown::BRIEF, on_path, BRIEF, ("section on the path", "sections on the path"));
    beside_path(critical, doc);
}

/// Sections that were never on the path and had slack worth telling, those with least first.
fn beside_path(critical: &CriticalPath, doc: &mut Document) {
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
        doc.lead(Shown::BRIEF, Tone::Dim, "  Beside it: ", Cell::Plain(text));
    }
}

fn fill_waits(parts: &WaitParts, doc: &mut Document) {
    doc.say(
        Shown::ALL,
        cells![
            "Waits for batches: ",
            count(parts.waits).at("critical_path/waits/waits"),
            ". The batch was in production for ",
            ns(parts.in_production_ns).at("critical_path/waits/in_production_ns"),
            ", not started for ",
            ns(parts.not_started_ns).at("critical_path/waits/not_started_ns"),
            ", in transit for ",
            ns(parts.in_transit_ns).at("critical_path/waits/in_transit_ns"),
            "."
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
