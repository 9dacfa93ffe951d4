//! Where the time goes, the largest sections, the slowest steps, memory.

use super::page::{Page, code, known, prose};
use crate::render::common::names::named_path;
use crate::render::common::windows::held_up;
use crate::render::common::{changes, hedge, periods};
use crate::report::Report;
use crate::report::names;
use crate::report::units::{bytes, count, duration, every_step, percent, signed_bytes, things};
use crate::summary::SectionRow;

/// Sections shown: those with the longest total.
const SECTIONS: usize = 20;
/// Sections of the critical path shown.
const CRITICAL: usize = 8;
/// Slow steps shown.
const STEPS: usize = 5;
/// Phases named of a slow step.
const PHASES: usize = 3;

pub(super) fn phases(report: &Report, page: &mut Page) {
    let summary = &report.summary;
    if !summary.phase_sums.is_empty() {
        page.heading(3, "Where the step time goes");
        let rows = summary.phase_sums.iter().map(|row| {
            [
                row.phase.as_ref().map_or_else(|| "(no phase)".into(), |phase| code(phase.as_str())),
                percent(row.share),
                duration(row.total_ns),
                count(row.calls),
            ]
        });
        page.table(["Phase", ">Share", ">Time", ">Calls"], rows);
        page.block(&format!(
            "By the sums of sections of {}, all modes and warm-up included; {} of them were read with their \
             sections.",
            things(summary.input.steps, "step", "steps"),
            count(summary.coverage.whole_steps)
        ));
    } else if summary.whole.total_ns > 0 {
        page.heading(3, "Where the step time goes");
        let rows = summary.phases.iter().map(|row| {
            [
                code(row.phase.as_str()),
                percent(row.exposed_share),
                duration(row.exposed_ns),
                percent(row.total_share),
                duration(row.total_ns),
            ]
        });
        let rest = (summary.unattributed_ns > 0).then(|| {
            [
                "(no phase)".into(),
                percent(summary.unattributed_share()),
                duration(summary.unattributed_ns),
                String::new(),
                String::new(),
            ]
        });
        page.table(["Phase", ">Exposed", ">Time", ">On any thread", ">Time"], rows.chain(rest));
        page.block(&format!(
            "Exposed: on the training thread while nothing of higher rank runs there, in {}.",
            things(summary.whole.steps, "step", "steps")
        ));
    }
    // Phases that only occur inside sections of others have no sections of their own.
    let outside: Vec<_> = report.detailed_metrics.outside.iter().filter(|row| row.stats.count > 0).collect();
    if !outside.is_empty() {
        page.heading(3, "Between the steps");
        let rows = outside.iter().map(|row| {
            [
                row.phase.as_ref().map_or_else(|| "(no phase)".into(), |phase| code(phase.as_str())),
                count(row.stats.count),
                duration(row.stats.total),
                known(row.stats.p50, duration),
                known(row.stats.max, duration),
            ]
        });
        page.table(["Phase", ">Sections", ">Total", ">p50", ">Longest"], rows);
    }
}

pub(super) fn critical(report: &Report, page: &mut Page) {
    let Some(critical) = &report.critical_path else { return };
    let warmup =
        if report.summary.warmup_steps > 0 && critical.mode.is_some() { ", warm-up included" } else { "" };
    let ends = held_up(critical, &count(critical.windows));
    page.heading(3, &format!("Critical path: what held up {ends}{warmup}"));
    let large = critical.sections.iter().filter(|row| row.on_path_ns > 0);
    let rows = large.clone().take(CRITICAL).map(|row| {
        [
            code(&named_path(&row.path)),
            percent(row.share),
            duration(row.on_path_ns),
            count(row.on_path_calls),
            known(row.slack_mean_ns, duration),
        ]
    });
    let rest =
        ["(in no section)".into(), String::new(), duration(critical.other_ns), String::new(), String::new()];
    page.table(
        ["Section", ">Share", ">On the path", ">Calls on it", ">Room of the others, mean"],
        rows.chain((critical.other_ns > 0).then_some(rest)),
    );
    page.more(large.count(), CRITICAL, "sections on the path");
    if let Some(waits) = &critical.waits {
        page.block(&format!(
            "{} for a batch: {} its batch was being made, {} its loader had not begun it, {} it was made and on its way.",
            things(waits.waits, "wait", "waits"),
            duration(waits.making_ns),
            duration(waits.behind_ns),
            duration(waits.handover_ns)
        ));
    }
    if let Some(through) = &critical.through_batches {
        let (linked, making) = (duration(through.linked_ns), duration(through.making_ns));
        if let Some(text) = hedge::through_batches(through, &linked, &making) {
            page.block(&format!("On the path {text}."));
        }
    }
}

