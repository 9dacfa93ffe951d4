//! Tables of steps: phases, the slowest, what happens between steps, loaders, memory.

use super::page::{
    bytes, close, code, count, escape, figure, known, ns, number, open, paragraph, prose, share, table,
};
use super::palette::{self, Palette};
use super::svg;
use crate::render::common::{periods, waiters::waiters};
use crate::report::units::{every_step, percent, signed_bytes};
use crate::report::{Memory, Report};
use crate::summary::{HeldFigures, ModeSummary, PhaseName, PhaseSum};

/// Phases named of a slow step.
const PHASES: usize = 4;

/// The mode of the report, and its place.
pub(super) fn primary(report: &Report) -> Option<(usize, &ModeSummary)> {
    let modes = report.detailed_metrics.modes.iter().enumerate();
    modes.into_iter().find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode)
}

pub(super) fn phases(report: &Report, out: &mut String) {
    let summary = &report.summary;
    let outside =
        || report.detailed_metrics.outside.iter().enumerate().filter(|(_, row)| row.stats.count > 0);
    if !report.has_steps() && outside().next().is_none() {
        return;
    }
    open("phases", "Where the step time goes", out);
    if !summary.phase_sums.is_empty() {
        phase_sums(report, out);
    } else if summary.whole.total_ns == 0 {
        paragraph("No step was read with all its sections.", out);
    } else {
        let palette = Palette::of(report);
        let class = |phase: &PhaseName| palette.class(phase.as_str());
        let mut parts: Vec<(String, &str, u64)> = summary
            .phases
            .iter()
            .map(|row| (class(&row.phase), row.phase.as_str(), row.exposed_ns))
            .collect();
        parts.push((palette::NO_PHASE.into(), "(no phase)", summary.unattributed_ns));
        svg::stack(&parts, summary.whole.total_ns, out);
        let total_ns = summary.whole.total_ns;
        let rows = summary.phases.iter().enumerate().map(|(at, row)| {
            let cells = [
                svg::keyed(&class(&row.phase), &code(row.phase.as_str())),
                svg::bar(row.exposed_ns as f64 / total_ns as f64, &class(&row.phase)),
                share("exposed_share", row.exposed_share),
                ns("exposed_ns", row.exposed_ns),
                share("total_share", row.total_share),
                ns("total_ns", row.total_ns),
                count("spans", row.spans),
            ];
            (format!("summary/phases/{at}"), cells)
        });
        let rest = [
            svg::keyed(palette::NO_PHASE, "(no phase)"),
            svg::bar(summary.unattributed_share(), palette::NO_PHASE),
            escape(&percent(summary.unattributed_share())),
            ns("unattributed_ns", summary.unattributed_ns),
            String::new(),
            String::new(),
            String::new(),
        ];
        table(
            "Time of the steps by phase",
            ["Phase", "Exposed", ">Share", ">Time", ">Share on any thread", ">Time on any thread", ">Spans"],
            rows.chain([("summary".into(), rest)]),
            out,
        );
        paragraph(
            &format!(
                "Exposed is time of the training thread in a phase while nothing of higher rank runs there, in {} {} \
                 read with all their sections. Work of other threads is exposed only where the training thread waits \
                 for it.",
                count("summary/whole/steps", summary.whole.steps),
                if summary.whole.steps == 1 { "step" } else { "steps" },
            ),
            out,
        );
    }
    let rows = outside().map(|(at, row)| {
        let cells = [
            row.phase.as_ref().map_or_else(|| "(no phase)".into(), |phase| code(phase.as_str())),
            count("stats/count", row.stats.count),
            ns("stats/total", row.stats.total),
            ns("stats/p50", row.stats.p50),
            ns("stats/max", row.stats.max),
        ];
        (format!("detailed_metrics/outside/{at}"), cells)
    });
    table(
        "Between the steps, on the same threads",
        ["Phase", ">Sections", ">Total", ">Median", ">Longest"],
        rows,
        out,
    );
    close(out);
}

