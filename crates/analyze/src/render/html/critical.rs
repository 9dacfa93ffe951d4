//! The critical path: what held up the end of the steps, what had room beside it, what waits for batches were for.

use super::page::{close, count, ns, open, paragraph, path, share, table};
use super::palette::STEP;
use super::svg;
use crate::render::common::hedge;
use crate::render::common::names::named_path;
use crate::render::common::windows::held_up;
use crate::report::Report;
use crate::summary::{CriticalPath, CriticalSection};

/// Sections shown; the tables of the CSV report have all.
const ROWS: usize = 30;

pub(super) fn render(report: &Report, out: &mut String) {
    open("critical", "Critical path", out);
    let Some(critical) = &report.critical_path else {
        paragraph("No step was read with all its sections.", out);
        return close(out);
    };
    let has_warmup = critical.mode.is_some() && report.summary.warmup_steps > 0;
    let warmup = if has_warmup { " Warm-up is included." } else { "" };
    let rest = match critical.mode {
        Some(_) => "the rest is time of the step itself, in no section",
        None => "the roots of the traces are among these",
    };
    paragraph(
        &format!(
            "What held up {}: of {} in all, {} is explained by sections; {rest}.{warmup}",
            held_up(critical, &count("critical_path/windows", critical.windows)),
            ns("critical_path/total_ns", critical.total_ns),
            share("critical_path/explained_share", critical.explained_share),
        ),
        out,
    );
    sections(critical, out);
    if let Some(waits) = &critical.waits {
        paragraph(
            &format!(
                "Waits for batches: {}. For {} the batch was being made, for {} its loader had not begun it, for {} it was \
                 made and on its way.",
                count("critical_path/waits/waits", waits.waits),
                ns("critical_path/waits/making_ns", waits.making_ns),
                ns("critical_path/waits/behind_ns", waits.behind_ns),
                ns("critical_path/waits/handover_ns", waits.handover_ns)
            ),
            out,
        );
    }
    if let Some(through) = &critical.through_batches {
        let linked = ns("critical_path/through_batches/linked_ns", through.linked_ns);
        let making = ns("critical_path/through_batches/making_ns", through.making_ns);
        if let Some(text) = hedge::through_batches(through, &linked, &making) {
            paragraph(&format!("On the path {text}."), out);
        }
    }
    close(out);
}

/// What is on the path; what room there is beside it, where there are calls that have any.
fn sections(critical: &CriticalPath, out: &mut String) {
    let shown = || critical.sections.iter().enumerate().take(ROWS);
    let common = |(at, row): (usize, &CriticalSection)| {
        let cells = [
            path(&named_path(&row.path)),
            svg::bar(row.share, STEP),
            share("", row.share),
            ns("", row.on_path_ns),
            count("", row.on_path_calls),
        ];
        (format!("critical_path/sections/{at}"), cells)
    };
    let columns = [
        ("Section", ""),
        ("On the path", ""),
        (">Share", "share"),
        (">Time", "on_path_ns"),
        (">Calls on it", "on_path_calls"),
    ];
    if shown().all(|(_, row)| row.slack_mean_ns.is_none() && row.beside_calls == 0) {
        return table("Sections on the critical path", columns, shown().map(common), out);
    }
    let rows = shown().map(|(at, row)| {
        let (place, [name, bar, share, time, calls]) = common((at, row));
        let beside = count("", row.beside_calls);
        let mean = ns("", row.slack_mean_ns);
        let least = ns("", row.slack_min_ns);
        (place, [name, bar, share, time, calls, beside, mean, least])
    });
    let [name, bar, share, time, calls] = columns;
    let beside = (">Calls beside it", "beside_calls");
    let [mean, least] = [(">Room, mean", "slack_mean_ns"), (">Room, least", "slack_min_ns")];
    let columns = [name, bar, share, time, calls, beside, mean, least];
    table("Sections on the critical path and beside it", columns, rows, out);
}
