//! Colours by meaning: each phase has one of its own, the same in every drawing of every report. The colours
//! themselves are in `front/report.css`; here is which class a thing is of. Series that are no phases have others.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stepscope_core::{Phase, ThreadState};

use super::names::printable;
use crate::report::Report;
use crate::summary::PhaseName;

/// Colours that are left for words of users.
const OWN: usize = 4;

/// Lines of sections: four colours, each whole and dashed.
const SECTIONS: usize = 8;

/// What no phase covers, and sections without one.
pub(crate) const NO_PHASE: &str = "plain";

/// Durations of whole steps, in plots and bars.
pub(crate) const STEP: &str = "s0";
pub(crate) const RESIDENT: &str = "s1";
pub(crate) const LIVE: &str = "s2";
/// What all sections hold, and what those do that are not told apart.
pub(crate) const HELD: &str = "all";
pub(crate) const HELD_OTHER: &str = "plain";

/// The class of what a thread does.
pub(crate) const fn of_state(state: ThreadState) -> &'static str {
    match state {
        ThreadState::Running => "t0",
        ThreadState::Futex => "t1",
        ThreadState::File => "t2",
        ThreadState::Pipe => "t3",
        ThreadState::Network => "t4",
        ThreadState::Poll => "t5",
        ThreadState::Sleep => "t6",
        ThreadState::Fault => "t7",
        ThreadState::Other => "t8",
    }
}

/// Which class each phase of a report is of.
pub(crate) struct Palette<'a> {
    own: BTreeMap<&'a str, usize>,
    known: Vec<&'a str>,
}

impl<'a> Palette<'a> {
    pub(crate) fn of(report: &'a Report) -> Self {
        let summary = &report.summary;
        let sums = summary.phase_sums.iter().filter_map(|row| row.phase.as_ref());
        let sections = report.sections.iter().filter_map(|row| row.phase.as_ref());
        let series = report.detailed_metrics.phase_series.iter().flat_map(|row| &row.points);
        let over_steps = series.flat_map(|point| &point.exposed).map(|time| &time.phase);
        let spans = report.exemplars.iter().flat_map(|one| &one.spans).filter_map(|span| span.phase.as_ref());
        let all = summary.phases.iter().map(|row| &row.phase).chain(sums).chain(sections);
        Self::from_phases(all.chain(over_steps).chain(spans))
    }

    fn from_phases(phases: impl Iterator<Item = &'a PhaseName>) -> Self {
        let mut names: Vec<&str> = phases.map(PhaseName::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let (known, words): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| Phase::parse(name).is_some());
        Self { own: shared(words.into_iter(), OWN), known }
    }

    /// The class of a phase.
    pub(crate) fn class(&self, phase: &str) -> String {
        match (Phase::parse(phase), self.own.get(phase)) {
            (Some(phase), _) => format!("c{}", phase as usize),
            (None, Some(color)) => format!("u{color}"),
            (None, None) => NO_PHASE.into(),
        }
    }

    /// The class of what may have no phase.
    pub(crate) fn of_phase(&self, phase: Option<&PhaseName>) -> String {
        phase.map_or_else(|| NO_PHASE.into(), |phase| self.class(phase.as_str()))
    }

    /// Phases and their classes, for the script.
    pub(crate) fn classes(&self) -> Value {
        let names = self.known.iter().chain(self.own.keys());
        names
            .map(|name| (printable(name).to_string(), json!(self.class(name))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// Of each word one of so many colours: by a hash, so that a word keeps its colour from report to report; the next free
/// one where it is taken.
fn shared<'a>(words: impl Iterator<Item = &'a str>, colors: usize) -> BTreeMap<&'a str, usize> {
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words {
        let first = hash(word) % colors;
        let is_free = |color: &usize| !taken.values().any(|taken| taken == color);
        let free = (first..first + colors).map(|color| color % colors).find(is_free);
        taken.insert(word, free.unwrap_or(first));
    }
    taken
}

/// The classes of the lines of sections, in their order.
pub(crate) fn of_sections(paths: &[&str]) -> Vec<String> {
    let mut sorted = paths.to_vec();
    sorted.sort_unstable();
    let colors = shared(sorted.into_iter(), SECTIONS);
    paths.iter().map(|path| format!("m{}", colors.get(path).copied().unwrap_or(0))).collect()
}

/// The class of a layer by its place, of a few.
pub(crate) fn of_layer(at: usize) -> String {
    format!("c{at}")
}

/// FNV-1a, folded: the upper bits of short words differ little.
fn hash(word: &str) -> usize {
    let all = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((all >> 32) ^ all) as u32 as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_keeps_its_color_whatever_else_there_is() {
        let names: Vec<PhaseName> = Phase::ALL.iter().map(|&phase| PhaseName::Known(phase)).collect();
        let all = Palette::from_phases(names.iter());
        for (at, name) in names.iter().enumerate() {
            let alone = Palette::from_phases(std::iter::once(name));
            assert_eq!(alone.class(name.as_str()), all.class(name.as_str()));
            assert_eq!(all.class(name.as_str()), format!("c{at}"));
        }
    }

    #[test]
    fn a_section_keeps_its_line_and_eight_have_one_each() {
        let paths: Vec<String> = (0..8).map(|n| format!("step/section {n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut all = of_sections(&paths);
        for (path, class) in paths.iter().zip(&all).take(1) {
            assert_eq!(of_sections(&[path]), std::slice::from_ref(class));
        }
        all.sort();
        assert_eq!(all, ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
    }
}
