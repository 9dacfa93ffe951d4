//! Time of sections by the processes' own sums, for runs whose steps were read without their sections. The sums know
//! neither modes nor threads, and not when something ran: they tell how long sections took, warm-up and all modes
//! included, and never how much of that other work hid.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::path::{join, split};
use stepscope_core::{Phase, SectionKind};

use crate::summary::{FigureSource, PhaseName, SectionRow};

/// The sections of steps, by the sums.
#[derive(Debug)]
pub(crate) struct Sums<'a> {
    /// Sections inside steps.
    pub(crate) inside: Vec<&'a SectionRow>,
    /// Outermost sections of one phase, inside steps and not.
    outermost: Vec<(&'a SectionRow, bool)>,
    /// Phases of the sections that have one themselves, by path.
    phases: BTreeMap<&'a str, &'a PhaseName>,
    /// Number and time of the steps.
    pub(crate) steps: u64,
    pub(crate) steps_ns: u64,
}

impl<'a> Sums<'a> {
    /// The sums of a table of sections; absent where they know no step, or nothing else.
    pub(crate) fn of(rows: &'a [SectionRow]) -> Option<Self> {
        let rows: Vec<(&SectionRow, Vec<String>)> = rows
            .iter()
            .filter(|row| row.source == FigureSource::Aggregates)
            .map(|row| (row, split(&row.path).iter().map(|name| name.to_string()).collect()))
            .collect();
        let of_kind = |is: fn(SectionKind) -> bool| -> BTreeSet<&str> {
            rows.iter().filter(|(row, _)| is(row.kind)).map(|(row, _)| row.path.as_str()).collect()
        };
        let of_steps = of_kind(|kind| kind == SectionKind::Step);
        let elsewhere = of_kind(|kind| matches!(kind, SectionKind::Batch | SectionKind::Request));
        let around = |names: &[String]| -> Vec<String> {
            (1..names.len()).map(|end| join(names.iter().take(end).map(String::as_str))).collect()
        };
        let phases: BTreeMap<&str, &PhaseName> =
            rows.iter().filter_map(|(row, _)| Some((row.path.as_str(), row.phase.as_ref()?))).collect();
        let mut inside = Vec::new();
        let mut outermost = Vec::new();
        for (row, names) in rows.iter().filter(|(row, _)| row.is_part()) {
            let above = around(names);
            if above.iter().any(|path| elsewhere.contains(path.as_str())) {
                continue;
            }
            let is_inside = above.iter().any(|path| of_steps.contains(path.as_str()));
            if is_inside {
                inside.push(*row);
            }
            let is_inner =
                |phase: &PhaseName| above.iter().any(|path| phases.get(path.as_str()) == Some(&phase));
            if row.phase.as_ref().is_some_and(|phase| !is_inner(phase)) {
                outermost.push((*row, is_inside));
            }
        }
        let steps = rows.iter().filter(|(row, _)| row.kind == SectionKind::Step);
        let (count, total) = steps.fold((0u64, 0u64), |(count, total), (row, _)| {
            (count.saturating_add(row.stats.count), total.saturating_add(row.stats.total))
        });
        (count > 0 && !outermost.is_empty()).then_some(Self {
            inside,
            outermost,
            phases,
            steps: count,
            steps_ns: total,
        })
    }

    /// The phase of the innermost section around this one that has one.
    pub(crate) fn phase_around(&self, row: &SectionRow) -> Option<&'a PhaseName> {
        let names = split(&row.path);
        (1..names.len()).rev().find_map(|end| {
            self.phases.get(join(names.iter().take(end).map(|name| &**name)).as_str()).copied()
        })
    }

    /// Time of sections of these phases inside steps, on whatever thread; no more than the steps took.
    pub(crate) fn inside_ns(&self, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        self.sum(true, is_meant).min(self.steps_ns)
    }

    /// Time of waits for batches outside of steps. Other input there may be that of loaders, on threads of their
    /// own.
    pub(crate) fn between_ns(&self, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        self.sum(false, |phase| phase.is(Phase::DataWait) && is_meant(phase))
    }

    fn sum(&self, inside: bool, is_meant: impl Fn(&PhaseName) -> bool) -> u64 {
        self.outermost
            .iter()
            .filter(|(row, is_inside)| *is_inside == inside && row.phase.as_ref().is_some_and(&is_meant))
            .fold(0, |sum, (row, _)| sum.saturating_add(row.stats.total))
    }
}
