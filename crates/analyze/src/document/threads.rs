//! What threads did while steps ran: on a CPU, runnable without one, blocked, and on what.

use stepscope_core::ThreadState;

use super::cell::{Unit, bar, code, count, float, ns, path};
use super::palette::{STEP, of_state};
use super::plot::Stack;
use super::{Block, Cell, Document, Shown, Tone, cells};
use crate::report::Report;
use crate::report::units::{duration, listed, percent};
use crate::summary::{
    ModeSummary, ModeThreads, SectionThreads, SeriesPoint, StateLooks, ThreadLine, ThreadShares,
};

/// Sections shown: briefly, and on a page.
const BRIEF: usize = 8;
const ROWS: usize = 30;
/// Sections of a drawn step that are named.
const NAMED: usize = 8;
/// States of a section that are named.
const STATES: usize = 2;
/// Share by which the first and the last third of the steps must differ to be told.
const CHANGED: f64 = 0.05;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    let Some((at, mode)) = super::series::primary(report) else { return };
    let threads = report.threads.modes.iter().enumerate().find(|(_, row)| row.mode == mode.mode);
    if mode.threads.is_none() && threads.is_none() {
        return;
    }
    doc.part("threads", "Threads", "Threads");
    doc.heading(Shown::BRIEF, "Threads");
    if let Some(shares) = &mode.threads {
        steps(at, shares, doc);
        if let Some(text) = changed(report, mode) {
            doc.say(Shown::ALL, text);
        }
    }
    processors(report, doc);
    if let Some((at, threads)) = threads {
        sections(at, threads, doc);
        timeline(threads, doc);
    }
}

fn steps(at: usize, shares: &ThreadShares, doc: &mut Document) {
    let of = |ns: Option<u64>| Cell::Raw(percent(ns.map_or(0.0, |ns| shares.share(ns))));
    let place = |field: &str| format!("detailed_metrics/modes/{at}/threads/{field}");
    if let (Some(run_queue_ns), Some(blocked_ns)) = (shares.run_queue_ns, shares.blocked_ns) {
        let parts = [
            (of_state(ThreadState::Running), "on a CPU", shares.cpu_ns),
            ("plain", "runnable without one", run_queue_ns),
            (of_state(ThreadState::Futex), "blocked", blocked_ns),
        ];
        let parts = parts.map(|(class, name, ns)| (class.to_owned(), name.to_owned(), ns)).to_vec();
        doc.add(Shown::HTML, || Block::Stack(Stack { parts, whole: shares.duration_ns }));
    }
    let rest = match shares.blocked_ns {
        Some(_) => cells![
            ", runnable without one for ",
            of(shares.run_queue_ns),
            ", and blocked for ",
            of(shares.blocked_ns),
            "."
        ],
        None => ". How much of the rest it was blocked is not known on this system.".into(),
    };
    doc.say(
        Shown::ALL,
        cells![
            "The step's thread was on a CPU for ",
            of(Some(shares.cpu_ns)),
            " of the ",
            ns(shares.duration_ns).at(place("duration_ns")),
            " of ",
            count(shares.steps).at(place("steps")),
            " steps",
            rest
        ],
    );
}

/// How the shares of the first third of the steps differ from those of the last.
fn changed(report: &Report, mode: &ModeSummary) -> Option<String> {
    let (_, series) = super::series::series(report).filter(|(_, series)| series.mode == mode.mode)?;
    let first = mode.warmup.steady_step.unwrap_or(0);
    let is_said =
        |point: &&SeriesPoint| point.step >= first && point.cpu_ns.is_some() && point.run_queue_ns.is_some();
    let points: Vec<&SeriesPoint> = series.points.iter().filter(is_said).collect();
    let third = points.len() / 3;
    let (early, late) = (points.get(..third)?, points.get(points.len() - third..)?);
    let shares = |points: &[&SeriesPoint]| {
        let sum = |of: fn(&SeriesPoint) -> u64| {
            points.iter().fold(0u64, |sum, point| sum.saturating_add(of(point)))
        };
        let all = sum(|point| point.duration_sum_ns).max(1) as f64;
        let cpu = sum(|point| point.cpu_ns.unwrap_or(0)) as f64 / all;
        let queue = sum(|point| point.run_queue_ns.unwrap_or(0)) as f64 / all;
        [("on a CPU", cpu), ("runnable", queue), ("blocked", (1.0 - cpu - queue).max(0.0))]
    };
    let both = shares(early).into_iter().zip(shares(late));
    let told = both.filter(|(a, b)| (a.1 - b.1).abs() >= CHANGED);
    let told: Vec<String> =
        told.map(|((name, a), (_, b))| format!("{name} {} → {}", percent(a), percent(b))).collect();
    (!told.is_empty() && third > 0)
        .then(|| format!("From the first third of the steps to the last: {}.", listed(told)))
}

