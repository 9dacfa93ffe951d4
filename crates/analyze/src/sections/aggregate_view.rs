//! Time of sections by the processes' own sums, for runs of which only some steps were read with their sections. The
//! sums know neither modes nor threads, and not when something ran: they tell how long sections took, warm-up and all
//! modes included, and never how much of that other work hid. When they are asked instead of the spans is decided
//! here, too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::path::{join, split};
use stepscope_core::{Mode, Phase, SectionKind};

use crate::between_steps::accumulator::OTHERS;
use crate::summary::{Coverage, FigureSource, ModeSummary, PhaseName, PhaseSum, SectionRow};

/// Steps read with all their sections are typical of a run from this share of those recorded on.
pub(crate) const TYPICAL_PERCENT: u64 = 90;

/// The sections of steps, by the sums.
#[derive(Debug)]
pub(crate) struct AggregateView<'a> {
    /// Sections inside steps, by path.
    pub(crate) inside: BTreeMap<&'a str, &'a SectionRow>,
    /// Sections with another phase than what is around them, by path.
    parts: BTreeMap<&'a str, Part<'a>>,
    /// Phases of the sections that have one themselves, by path.
    phases: BTreeMap<&'a str, &'a PhaseName>,
    /// Number and time of the steps.
    pub(crate) steps: u64,
    pub(crate) steps_ns: u64,
    /// Whether every section of steps that left spans is among them.
    is_complete: bool,
}

/// A section with another phase than what is around it.
#[derive(Debug)]
struct Part<'a> {
    row: &'a SectionRow,
    phase: &'a PhaseName,
    is_inside: bool,
    /// Phase of the outermost section around it that has one.
    outermost: Option<&'a PhaseName>,
    /// Whether none inside the step is around it.
    is_top: bool,
    /// Its time without that of the next ones inside it.
    own_ns: u64,
}

/// The paths around a section, the innermost first.
fn around(path: &str) -> Vec<String> {
    let names = split(path);
    (1..names.len()).rev().map(|end| join(names.iter().take(end).map(|name| &**name))).collect()
}

impl<'a> AggregateView<'a> {
    /// The sums of a table of sections; absent where they know no step, or nothing else.
    pub(crate) fn of(all: &'a [SectionRow]) -> Option<Self> {
        let of_kind = |is: fn(SectionKind) -> bool| -> BTreeSet<&str> {
            all.iter().filter(|row| is(row.kind)).map(|row| row.path.as_str()).collect()
        };
        let of_steps = of_kind(|kind| kind == SectionKind::Step);
        let elsewhere = of_kind(|kind| matches!(kind, SectionKind::Batch | SectionKind::Request));
        let summed = |row: &&SectionRow| row.source == FigureSource::Aggregates;
        let phases: BTreeMap<&str, &PhaseName> = all
            .iter()
            .filter(summed)
            .filter_map(|row| Some((row.path.as_str(), row.phase.as_ref()?)))
            .collect();
        let mut inside = BTreeMap::new();
        let mut parts: BTreeMap<&str, Part<'_>> = BTreeMap::new();
        let mut is_complete = true;
        for row in all.iter().filter(|row| row.is_part()) {
            let above = around(&row.path);
            if above.iter().any(|path| elsewhere.contains(path.as_str())) {
                continue;
            }
            let is_inside = above.iter().any(|path| of_steps.contains(path.as_str()));
            if !summed(&row) {
                is_complete &= !is_inside;
                continue;
            }
            if is_inside {
                inside.insert(row.path.as_str(), row);
            }
            let outer = above.iter().find_map(|path| phases.get(path.as_str()).copied());
            if let Some(phase) = row.phase.as_ref().filter(|&phase| outer != Some(phase)) {
                let own_ns = row.stats.total;
                let outermost = above.iter().rev().find_map(|path| phases.get(path.as_str()).copied());
                parts.insert(&row.path, Part { row, phase, is_inside, outermost, is_top: true, own_ns });
            }
        }
        let outers: Vec<(&str, String)> = parts
            .keys()
            .filter_map(|&path| {
                Some((path, around(path).into_iter().find(|path| parts.contains_key(path.as_str()))?))
            })
            .collect();
        for (path, outer) in outers {
            let nested_ns = parts.get(path).map_or(0, |part| part.row.stats.total);
            let Some(outer) = parts.get_mut(outer.as_str()) else { continue };
            outer.own_ns = outer.own_ns.saturating_sub(nested_ns);
            let is_top = !outer.is_inside;
            if let Some(part) = parts.get_mut(path) {
                part.is_top = is_top;
            }
        }
        let of_steps = all.iter().filter(|row| row.kind == SectionKind::Step);
        is_complete &= of_steps.clone().all(|row| summed(&row));
        let (steps, steps_ns) = of_steps.filter(summed).fold((0u64, 0u64), |(count, total), row| {
            (count.saturating_add(row.stats.count), total.saturating_add(row.stats.total))
        });
        (steps > 0 && !parts.is_empty()).then_some(Self {
            inside,
            parts,
            phases,
            steps,
            steps_ns,
            is_complete,
        })
    }

