//! What is measured on one input, in rounds: each work once in every round, so that works of a round met the same machine.
//! What a processor is worth changes within minutes where neighbours share it; ratios are told by round.

use std::time::Duration;

use crate::cases::CASES;
use crate::input::{Input, Made};
use crate::measure::{Measured, Work};
use crate::programs::Programs;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A library that others use, by its name; decodes only.
    Peer(&'static str),
    /// A part of the analysis.
    Part,
    /// The analysis with one thread.
    One,
    /// The analysis with two threads.
    Two,
    /// Two analyses with one thread each, side by side: they have nothing in common but the machine, and no program gains
    /// more from a second thread.
    Apart,
}

/// One work and its measurements, one a round.
pub(crate) struct Row {
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
    work: Work,
    runs: Vec<Measured>,
}

impl Row {
    /// All for one input.
    pub(crate) fn all(input: &Input, file: &Made, programs: &Programs) -> Result<Vec<Self>, String> {
        let of = |kind, about, work| Self { kind, about, work, runs: Vec::new() };
        let mut rows = Vec::new();
        for case in CASES.iter().filter(|case| input.is_compared && case.is_for(input.format)) {
            let kind = if case.is_peer { Kind::Peer(case.name) } else { Kind::Part };
            rows.push(of(kind, case.about, Work::case(case.name, &file.path)?));
        }
        let analysis = |threads| Work::analysis(programs, &file.path, threads);
        rows.push(of(Kind::One, "stepscope analyze, 1 thread", analysis(1)));
        rows.push(of(Kind::Two, "stepscope analyze, 2 threads", analysis(2)));
        rows.push(of(Kind::Apart, "two of 1 thread side by side (CPU of one)", analysis(1)));
        Ok(rows)
    }

    /// Measures it once more.
    pub(crate) fn run(&mut self, file: &Made) -> Result<(), String> {
        let measured =
            if self.kind == Kind::Apart { self.work.measure_twice()? } else { self.work.measure()? };
        // Who sees fewer spans has done less work.
        let is_case = matches!(self.kind, Kind::Peer(_) | Kind::Part);
        if is_case && measured.output.trim() != file.spans.to_string() {
            return Err(format!("{} saw {} of {} spans", self.about, measured.output.trim(), file.spans));
        }
        self.runs.push(measured);
        Ok(())
    }

    /// The round that was over soonest: what else the machine does can only add.
    pub(crate) fn best(&self) -> Option<&Measured> {
        self.runs.iter().min_by_key(|run| run.wall)
    }

    /// The most that it took in any round.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0)
    }

    /// How many times as long this takes as `other`, round by round: the median and the quartiles.
    pub(crate) fn times(&self, other: &Self, time: fn(&Measured) -> Duration) -> Option<[f64; 3]> {
        let pairs = self.runs.iter().zip(&other.runs);
        let mut ratios: Vec<f64> =
            pairs.map(|(own, other)| time(own).as_secs_f64() / time(other).as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |quarter: usize| ratios.get(ratios.len().saturating_sub(1) * quarter / 4).copied();
        Some([at(1)?, at(2)?, at(3)?])
    }
}