fn processors(report: &Report, doc: &mut Document) {
    let of = &report.threads.processors;
    let (Some(cpus), Some(_), Some(_)) = (of.cpus, of.own, of.others) else { return };
    let used = |used: Option<f64>, place: &str| {
        float(used, Unit::Words(used_words(used))).at(format!("threads/processors/{place}"))
    };
    let ranks = match of.other_ranks {
        Some(ranks) if ranks > 0.0 => cells![", other ranks ", used(of.other_ranks, "other_ranks")],
        _ => Cell::Empty,
    };
    doc.say(
        Shown::ALL,
        cells![
            "Of ",
            count(cpus).at("threads/processors/cpus"),
            " processors the process used ",
            used(of.own, "own"),
            ranks,
            ", other programs ",
            used(of.others, "others"),
            "."
        ],
    );
}

/// A number of processors.
fn used_words(used: Option<f64>) -> String {
    used.map_or_else(String::new, |used| format!("{used:.2}"))
}

/// What threads were blocked in, most often first: `a lock, channel or condition variable 80 %, sleep 20 %`.
fn blocked_in(looks: &[StateLooks]) -> String {
    let blocked = || looks.iter().filter(|row| row.state != ThreadState::Running);
    let all: u64 = blocked().map(|row| row.looks).sum();
    let mut rows: Vec<&StateLooks> = blocked().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.looks), row.state));
    let words = rows.iter().take(STATES).map(|row| match rows.len() {
        1 => row.state.as_str().to_owned(),
        _ => format!("{} {}", row.state.as_str(), percent(row.looks as f64 / all.max(1) as f64)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Sections outside of steps say what they are blocked in, and not for how long.
fn is_told(row: &SectionThreads) -> bool {
    row.duration_ns > 0 || !row.looks.is_empty()
}

fn sections(at: usize, threads: &ModeThreads, doc: &mut Document) {
    const ALL: Shown = Shown::ALL;
    let mut rows: Vec<(usize, &SectionThreads)> =
        threads.sections.iter().enumerate().filter(|(_, row)| is_told(row)).collect();
    rows.sort_by_key(|(_, row)| (std::cmp::Reverse(row.duration_ns), &row.path));
    let (all, most) = (rows.len(), if doc.is(Shown::HTML) { ROWS } else { BRIEF });
    let time = |row: &SectionThreads| Some(row.duration_ns).filter(|&ns| ns > 0);
    let part = |row: &SectionThreads, ns: u64| {
        time(row).map_or(super::cell::UNKNOWN, |all| Cell::Raw(percent(ns as f64 / all as f64)))
    };
    doc.table(ALL, "What threads did in sections, in deep steps", rows.into_iter().take(most))
        .at(|(n, _)| format!("threads/modes/{at}/sections/{n}"))
        .column(ALL, "In deep steps|Section", "", |(_, row)| path(&row.path))
        .column(ALL, ">Own time", "duration_ns", |(_, row)| ns(time(row)))
        .column(Shown::HTML, "On a CPU", "", |(_, row)| {
            bar(row.cpu_ns as f64 / row.duration_ns.max(1) as f64, STEP)
        })
        .column(ALL, ">On a CPU|Share", "", |(_, row)| part(row, row.cpu_ns))
        .column(ALL, ">Runnable", "", |(_, row)| part(row, row.run_queue_ns))
        .column(ALL, ">Blocked", "", |(_, row)| part(row, row.blocked_ns))
        .column(ALL, "Blocked in", "", |(_, row)| blocked_in(&row.looks).into())
        .end();
    doc.more(Shown::BRIEF, all, most, ("section", "sections"));
    let (steps, looks) = (threads.steps, threads.looks);
    if steps > 0 {
        doc.lead(
            Shown::ALL,
            Tone::Dim,
            "  ",
            cells![
                "What threads were blocked in is known from ",
                count(looks).at(format!("threads/modes/{at}/looks")),
                " looks at them in ",
                count(steps).at(format!("threads/modes/{at}/steps")),
                if steps == 1 { " deep step" } else { " deep steps" },
                ", which take who is ready to run for running. A futex is a lock, channel or condition variable."
            ],
        );
    }
}

/// One bar a thread, and one of the sections of the step's own.
fn timeline(threads: &ModeThreads, doc: &mut Document) {
    let Some(step) = threads.timeline.as_ref().filter(|_| doc.is(Shown::HTML)) else { return };
    let number = step.step.map_or_else(|| "without a number".into(), |step| step.to_string());
    doc.say(
        Shown::HTML,
        format!(
            "Threads of the deep step {number}, which took {}: from its start to its end, one bar each.",
            duration(step.duration_ns)
        ),
    );
    let bar = |parts| Block::Stack(Stack { parts, whole: step.duration_ns });
    let mut parts: Vec<(String, String, u64)> = Vec::new();
    let mut until_ns = 0u64;
    for section in &step.sections {
        let gap_ns = section.offset_ns.saturating_sub(until_ns);
        let length_ns = section
            .offset_ns
            .saturating_add(section.duration_ns)
            .saturating_sub(until_ns.max(section.offset_ns));
        parts.push(("ground".into(), "(no section)".into(), gap_ns));
        parts.push((STEP.into(), section.name.clone(), length_ns));
        until_ns = until_ns.max(section.offset_ns.saturating_add(section.duration_ns));
    }
    if !parts.is_empty() {
        let names = step.sections.iter().take(NAMED);
        let names = names.map(|of| cells![code(&of.name), " ", duration(of.duration_ns)]);
        let more = if step.sections.len() > NAMED { ", …" } else { "" };
        doc.say(
            Shown::HTML,
            cells!["Sections of the step's own thread, in their order: ", Cell::joined(names, ", "), more],
        );
        doc.add(Shown::HTML, || bar(parts));
    }
    for (at, line) in step.threads.iter().enumerate() {
        doc.say(
            Shown::HTML,
            cells![code(&name(line)), if at == 0 { " (the step's)" } else { "" }, ": ", legend(line)],
        );
        let before = line.states.first().map(|of| of.offset_ns).filter(|&ns| ns > 0);
        let before = before.map(|ns| ("ground".into(), "(not seen)".into(), ns));
        let states = line.states.iter();
        let states = states.map(|of| (of_state(of.state).into(), of.state.as_str().into(), of.duration_ns));
        doc.add(Shown::HTML, || bar(before.into_iter().chain(states).collect()));
    }
}

fn name(line: &ThreadLine) -> String {
    line.thread_name.clone().unwrap_or_else(|| line.thread_id.to_string())
}

/// The states of a thread, longest first.
fn legend(line: &ThreadLine) -> Cell {
    let time =
        |state| line.states.iter().filter(|of| of.state == state).map(|of| of.duration_ns).sum::<u64>();
    let mut states: Vec<(u64, ThreadState)> =
        ThreadState::ALL.iter().map(|&state| (time(state), state)).collect();
    states.retain(|&(ns, _)| ns > 0);
    states.sort_by_key(|&(ns, state)| (std::cmp::Reverse(ns), state));
    let of = |(ns, state): (u64, ThreadState)| {
        super::cell::keyed(of_state(state), format!("{} {}", state.as_str(), duration(ns)))
    };
    Cell::joined(states.into_iter().map(of), ", ")
}
