//! The processes of the run: how they ended, how long their steps take, and in which phases these are, rank by rank. Who
//! is slow is said by rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Phase;

use super::page::{
    UNKNOWN, close, code, count, known, ns, number, open, paragraph, place, table, table_with,
};
use super::palette::Palette;
use super::svg;
use crate::ranks::is_waiting;
use crate::report::Report;
use crate::report::units::rate;
use crate::summary::InstanceRow;

/// Ranks whose phases are shown, at most, and phases of them.
const RANKS: usize = 64;
const PHASES: usize = 6;

pub(super) fn render(report: &Report, out: &mut String) {
    if report.ranks.is_empty() {
        return;
    }
    open("ranks", "Processes", out);
    let rows = report.ranks.iter().enumerate().map(|(at, row)| {
        let rate_of = row.throughput.samples_per_second;
        let cells = [
            number("resource/rank", row.resource.rank),
            Some(&row.resource.host_name)
                .filter(|name| !name.is_empty())
                .map_or(UNKNOWN.into(), |name| code(name)),
            number("resource/cpus", row.resource.cpus),
            count("steps/count", row.steps.count),
            ns("steps/p50", row.steps.p50),
            ns("steps/p95", row.steps.p95),
            known("throughput/samples_per_second", rate_of, |value| rate(value, "samples")),
            count("traces", row.traces),
            match (row.ended, row.ended_by) {
                (true, Some(signal)) => format!("yes, by {signal}"),
                (true, None) => "yes".into(),
                (false, _) => "no end was read".into(),
            },
        ];
        (format!("ranks/{at}"), cells)
    });
    table(
        "Processes of the run",
        [">Rank", "Host", ">CPUs", ">Steps", ">Median step", ">p95", ">Samples", ">Traces", "Ended in order"],
        rows,
        out,
    );
    phases(report, out);
    close(out);
}

/// What steps of each rank spend in phases, where there are ranks to compare.
fn phases(report: &Report, out: &mut String) {
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
    let keys: Vec<String> = phases
        .iter()
        .take(PHASES)
        .map(|phase| format!(">{}", svg::keyed(&palette.class(phase), &code(phase))))
        .collect();
    let mut titles = vec![">Rank", "Exposed"];
    titles.extend(keys.iter().map(String::as_str));
    let rows = ranks.iter().map(|&(at, row)| {
        let parts = phases.iter().filter_map(|phase| Some((palette.class(phase), exposed(row, phase)?.1)));
        let parts = parts.map(|(class, ns)| (class, ns as f64 / whole_ns.max(1) as f64));
        let mut cells =
            vec![number("resource/rank", row.resource.rank), svg::bar_of(&parts.collect::<Vec<_>>())];
        cells.extend(phases.iter().take(PHASES).map(|phase| cell(row, phase)));
        (place(&format!("ranks/{at}")), cells)
    });
    table_with("", "Where the time of a step goes, by rank: means", titles, rows, out);
    let mut text = "Exposed time of a step after warm-up, as in the table of phases. Where ranks do steps together, a rank \
                    that works longer than the others makes these wait, which is their <code>communication</code> or \
                    <code>synchronization</code> where it is recorded."
        .to_owned();
    if all > RANKS {
        text.push_str(&format!(" Only the {RANKS} ranks that work longest are shown."));
    }
    if phases.len() > PHASES {
        text.push_str(" Further phases are in the bars, and in the JSON and CSV reports.");
    }
    paragraph(&text, out);
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
    let times = row.phases_per_step.iter().enumerate();
    times.into_iter().find(|(_, time)| time.phase.as_str() == phase).map(|(at, time)| (at, time.exposed_ns))
}

fn cell(row: &InstanceRow, phase: &str) -> String {
    if phase == Phase::Communication.as_str() {
        return ns("communication_per_step_ns", row.communication_per_step_ns);
    }
    match exposed(row, phase) {
        Some((n, exposed_ns)) => ns(&format!("phases_per_step/{n}/exposed_ns"), exposed_ns),
        None => "<span class=\"none\" title=\"no time\">–</span>".into(),
    }
}