/// The phases of all steps by the sums of sections.
fn phase_sums(report: &Report, out: &mut String) {
    let summary = &report.summary;
    let name = |row: &PhaseSum| row.phase.as_ref().map_or("(no phase)", |phase| phase.as_str()).to_owned();
    let named: Vec<(String, u64)> = summary.phase_sums.iter().map(|row| (name(row), row.total_ns)).collect();
    let palette = Palette::of(report);
    let classes = summary.phase_sums.iter().map(|row| palette.of_phase(row.phase.as_ref()));
    let parts: Vec<(String, &str, u64)> =
        classes.zip(&named).map(|(class, (name, ns))| (class, name.as_str(), *ns)).collect();
    // Of sections that ran at the same time the bar is as long as they are together.
    let all_ns = parts.iter().fold(0u64, |sum, (_, _, ns)| sum.saturating_add(*ns));
    svg::stack(&parts, summary.input.steps_ns.max(all_ns), out);
    let rows = summary.phase_sums.iter().enumerate().map(|(at, row)| {
        let label = row.phase.as_ref().map_or_else(|| "(no phase)".into(), |phase| code(phase.as_str()));
        let cells = [
            svg::keyed(&palette.of_phase(row.phase.as_ref()), &label),
            svg::bar(row.share, &palette.of_phase(row.phase.as_ref())),
            share("share", row.share),
            ns("total_ns", row.total_ns),
            count("calls", row.calls),
        ];
        (format!("summary/phase_sums/{at}"), cells)
    });
    table(
        "Time of the steps by phase",
        ["Phase", "Time of sections", ">Share", ">Time", ">Calls"],
        rows,
        out,
    );
    paragraph(
        &format!(
            "By the sums of sections of {} {}, all modes and warm-up included, on whatever thread; {} of them were \
             read with their sections.",
            count("summary/input/steps", summary.input.steps),
            if summary.input.steps == 1 { "step" } else { "steps" },
            count("summary/coverage/whole_steps", summary.coverage.whole_steps),
        ),
        out,
    );
}

pub(super) fn slowest(report: &Report, out: &mut String) {
    let Some((at, mode)) = primary(report).filter(|(_, mode)| !mode.slowest.is_empty()) else { return };
    open("slowest", "Slowest steps", out);
    let rows = mode.slowest.iter().enumerate().map(|(n, step)| {
        let mut phases: Vec<String> = step
            .phases
            .iter()
            .enumerate()
            .filter(|(_, part)| part.exposed_ns > 0)
            .take(PHASES)
            .map(|(m, part)| {
                let exposed = ns(&format!("phases/{m}/exposed_ns"), part.exposed_ns);
                format!("<span class=\"word\">{} {exposed}</span>", code(part.phase.as_str()))
            })
            .collect();
        phases.extend(periods::every(report, mode.mode, step.step).map(every_step));
        let cells = [
            count("step", step.step),
            number("rank", step.rank),
            ns("duration_ns", step.duration_ns),
            phases.join(", "),
            ns("unattributed_ns", step.unattributed_ns),
            code(&step.trace_id),
        ];
        (format!("detailed_metrics/modes/{at}/slowest/{n}"), cells)
    });
    table(
        "The slowest steps after warm-up",
        [">Step", ">Rank", ">Time", "~Exposed", ">No phase", "Trace"],
        rows,
        out,
    );
    close(out);
}

pub(super) fn loaders(report: &Report, out: &mut String) {
    let (batches, waits) = (&report.detailed_metrics.batches, &report.detailed_metrics.waits);
    if batches.loaders.is_empty() && waits.wait.count == 0 {
        return;
    }
    open("loaders", "Batches", out);
    let rows = batches.loaders.iter().enumerate().map(|(at, row)| {
        let cells = [
            code(&row.name),
            count("produce/count", row.produce.count),
            row.workers.len().to_string(),
            share("utilisation", row.utilisation),
            share("while_awaited/utilisation", row.while_awaited.map(|then| then.utilisation)),
            share("slot_wait_share", row.slot_wait_share),
            ns("produce/p50", row.produce.p50),
            ns("produce/p95", row.produce.p95),
            ns("busy_ns", row.busy_ns),
            ns("waiting_ns", row.waiting_ns),
            ns("computing_ns", row.computing_ns),
        ];
        (format!("detailed_metrics/batches/loaders/{at}"), cells)
    });
    table(
        "Loaders: how long a batch takes, and what their threads did",
        [
            "Loader",
            ">Batches",
            ">Workers",
            ">Busy",
            ">Busy while awaited",
            ">Queue full",
            ">Median",
            ">p95",
            ">Busy in all",
            ">Waiting for loaders",
            ">Computing",
        ],
        rows,
        out,
    );
    let rows = batches.loaders.iter().enumerate().flat_map(|(at, loader)| {
        waiters(loader).map(move |waiter| {
            let cells = [
                code(&loader.name),
                prose(&waiter.who),
                count("waits", waiter.waits),
                ns("total_ns", waiter.total_ns),
            ];
            (format!("detailed_metrics/batches/loaders/{at}/{}", waiter.place), cells)
        })
    });
    table("Who waited for which loader", ["Loader", "Who waited", ">Waits", ">Time"], rows, out);
    let kinds = [
        ("Waits", "wait", waits.wait),
        ("Making", "produce", waits.produce),
        ("In the queue", "queue", waits.queue),
    ];
    let rows = kinds.into_iter().filter(|(_, _, stats)| stats.count > 0).map(|(title, name, stats)| {
        let cells = [
            title.to_owned(),
            count("count", stats.count),
            ns("total", stats.total),
            ns("p50", stats.p50),
            ns("p95", stats.p95),
            ns("max", stats.max),
        ];
        (format!("detailed_metrics/waits/{name}"), cells)
    });
    table(
        "Batches as the training thread saw them",
        ["What", ">Batches", ">Total", ">Median", ">p95", ">Longest"],
        rows,
        out,
    );
    close(out);
}

