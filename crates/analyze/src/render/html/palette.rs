//! Colours by meaning: each phase has one of its own, the same in every drawing of every report. The colours
//! themselves are in `front/report.css`; here is which class a thing is of. Series that are no phases have others.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stepscope_core::Phase;

use crate::render::common::names::printable;
use crate::report::Report;
use crate::summary::PhaseName;

/// Colours that are left for words of users.
const OWN: usize = 4;

/// What no phase covers, and sections without one.
pub(super) const NO_PHASE: &str = "plain";

/// Durations of whole steps, in plots and bars.
pub(super) const STEP: &str = "s0";
pub(super) const RESIDENT: &str = "s1";
pub(super) const LIVE: &str = "s2";
/// Values of the user's own.
pub(super) const VALUE: &str = "s3";

/// Which class each phase of a report is of.
pub(super) struct Palette<'a> {
    own: BTreeMap<&'a str, usize>,
    known: Vec<&'a str>,
}

impl<'a> Palette<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        let summary = &report.summary;
        let sums = summary.phase_sums.iter().filter_map(|row| row.phase.as_ref());
        let sections = report.sections.iter().filter_map(|row| row.phase.as_ref());
        let series = report.detailed_metrics.phase_series.iter().flat_map(|row| &row.points);
        let over_steps = series.flat_map(|point| &point.exposed).map(|time| &time.phase);
        let spans = report.examples.iter().flat_map(|one| &one.spans).filter_map(|span| span.phase.as_ref());
        let all = summary.phases.iter().map(|row| &row.phase).chain(sums).chain(sections);
        Self::from_phases(all.chain(over_steps).chain(spans))
    }

    fn from_phases(phases: impl Iterator<Item = &'a PhaseName>) -> Self {
        let mut names: Vec<&str> = phases.map(PhaseName::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let (known, words): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|name| Phase::parse(name).is_some());
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        // By a hash, so that a word keeps its colour from report to report; the next free one where it is taken.
        for word in words {
            let first = hash(word) % OWN;
            let is_free = |color: &usize| !own.values().any(|taken| taken == color);
            let free = (first..first + OWN).map(|color| color % OWN).find(is_free);
            own.insert(word, free.unwrap_or(first));
        }
        Self { own, known }
    }

    /// The class of a phase.
    pub(super) fn class(&self, phase: &str) -> String {
        match (Phase::parse(phase), self.own.get(phase)) {
            (Some(phase), _) => format!("c{}", phase as usize),
            (None, Some(color)) => format!("u{color}"),
            (None, None) => NO_PHASE.into(),
        }
    }

    /// The class of what may have no phase.
    pub(super) fn of_phase(&self, phase: Option<&PhaseName>) -> String {
        phase.map_or_else(|| NO_PHASE.into(), |phase| self.class(phase.as_str()))
    }

    /// Phases and their classes, for the script.
    pub(super) fn classes(&self) -> Value {
        let names = self.known.iter().chain(self.own.keys());
        names
            .map(|name| (printable(name).to_string(), json!(self.class(name))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
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
    fn words_of_users_have_colors_of_their_own() {
        let words = ["alpha", "beta", "gamma", "delta", "epsilon"].map(|word| PhaseName::Custom(word.into()));
        let four = Palette::from_phases(words.iter().take(4));
        let mut classes: Vec<String> = words.iter().take(4).map(|word| four.class(word.as_str())).collect();
        classes.sort();
        assert_eq!(classes, ["u0", "u1", "u2", "u3"]);
        // Of more than there are colours, some share one.
        let five = Palette::from_phases(words.iter());
        assert!(words.iter().all(|word| five.class(word.as_str()).starts_with('u')));
        assert_eq!(five.class("never seen"), NO_PHASE);
    }
}
