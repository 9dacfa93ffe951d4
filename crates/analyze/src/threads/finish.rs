//! From sums to the figures of a run.

use std::cmp::Reverse;

use stepscope_core::path::join;
use stepscope_core::{Mode, ThreadState};

use crate::accumulate::saturate::saturate;
use crate::run::{Instance, InstanceAcc, RunAcc};
use crate::summary::SectionRow;
use crate::threads::DeepThreads;
use crate::threads::section::{InMode, Looks};
use crate::threads::summary::{ModeThreads, Processors, SectionThreads, StateLooks, Threads};
use crate::threads::timeline::Timeline;

/// Sections that are told of, of each mode.
const SECTIONS: usize = 256;

/// What threads did; `rows` are the sections of the run, by path.
pub(crate) fn of(run: &RunAcc, rows: &[SectionRow]) -> Threads {
    let mode = |&mode: &Mode| {
        let deep = run.threads.get(mode as usize)?;
        let sections = sections(run, mode, rows);
        (deep.steps > 0 || !sections.is_empty()).then(|| of_mode(mode, deep, sections))
    };
    Threads { processors: processors(run), modes: Mode::ALL.iter().filter_map(mode).collect() }
}

fn processors(run: &RunAcc) -> Processors {
    let used: Vec<Used<'_>> = run.instances.iter().filter_map(Used::of).collect();
    let mean = |of: &dyn Fn(&Used<'_>) -> f64| {
        (!used.is_empty()).then(|| used.iter().map(of).sum::<f64>() / used.len() as f64)
    };
    let on_host =
        |of: &Used<'_>| used.iter().filter(|other| other.host == of.host).map(|other| other.own).sum::<f64>();
    let longest = run.instances.values().map(|acc| &acc.processors.course).max_by_key(|course| course.len());
    let mut course: Vec<_> =
        longest.into_iter().flat_map(|course| course.values()).map(|at| (at.0, at.1)).collect();
    course.sort_unstable();
    let cpus = run.instances.keys().filter_map(|instance| u64::try_from(instance.0.cpus?).ok());
    let cost =
        |gauge: &crate::accumulate::gauge::GaugeAcc| gauge.sum.checked_div(gauge.count.into()).map(saturate);
    Processors {
        cpus: cpus.filter(|&cpus| cpus > 0).max(),
        own: mean(&|of| of.own),
        other_ranks: mean(&|of| on_host(of) - of.own).filter(|_| used.len() > 1),
        others: mean(&|of| (of.all - on_host(of)).max(0.0)),
        alloc_cost_ns: cost(&run.costs.alloc_ns),
        fault_cost_ns: cost(&run.costs.fault_ns),
        course,
    }
}

/// Processors that were used while a process took its deep steps: by all on its host, and by itself.
struct Used<'a> {
    host: &'a str,
    all: f64,
    own: f64,
}

impl<'a> Used<'a> {
    fn of((key, acc): (&'a Instance, &InstanceAcc)) -> Option<Self> {
        let (elapsed_ns, host_ns, own_ns) = acc.processors.between()?;
        let rate = |ns: u64| ns as f64 / elapsed_ns as f64;
        Some(Self { host: &key.0.host_name, all: rate(host_ns), own: rate(own_ns) })
    }
}

fn of_mode(mode: Mode, deep: &DeepThreads, sections: Vec<SectionThreads>) -> ModeThreads {
    let rounds: Vec<_> = deep.rounds.iter().map(|(&round, times)| (round, times.0)).collect();
    let count = rounds.iter().fold(0u64, |sum, (_, times)| sum.saturating_add(*times));
    ModeThreads {
        mode,
        steps: deep.steps,
        duration_ns: saturate(deep.duration_ns),
        looks: deep.looks,
        dropped: deep.dropped,
        own_looks: states(&deep.own),
        running_elsewhere: deep.elsewhere as f64 / count.max(1) as f64,
        running_beside: deep.beside as f64 / count.max(1) as f64,
        timeline: deep.timeline.as_ref().map(Timeline::told),
        rounds,
        sections,
    }
}

fn states(looks: &Looks) -> Vec<StateLooks> {
    let rows = ThreadState::ALL.iter().zip(looks).map(|(&state, &looks)| StateLooks { state, looks });
    rows.filter(|row| row.looks > 0).collect()
}

fn sections(run: &RunAcc, mode: Mode, rows: &[SectionRow]) -> Vec<SectionThreads> {
    let tree = run.sections.tree();
    let all = run.sections.sorted().filter_map(|(path, acc)| {
        let part = acc.threads.as_ref()?.0.get(mode as usize).filter(|part| **part != InMode::default())?;
        Some(section(join(tree.names(path)), part, rows))
    });
    let mut all: Vec<SectionThreads> = all.collect();
    all.sort_by(|a, b| {
        (Reverse(a.own_blocked_ns), Reverse(a.duration_ns), &a.path).cmp(&(
            Reverse(b.own_blocked_ns),
            Reverse(b.duration_ns),
            &b.path,
        ))
    });
    all.truncate(SECTIONS);
    all
}

fn section(path: String, part: &InMode, rows: &[SectionRow]) -> SectionThreads {
    let at = rows.binary_search_by(|row| row.path.as_str().cmp(&path)).ok();
    let row = at.and_then(|at| rows.get(at));
    SectionThreads {
        phase: row.and_then(|row| row.phase.clone()),
        path,
        calls: part.time.calls,
        duration_ns: saturate(part.time.duration_ns),
        cpu_ns: saturate(part.time.cpu_ns),
        run_queue_ns: saturate(part.time.run_queue_ns),
        blocked_ns: saturate(part.time.blocked_ns()),
        minor_faults: part.minor_faults,
        own_duration_ns: saturate(part.own_time.duration_ns),
        own_cpu_ns: saturate(part.own_time.cpu_ns),
        own_blocked_ns: saturate(part.own_time.blocked_ns()),
        looks: states(&part.looks),
        own_looks: states(&part.own_looks),
        awaiting: part.awaiting,
        awaited: part.awaited,
        contended: part.contended,
        contended_steps: part.contended_steps,
        turns_steps: part.turns_steps,
        turns_threads: part.turns_threads,
        turns_ns: (saturate(part.turns_cpu_ns), saturate(part.turns_open_ns)),
    }
}
