//! The table of sections: structure from spans, figures from aggregates where they have seen more.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::path::{join, split};
use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::Figure;

use crate::accumulate::saturate::{saturate, saturate_signed};
use crate::phases::{PhaseKey, is_part};
use crate::run::RunAcc;
use crate::sections::aggregates::finish::{Total, totals};
use crate::sections::orphans::Grafted;
use crate::sections::paths::{PathTree, ROOT};
use crate::sections::{SectionAcc, Sum};
use crate::summary::{
    FigureSource, FigureSum, InSteps, PhaseName, PhaseSource, SectionMemory, SectionRow, Stats,
};

/// Rows that a ranking of sections has at most.
const RANKED: usize = 20;

type KnownPhase = Option<(PhaseName, PhaseSource)>;

/// The sections of a run.
pub(crate) struct Table {
    pub(crate) rows: Vec<SectionRow>,
    pub(crate) steps: StepCounts,
    /// Sections that are in no row.
    pub(crate) unplaced: u64,
}

/// Sections on the paths of steps, all modes: spans read, and ends that the processes counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepCounts {
    pub(crate) read: u64,
    pub(crate) recorded: Option<u64>,
}

impl StepCounts {
    fn add(&mut self, read: u64, total: Option<&Total>) {
        self.read = self.read.saturating_add(read);
        if let Some(total) = total {
            // A killed process has not sent its last sums.
            let count = total.moments.count.max(read);
            self.recorded = Some(self.recorded.unwrap_or(0).saturating_add(count));
        }
    }
}

impl Table {
    /// Joins spans and aggregates.
    pub(crate) fn of(run: &RunAcc) -> Self {
        let mut totals = totals(run);
        let grafted = Grafted::of(run, &totals);
        let sections = grafted.as_ref().map_or(&run.sections, |grafted| &grafted.sections);
        let tree = sections.tree();
        let elsewhere = Elsewhere::of(run);
        let mut phases: BTreeMap<u32, KnownPhase> = BTreeMap::new();
        let mut rows = Vec::new();
        let mut steps = StepCounts::default();
        for (path, acc) in sections.sorted() {
            let around = phases.get(&tree.parent(path)).cloned().flatten();
            let phase = phase_of(tree, path, acc, around);
            phases.insert(path, phase.clone());
            if acc.durations.count() == 0 && acc.collapsed == 0 {
                continue;
            }
            let text = join(tree.names(path));
            // A cut path holds what aggregates have under longer ones.
            let total = totals.remove(&text).filter(|_| tree.depth(path) < tree.cut());
            if kind_of(acc.kinds) == SectionKind::Step {
                steps.add(acc.durations.count(), total.as_ref());
            }
            let may_miss = elsewhere.may_be_inside(acc);
            rows.push(row(text, tree.name(path), tree.depth(path), acc, phase, total.as_ref(), may_miss));
        }
        for (path, total) in totals {
            let names = split(&path);
            let depth = u16::try_from(names.len()).unwrap_or(u16::MAX);
            if depth < tree.cut() {
                let row = aggregate_row(path, &names, depth, &total);
                if row.kind == SectionKind::Step {
                    steps.add(0, Some(&total));
                }
                rows.push(row);
            }
        }
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        Self { rows, steps, unplaced: grafted.map_or(0, |grafted| grafted.unplaced) }
    }
}

fn phase_of(tree: &PathTree, path: u32, acc: &SectionAcc, around: KnownPhase) -> KnownPhase {
    if let Some(name) = acc.tag.as_ref().and_then(PhaseKey::name) {
        return Some((name, PhaseSource::Tagged));
    }
    let inferred =
        tree.inferred(path).or((kind_of(acc.kinds) == SectionKind::Batch).then_some(Phase::DataLoading));
    // A section at the top has nothing around it, although the empty path is its parent.
    let around = around.filter(|_| tree.depth(path) > 1 && path != ROOT);
    let belongs_to = |around: &(PhaseName, PhaseSource), phase| match around.0 {
        PhaseName::Known(around) => is_part(phase, around),
        PhaseName::Custom(_) => false,
    };
    let is_own = |&phase: &Phase| !around.as_ref().is_some_and(|around| belongs_to(around, phase));
    if let Some(phase) = inferred.filter(is_own) {
        return Some((PhaseName::Known(phase), PhaseSource::Inferred));
    }
    around.map(|(name, _)| (name, PhaseSource::Inherited))
}

/// The first kind that is not a plain section.
fn kind_of(kinds: u8) -> SectionKind {
    let is_seen = |kind: &&SectionKind| kinds & (1 << (**kind as u8)) != 0;
    let special = SectionKind::ALL.iter().filter(|&&kind| kind != SectionKind::Section);
    special.copied().find(|kind| is_seen(&kind)).unwrap_or(SectionKind::Section)
}