/// Ends and extremes of what sections hold.
fn held(memory: &Memory, out: &mut String) {
    let Some(held) = &memory.by_section else { return };
    let row = |name: String, place: &str, row: &HeldFigures| {
        let bytes = |at: &str, bytes: i64| figure(at, bytes, &signed_bytes(bytes));
        let cells = [
            name,
            bytes("first_bytes", row.first_bytes),
            bytes("last_bytes", row.last_bytes),
            bytes("peak_bytes", row.peak_bytes),
            count("peak_step", row.peak_step),
        ];
        (format!("memory/by_section/{place}"), cells)
    };
    let paths: Vec<&str> = held.sections.iter().map(|section| section.path.as_str()).collect();
    let sections = held.sections.iter().zip(palette::of_sections(&paths)).enumerate();
    let sections = sections.map(|(at, (section, class))| {
        let inside = if section.with_inside { " with all inside" } else { "" };
        let name = svg::keyed_line(&class, &format!("{}{inside}", super::page::path(&section.path)));
        row(name, &format!("sections/{at}"), &section.figures)
    });
    let name = svg::keyed_line;
    let others = row(name(palette::HELD_OTHER, "all others"), "other", &held.other);
    let all = row(name(palette::HELD, "all sections"), "total", &held.total);
    table(
        "Memory that sections hold",
        ["Section", ">After the first point", ">After the last", ">Farthest from zero", ">At step"],
        sections.chain([others, all]),
        out,
    );
}

/// Whether there is nothing to say about memory, nor any step that could have had some.
pub(super) fn is_without_memory(report: &Report) -> bool {
    !report.has_steps() && report.memory.is_none()
}

/// Closes the part that the plots of memory opened.
pub(super) fn memory(report: &Report, out: &mut String) {
    if is_without_memory(report) {
        return;
    }
    let Some(memory) = &report.memory else {
        paragraph("Nothing about memory was recorded.", out);
        return close(out);
    };
    let kinds = [("live", "Live", &memory.live), ("rss", "Resident", &memory.rss)];
    let rows = kinds.into_iter().filter_map(|(name, title, pair)| {
        let pair = pair.as_ref()?;
        let slope = pair.whole.map(|trend| trend.slope_per_step);
        let cells = [
            title.to_owned(),
            bytes("first_bytes", pair.first_bytes),
            bytes("last_bytes", pair.last_bytes),
            bytes("max_bytes", pair.max_bytes),
            known("whole/slope_per_step", slope, |slope| signed_bytes(slope.round() as i64)),
        ];
        Some((format!("memory/{name}"), cells))
    });
    table("Memory at the ends of steps", ["Memory", ">First", ">Last", ">Most", ">Growth a step"], rows, out);
    held(memory, out);
    let rows = memory.processes.iter().enumerate().map(|(at, row)| {
        let cells = [
            number("rank", row.rank),
            code(&row.host),
            bytes("rss_last_bytes", row.rss_last_bytes),
            bytes("rss_max_bytes", row.rss_max_bytes),
            bytes("live_last_bytes", row.live_last_bytes),
            bytes("live_max_bytes", row.live_max_bytes),
        ];
        (format!("memory/processes/{at}"), cells)
    });
    table(
        "Memory of the processes",
        [">Rank", "Host", ">Resident at last", ">Resident at most", ">Live at last", ">Live at most"],
        rows,
        out,
    );
    let rows = report.leaks.iter().enumerate().map(|(at, leak)| {
        let signed = |value: f64| signed_bytes(value.round() as i64);
        let interval = leak.confidence_interval;
        let cells = [
            leak.section.as_deref().map_or_else(|| "no single section".into(), code),
            crate::render::common::names::word(&leak.verdict),
            figure("bytes_per_step", leak.bytes_per_step, &signed(leak.bytes_per_step)),
            figure("confidence_interval/0", interval.0, &signed(interval.0)),
            figure("confidence_interval/1", interval.1, &signed(interval.1)),
            bytes("live_bytes", leak.live_bytes),
        ];
        (format!("leaks/{at}"), cells)
    });
    table(
        "Memory that grows",
        ["Section", "Verdict", ">A step", ">At least (95 %)", ">At most (95 %)", ">Memory at the end"],
        rows,
        out,
    );
    close(out);
}