    /// Whether they tell more of the time of sections than the spans do: always where no step was read with its
    /// sections. Where few were, what is left is rarely typical (a directory within its bound keeps the slow ones), so
    /// the sums tell more if they are those of the whole run, and if the sections that give their phase to a part of a
    /// step ran on its own thread wherever that is known; what other threads do may be hidden.
    pub(crate) fn tell_more(&self, mode: &ModeSummary, coverage: &Coverage, has_all_sums: bool) -> bool {
        let recorded = u128::from(coverage.recorded_steps.unwrap_or(0));
        let is_typical =
            u128::from(coverage.whole_steps) * 100 >= recorded.saturating_mul(TYPICAL_PERCENT.into());
        let runs_beside = |row: &SectionRow| row.in_steps.iter().any(|part| part.driving_ns != part.total_ns);
        mode.whole.steps == 0
            || (!is_typical
                && has_all_sums
                && self.is_complete
                && !self.parts.values().any(|part| part.is_inside && runs_beside(part.row)))
    }

    /// The phase of the innermost section around this one that has one.
    pub(crate) fn phase_around(&self, row: &SectionRow) -> Option<&'a PhaseName> {
        around(&row.path).iter().find_map(|path| self.phases.get(path.as_str()).copied())
    }

    /// Time of sections of these phases inside steps, on whatever thread; no more than the steps took.
    pub(crate) fn inside_ns(&self, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        self.sum(|part| part.is_inside && is_meant(part.phase)).min(self.steps_ns)
    }

    /// Time of waits for batches outside of steps, without those of what is not of this mode. Other input there may be
    /// that of loaders, on threads of their own.
    pub(crate) fn between_ns(&self, mode: Mode, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        let is_of_other = |part: &Part<'_>| {
            OTHERS
                .iter()
                .any(|&(phase, other)| other != mode && part.outermost.is_some_and(|own| own.is(phase)))
        };
        self.sum(|part| {
            !part.is_inside && part.phase.is(Phase::DataWait) && is_meant(part.phase) && !is_of_other(part)
        })
    }

    fn sum(&self, is_meant: impl Fn(&Part<'a>) -> bool) -> u64 {
        let meant = self.parts.values().filter(|&part| is_meant(part));
        meant.fold(0, |sum, part| sum.saturating_add(part.own_ns))
    }

    /// The time of the steps by phase, longest first; what no phase covers is the last.
    pub(crate) fn phases(&self) -> Vec<PhaseSum> {
        let mut by_phase: BTreeMap<&PhaseName, (u64, u64)> = BTreeMap::new();
        let mut covered_ns: u64 = 0;
        for part in self.parts.values().filter(|part| part.is_inside) {
            let (calls, ns) = by_phase.entry(part.phase).or_default();
            *calls = calls.saturating_add(part.row.stats.count);
            *ns = ns.saturating_add(part.own_ns);
            if part.is_top {
                covered_ns = covered_ns.saturating_add(part.row.stats.total);
            }
        }
        let row = |phase, calls, total_ns| PhaseSum {
            phase,
            calls,
            total_ns,
            share: total_ns as f64 / self.steps_ns.max(1) as f64,
        };
        let mut rows: Vec<PhaseSum> =
            by_phase.into_iter().map(|(phase, (calls, ns))| row(Some(phase.clone()), calls, ns)).collect();
        // Stable: equal rows stay in the order of their phases.
        rows.sort_by_key(|row| Reverse(row.total_ns));
        rows.push(row(None, self.steps, self.steps_ns.saturating_sub(covered_ns)));
        rows
    }
}