/// What has traces of its own wherever it runs, and may so be missing from the spans around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elsewhere {
    /// The shortest step, batch or request: no shorter section holds one.
    shortest_ns: Option<u64>,
    /// The shortest batch, where threads that drive steps make batches.
    shortest_batch_ns: Option<u64>,
}

impl Elsewhere {
    pub(crate) fn of(run: &RunAcc) -> Self {
        let shortest = |kinds: &[SectionKind]| {
            let is_meant = |acc: &SectionAcc| kinds.iter().any(|&kind| acc.kinds & (1 << (kind as u8)) != 0);
            let rows = run.sections.sorted().map(|(_, acc)| acc).filter(|acc| is_meant(acc));
            rows.filter(|acc| acc.durations.count() > 0).map(|acc| acc.durations.0.moments().min).min()
        };
        let makes_batches = run.instances.values().any(|acc| {
            let workers = acc.loaders.loaders.values().flat_map(|loader| loader.workers.keys());
            workers.flatten().any(|&thread| acc.outside.driving.contains_key(&Some(thread)))
        });
        Self {
            shortest_ns: shortest(&[SectionKind::Step, SectionKind::Batch, SectionKind::Request]),
            shortest_batch_ns: makes_batches.then(|| shortest(&[SectionKind::Batch])).flatten(),
        }
    }

    /// Whether a section may hold one of them, so that spans alone do not tell what it does itself.
    pub(crate) fn may_be_inside(&self, acc: &SectionAcc) -> bool {
        let reaches = |longest_ns: Option<u64>, shortest_ns: Option<u64>| {
            longest_ns.zip(shortest_ns).is_some_and(|(longest, shortest)| longest >= shortest)
        };
        let is_in_steps = acc.in_steps.iter().any(|part| part.calls > 0);
        reaches(acc.outside_ns, self.shortest_ns)
            || (is_in_steps && reaches(Some(acc.durations.0.moments().max), self.shortest_batch_ns))
    }
}

/// Part of the time that spans show as a section's own, and the sums do not, up to which both mean the same.
const SELF_TOLERANCE: f64 = 0.05;

/// A section's own time by spans. Where something inside may be in another trace, the processes' own sums have to
/// agree: they take off whatever ran inside on the same thread.
fn self_ns(acc: &SectionAcc, total: Option<&Total>, may_miss: bool) -> Option<u64> {
    let by_spans = Some(saturate(acc.self_ns)).filter(|_| acc.selfless == 0)?;
    if !may_miss {
        return Some(by_spans);
    }
    let busy_ns = saturate(total?.self_busy_ns?);
    let idle_ns = acc.figure(Figure::IdleNs).map_or(0, |idle| saturate(idle.sum));
    let most = busy_ns.saturating_add(idle_ns) as f64;
    (by_spans as f64 * (1.0 - SELF_TOLERANCE) <= most).then_some(by_spans)
}

fn row(
    path: String,
    name: &str,
    depth: u16,
    acc: &SectionAcc,
    phase: KnownPhase,
    total: Option<&Total>,
    may_miss: bool,
) -> SectionRow {
    let total = total.filter(|total| total.moments.count >= acc.durations.count());
    let spans = Stats::of(&acc.durations.0);
    let stats = match total {
        Some(total) if total.moments.count == spans.count => with_quantiles(stats_of(total), &spans),
        Some(total) => stats_of(total),
        None => spans,
    };
    let slow_excess_ns = match total {
        Some(total) if total.moments.count > spans.count => total.distribution().excess_beyond_twice_median(),
        _ => acc.durations.0.excess_beyond_twice_median(),
    };
    let has_all_calls = total.is_none_or(|total| total.moments.count == spans.count);
    let (phase, phase_source) = phase.unzip();
    SectionRow {
        path,
        name: name.to_owned(),
        depth,
        kind: kind_of(acc.kinds),
        phase,
        phase_source,
        source: if total.is_some() { FigureSource::Aggregates } else { FigureSource::Spans },
        stats,
        collapsed_calls: acc.collapsed,
        self_ns: self_ns(acc, total, may_miss).filter(|_| has_all_calls),
        self_busy_ns: total.and_then(|total| total.self_busy_ns).map(saturate),
        busy_ns: figure(acc.figure(Figure::BusyNs)),
        idle_ns: figure(acc.figure(Figure::IdleNs)),
        cpu_ns: figure(acc.figure(Figure::CpuNs)),
        run_queue_ns: figure(acc.figure(Figure::RunQueueNs)),
        samples: figure(acc.figure(Figure::Samples)),
        tokens: figure(acc.figure(Figure::Tokens)),
        bytes: figure(acc.figure(Figure::Bytes)),
        flops: figure(acc.figure(Figure::Flops)),
        memory: memory(acc, total, may_miss),
        resident: acc.resident.finish(),
        errors: acc.errors,
        device_calls: acc.device_calls,
        slow_excess_ns,
        in_steps: in_steps(acc),
    }
}