pub(super) fn sections(report: &Report, page: &mut Page) {
    let mut largest: Vec<&SectionRow> = report.sections.iter().collect();
    if largest.is_empty() {
        return;
    }
    largest.sort_by(|a, b| b.stats.total.cmp(&a.stats.total).then_with(|| a.path.cmp(&b.path)));
    page.heading(3, "Sections");
    page.table(
        ["Section", ">Calls", ">Total", ">Self", ">p50", ">p95", ">Max", ">Allocated"],
        largest.iter().take(SECTIONS).map(|row| {
            [
                code(&named_path(&row.path)),
                count(row.stats.count),
                duration(row.stats.total),
                known(row.self_ns, duration),
                known(row.stats.p50, duration),
                known(row.stats.p95, duration),
                known(row.stats.max, duration),
                known(row.memory, |alloc| bytes(alloc.alloc_bytes)),
            ]
        }),
    );
    page.more(largest.len(), SECTIONS, "sections with less time");
}

pub(super) fn changes(report: &Report, page: &mut Page) {
    let rows: Vec<[String; 5]> = changes::shown(report)
        .map(|(_, change)| {
            [
                prose(&format!("from {}", changes::steps(change))),
                changes::much(change),
                duration(change.before_ns),
                duration(change.after_ns),
                prose(&changes::because(change)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.heading(3, "Changes of the step time");
        page.table(["Steps", "Change", ">Before", ">After", "Phase that moved most"], rows);
    }
}

pub(super) fn periods(report: &Report, page: &mut Page) {
    let Some((_, periodic)) = periods::shown(report) else { return };
    page.heading(3, "Periodic steps");
    let rows = periods::told(periodic).map(|(_, period, median_ns)| {
        [
            prose(&every_step(period.every)),
            count(period.steps),
            periods::much(periodic, median_ns),
            periods::cost(periodic, period),
            duration(median_ns),
            known(periodic.usual.p50, duration),
            prose(&match periods::section(report, periodic, period) {
                Some(row) => format!("{} in {}", periods::because(period), names::path(&row.path)),
                None => periods::because(period),
            }),
        ]
    });
    page.table(
        ["Which", ">Steps", "Are", "Take more", ">Median", ">Usual step", "Phase that takes most of it"],
        rows,
    );
}

pub(super) fn slowest(report: &Report, page: &mut Page) {
    let modes = &report.detailed_metrics.modes;
    let Some(mode) = modes.iter().find(|row| Some(row.mode.as_str()) == report.summary.mode) else { return };
    if mode.slowest.is_empty() || mode.steady.count < 2 {
        return;
    }
    page.heading(3, "Slowest steps");
    let rows = mode.slowest.iter().take(STEPS).map(|step| {
        let mut phases: Vec<String> = step
            .phases
            .iter()
            .filter(|part| part.exposed_ns > 0)
            .take(PHASES)
            .map(|part| format!("{} {}", code(part.phase.as_str()), duration(part.exposed_ns)))
            .collect();
        phases.extend(periods::every(report, mode.mode, step.step).map(every_step));
        [
            known(step.step, count),
            known(step.rank, |rank| rank.to_string()),
            duration(step.duration_ns),
            phases.join(", "),
            code(&step.trace_id),
        ]
    });
    page.table([">Step", ">Rank", ">Time", "Exposed", "Trace"], rows);
}

pub(super) fn memory(report: &Report, page: &mut Page) {
    let Some(memory) = &report.memory else { return };
    page.heading(3, "Memory at the ends of steps");
    let rows = [("live", &memory.live), ("resident", &memory.rss)].into_iter().filter_map(|(name, pair)| {
        let pair = pair.as_ref()?;
        Some([
            name.to_owned(),
            bytes(pair.first_bytes),
            bytes(pair.last_bytes),
            bytes(pair.max_bytes),
            known(pair.whole, |trend| signed_bytes(trend.slope_per_step.round() as i64)),
        ])
    });
    page.table(["Memory", ">First", ">Last", ">Most", ">A step"], rows);
    let rows = memory.processes.iter().map(|process| {
        [
            known(process.rank, |rank| rank.to_string()),
            code(&process.host),
            known(process.rss_max_bytes, bytes),
            known(process.live_max_bytes, bytes),
        ]
    });
    page.table([">Rank", "Host", ">Resident at most", ">Live at most"], rows);
    let Some(held) = &memory.by_section else { return };
    page.heading(3, "Memory held by sections");
    let all = [("all others".to_owned(), held.other), ("all sections".to_owned(), held.total)];
    let sections = held.sections.iter().map(|row| {
        let inside = if row.with_inside { " with all inside" } else { "" };
        (format!("{}{inside}", code(&row.path)), row.figures)
    });
    let rows = sections.chain(all).map(|(name, row)| {
        let [first, last, peak] = [row.first_bytes, row.last_bytes, row.peak_bytes].map(signed_bytes);
        [name, first, last, peak, count(row.peak_step)]
    });
    page.table(["Section", ">First", ">Last", ">Peak", ">At step"], rows);
}
