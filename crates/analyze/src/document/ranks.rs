//! The processes of the run: how they ended, how long their steps take, and in which phases these are, rank by rank. Who
//! is slow is said by rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Phase;

use super::cell::{UNKNOWN, Unit, code, count, float, keyed, ns, number};
use super::{Cell, Column, Document, Kind, Palette, Shown};
use crate::ranks::is_waiting;
use crate::report::Report;
use crate::summary::InstanceRow;

/// Ranks whose phases are shown, at most, and phases of them.
const RANKS: usize = 64;
const PHASES: usize = 6;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if report.ranks.is_empty() {
        return;
    }
    doc.part("ranks", "Processes", "Processes");
    let host = |row: &InstanceRow| {
        let name = Some(row.resource.host_name.as_str()).filter(|name| !name.is_empty());
        super::cell::code_or(name, UNKNOWN)
    };
    let samples = |row: &InstanceRow| float(row.throughput.samples_per_second, Unit::Rate("samples"));
    doc.table(Shown::HTML, "Processes of the run", report.ranks.iter().enumerate())
        .at(|(at, _)| format!("ranks/{at}"))
        .column(Shown::HTML, ">Rank", "resource/rank", |(_, row)| number(row.resource.rank))
        .column(Shown::HTML, "Host", "", |(_, row)| host(row))
        .column(Shown::HTML, ">CPUs", "resource/cpus", |(_, row)| number(row.resource.cpus))
        .column(Shown::HTML, ">Steps", "steps/count", |(_, row)| count(row.steps.count))
        .column(Shown::HTML, ">Median step", "steps/p50", |(_, row)| ns(row.steps.p50))
        .column(Shown::HTML, ">p95", "steps/p95", |(_, row)| ns(row.steps.p95))
        .column(Shown::HTML, ">Samples", "throughput/samples_per_second", |(_, row)| samples(row))
        .column(Shown::HTML, ">Traces", "traces", |(_, row)| count(row.traces))
        .column(Shown::HTML, "Finished cleanly", "", |(_, row)| match (row.ended, row.ended_by) {
            (true, Some(signal)) => format!("yes, by {signal}").into(),
            (true, None) => "yes".into(),
            (false, _) => "no end was read".into(),
        })
        .end();
    phases(report, doc);
}

/// What steps of each rank spend in phases, where there are ranks to compare.
fn phases(report: &Report, doc: &mut Document) {
    let mut ranks: Vec<(usize, &InstanceRow)> =
        report.ranks.iter().enumerate().filter(|(_, row)| !row.phases_per_step.is_empty()).collect();
    if ranks.len() < 2 {
        return;
    }
    let all = ranks.len();
    // Of many ranks those that work longest, in the order of ranks.
    ranks.sort_by_key(|&(at, row)| (Reverse(row.exposed_per_step_ns(|phase| !is_waiting(phase))), at));
    ranks.truncate(RANKS);
    ranks.sort_by_key(|&(at, _)| at);
    let phases = longest(&ranks);
    let palette = Palette::of(report);
    let whole_ns = ranks.iter().map(|(_, row)| row.exposed_per_step_ns(|_| true)).max().unwrap_or(0);
    let caption = "Where the time of a step goes, by rank: means";
    let mut table = doc
        .table(Shown::HTML, caption, ranks)
        .at(|(at, _)| format!("ranks/{at}"))
        .column(Shown::HTML, ">Rank", "resource/rank", |(_, row)| number(row.resource.rank))
        .column(Shown::HTML, "Exposed", "", |(_, row)| {
            let parts =
                phases.iter().filter_map(|phase| Some((palette.class(phase), exposed(row, phase)?.1)));
            Cell::Bar(parts.map(|(class, ns)| (class, ns as f64 / whole_ns.max(1) as f64)).collect())
        });
    for phase in phases.iter().take(PHASES) {
        let title = keyed(palette.class(phase), code(phase));
        let column = Column { title, kind: Kind::Figures, at: "" };
        table = table.add(Shown::HTML, column, |(_, row)| cell(row, phase));
    }
    table.end();
    let mut text = "Exposed time of a step after warm-up, as in the table of phases. Where ranks do steps together, a rank \
                    that works longer than the others makes these wait, which is their `communication` or \
                    `synchronization` where it is recorded."
        .to_owned();
    if all > RANKS {
        text.push_str(&format!(" Only the {RANKS} ranks that work longest are shown."));
    }
    if phases.len() > PHASES {
        text.push_str(" Further phases are in the bars, and in the JSON and CSV reports.");
    }
    doc.say(Shown::HTML, text);
}

/// Phases of some ranks: first those in which one of them is for longest.
fn longest<'a>(ranks: &[(usize, &'a InstanceRow)]) -> Vec<&'a str> {
    let mut phases: BTreeMap<&str, u64> = BTreeMap::new();
    for time in ranks.iter().flat_map(|(_, row)| &row.phases_per_step) {
        let most = phases.entry(time.phase.as_str()).or_default();
        *most = time.exposed_ns.max(*most);
    }
    let mut phases: Vec<(&str, u64)> = phases.into_iter().collect();
    phases.sort_by_key(|&(phase, ns)| (Reverse(ns), phase));
    phases.into_iter().map(|(phase, _)| phase).collect()
}

/// The exposed time of a phase in a step, with its place in the list.
fn exposed(row: &InstanceRow, phase: &str) -> Option<(usize, u64)> {
    let mut times = row.phases_per_step.iter().enumerate();
    times.find(|(_, time)| time.phase.as_str() == phase).map(|(at, time)| (at, time.exposed_ns))
}

fn cell(row: &InstanceRow, phase: &str) -> Cell {
    if phase == Phase::Communication.as_str() {
        return ns(row.communication_per_step_ns).at("communication_per_step_ns");
    }
    match exposed(row, phase) {
        Some((n, exposed_ns)) => ns(exposed_ns).at(format!("phases_per_step/{n}/exposed_ns")),
        None => Cell::Absent("no time"),
    }
}