fn aggregate_row(path: String, names: &[String], depth: u16, total: &Total) -> SectionRow {
    let nothing = SectionAcc::default();
    let name = names.last().map_or("", String::as_str);
    let tagged = total.phase.as_deref().and_then(|word| PhaseKey::parse(word).name());
    let inferred = || Phase::infer(name).map(|phase| (PhaseName::Known(phase), PhaseSource::Inferred));
    let phase = tagged.map(|name| (name, PhaseSource::Tagged)).or_else(inferred);
    let kind = total.kind.as_deref().and_then(SectionKind::parse).unwrap_or(SectionKind::Section);
    SectionRow { kind, self_ns: None, ..row(path, name, depth, &nothing, phase, Some(total), false) }
}

fn stats_of(total: &Total) -> Stats {
    Stats::of(&total.distribution())
}

/// Quantiles of the spans, which can be exact, where both have seen the same calls.
fn with_quantiles(stats: Stats, spans: &Stats) -> Stats {
    Stats {
        p50: spans.p50,
        p90: spans.p90,
        p95: spans.p95,
        p99: spans.p99,
        mad: spans.mad,
        robust_cv: spans.robust_cv,
        is_exact: spans.is_exact,
        ..stats
    }
}

fn figure(sum: Option<Sum>) -> Option<FigureSum> {
    sum.map(|sum| FigureSum { spans: sum.spans, sum: saturate(sum.sum) })
}

fn memory(acc: &SectionAcc, total: Option<&Total>, may_miss: bool) -> Option<SectionMemory> {
    let sum = |figure: Figure| acc.figure(figure).unwrap_or_default();
    let (alloc, free, count) = (sum(Figure::AllocBytes), sum(Figure::FreeBytes), sum(Figure::AllocCount));
    let spans = alloc.spans.max(free.spans);
    let aggregated = total.and_then(|total| total.memory);
    if spans == 0 && aggregated.is_none() {
        return None;
    }
    let own = |sum: u128| Some(sum).filter(|_| acc.selfless == 0 && !may_miss);
    let [alloc, free, count, self_alloc, self_free] = aggregated.unwrap_or_else(|| {
        [Some(alloc.sum), Some(free.sum), Some(count.sum), own(acc.self_alloc), own(acc.self_free)]
    });
    let signed = |sum: u128| i128::try_from(sum).unwrap_or(i128::MAX);
    let net = self_alloc.zip(self_free).map(|(alloc, free)| signed(alloc).saturating_sub(signed(free)));
    let inclusive = |sum: Option<u128>| saturate(sum.unwrap_or(0));
    Some(SectionMemory {
        spans,
        alloc_bytes: inclusive(alloc),
        free_bytes: inclusive(free),
        alloc_count: inclusive(count),
        self_alloc_bytes: self_alloc.map(saturate),
        self_free_bytes: self_free.map(saturate),
        self_net_bytes: net.map(saturate_signed),
        peak_bytes: acc.peak,
    })
}

fn in_steps(acc: &SectionAcc) -> Vec<InSteps> {
    Mode::ALL
        .iter()
        .zip(&acc.in_steps)
        .filter(|(_, part)| part.calls > 0 || part.exposed_ns > 0)
        .map(|(&mode, part)| InSteps {
            mode,
            steps: part.steps,
            calls: part.calls,
            max_calls: part.max_calls,
            total_ns: saturate(part.total_ns),
            driving_ns: saturate(part.driving_ns),
            exposed_ns: saturate(part.exposed_ns),
            // Told when warm-up is.
            warmup_calls: 0,
            warmup_total_ns: 0,
            warmup_driving_ns: 0,
            warmup_exposed_ns: 0,
            longest_steady_ns: None,
        })
        .collect()
}

/// The sections with most time of their own.
pub(crate) fn slowest(rows: &[SectionRow]) -> Vec<usize> {
    ranked(rows, |row| row.is_part(), |row| row.self_ns.or(row.self_busy_ns).unwrap_or(0) as f64)
}

/// The sections whose durations vary most.
pub(crate) fn most_variable(rows: &[SectionRow], min_calls: u64) -> Vec<usize> {
    let is_ranked = |row: &SectionRow| row.is_part() && row.stats.count >= min_calls;
    let mut ranked: Vec<(usize, f64, f64)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| is_ranked(row))
        .map(|(index, row)| (index, row.stats.robust_cv.unwrap_or(0.0), row.stats.cv.unwrap_or(0.0)))
        .filter(|&(_, robust, ordinary)| robust > 0.0 || ordinary > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.total_cmp(&a.2)).then(a.0.cmp(&b.0)));
    ranked.into_iter().take(RANKED).map(|(index, ..)| index).collect()
}

fn ranked(rows: &[SectionRow], is: fn(&SectionRow) -> bool, key: fn(&SectionRow) -> f64) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..rows.len()).filter(|&index| rows.get(index).is_some_and(is)).collect();
    indices.sort_by_key(|&index| Reverse(rows.get(index).map_or(0, |row| key(row) as u64)));
    indices.truncate(RANKED);
    indices
}
