//! What is recorded of sections beside their times, and of which phases there are spans: switches that a program, a file
//! or the environment sets, and that may be turned while the run goes on. What each of them spares is where it is read.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use stepscope_core::Phase;

/// Figures beside times; of each the bit.
const MEMORY: u32 = 1;
const CPU: u32 = 1 << 1;
const IO: u32 = 1 << 2;
const NETWORK: u32 = 1 << 3;

/// Their names, in the order of the documentation.
const FIGURES: [(&str, u32); 4] = [("memory", MEMORY), ("cpu", CPU), ("io", IO), ("network", NETWORK)];
const ALL_FIGURES: u32 = MEMORY | CPU | IO | NETWORK;

/// The bits of phases are above those of figures.
const PHASES: u32 = 4;
const ALL: u32 = ALL_FIGURES | ((1 << Phase::ALL.len()) - 1) << PHASES;

const fn phase_bit(phase: Phase) -> u32 {
    1 << (PHASES + phase as u32)
}

/// What is recorded of sections beside their times, and of which phases sections leave as spans: for
/// [`Builder::track`](crate::Builder::track), [`Handle::set_track`](crate::Handle::set_track) and, as text, `STEPSCOPE_TRACK`.
/// All of it unless something is switched off; what of it is taken at which level is the [`Level`](crate::Level)'s business.
///
/// A figure that is off is missing from what begins from then on: no clock, allocator or file is asked for it. Sections of a
/// phase that is off leave no span, with all inside of them, and count in the sums all the same, as a
/// [`Filter`](crate::Filter) has it. Steps, epochs, batches and the run always leave.
///
/// As text: what is recorded (`memory,cpu`: of figures only these; `phase:forward`: of the phases only this one), or what is
/// not (`-io,-phase:data_wait`: all but these); `times` is no figure at all.
///
/// ```
/// use stepscope::{Phase, Track};
///
/// let track = Track::all().io(false).network(false).phase(Phase::Optimizer, false);
/// assert_eq!(Ok(track), "-io,-network,-phase:optimizer".parse());
/// assert_eq!(Ok(Track::times().memory(true)), "memory".parse());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use = "it does nothing until a builder or a handle has it"]
pub struct Track(u32);

impl Default for Track {
    fn default() -> Self {
        Self::all()
    }
}

impl Track {
    /// Everything.
    pub const fn all() -> Self {
        Self(ALL)
    }

    /// Times, of all phases, and nothing beside them.
    pub const fn times() -> Self {
        Self(ALL & !ALL_FIGURES)
    }

    /// Allocations of sections, resident memory of steps and of the process (`memory`).
    pub const fn memory(self, yes: bool) -> Self {
        self.with(MEMORY, yes)
    }

    /// CPU time, time in the run queue, context switches and page faults (`cpu`). Without, a report cannot tell what worked
    /// from what waited.
    pub const fn cpu(self, yes: bool) -> Self {
        self.with(CPU, yes)
    }

    /// Bytes read and written (`io`).
    pub const fn io(self, yes: bool) -> Self {
        self.with(IO, yes)
    }

    /// Bytes received and sent (`network`).
    pub const fn network(self, yes: bool) -> Self {
        self.with(NETWORK, yes)
    }

    /// Spans of the sections of this phase, be it said or implied by their name (`phase:forward`).
    pub const fn phase(self, phase: Phase, yes: bool) -> Self {
        self.with(phase_bit(phase), yes)
    }

    const fn with(self, bit: u32, yes: bool) -> Self {
        Self(if yes { self.0 | bit } else { self.0 & !bit })
    }

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    pub(crate) const fn has_memory(self) -> bool {
        self.has(MEMORY)
    }

    pub(crate) const fn has_cpu(self) -> bool {
        self.has(CPU)
    }

    pub(crate) const fn has_io(self) -> bool {
        self.has(IO)
    }

    pub(crate) const fn has_network(self) -> bool {
        self.has(NETWORK)
    }

    pub(crate) const fn has_phase(self, phase: Phase) -> bool {
        self.has(phase_bit(phase))
    }

    pub(crate) const fn has_all_phases(self) -> bool {
        self.0 & !ALL_FIGURES == ALL & !ALL_FIGURES
    }

    /// What the parts of `text` say that can be understood; the others are handed to `refuse`.
    pub(crate) fn parse(text: &str, mut refuse: impl FnMut(TrackError)) -> Self {
        // What is named alone is all that there is of its kind.
        let (mut named, mut off, mut are_figures_named) = (0, 0, false);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let name = part.strip_prefix('-').map(str::trim_start);
            match (part, name, bit(name.unwrap_or(part))) {
                ("times", ..) => are_figures_named = true,
                (_, None, Some(bit)) => {
                    named |= bit;
                    are_figures_named |= bit & ALL_FIGURES != 0;
                }
                (_, Some(_), Some(bit)) => off |= bit,
                _ => refuse(TrackError(part.to_owned())),
            }
        }
        let of_kind = |kind: u32, is_named: bool| if is_named { named & kind } else { kind };
        let phases = ALL & !ALL_FIGURES;
        Self((of_kind(ALL_FIGURES, are_figures_named) | of_kind(phases, named & phases != 0)) & !off)
    }
}

/// The bit of a figure or a phase.
fn bit(name: &str) -> Option<u32> {
    match name.strip_prefix("phase:") {
        Some(phase) => Phase::parse(phase).map(phase_bit),
        None => FIGURES.iter().find(|(known, _)| *known == name).map(|&(_, bit)| bit),
    }
}

impl fmt::Debug for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Track({self})")
    }
}

/// The text that says the same.
impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = FIGURES.iter().filter(|&&(_, bit)| self.has(bit)).map(|&(name, _)| name.to_owned());
        let off = Phase::ALL.iter().filter(|&&phase| !self.has_phase(phase));
        let off = off.map(|phase| format!("-phase:{}", phase.as_str()));
        let figures: Vec<String> = figures.collect();
        let figures = if figures.is_empty() { vec!["times".to_owned()] } else { figures };
        f.write_str(&figures.into_iter().chain(off).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Track {
    type Err = TrackError;

    fn from_str(text: &str) -> Result<Self, TrackError> {
        let mut refused = None;
        let track = Self::parse(text, |error| refused = refused.take().or(Some(error)));
        refused.map_or(Ok(track), Err)
    }
}

/// A part of a text that is neither a figure nor a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackError(String);

impl fmt::Display for TrackError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FIGURES.map(|(name, _)| name).join(", ");
        write!(
            formatter,
            "{:?} is none of times, {known} and phase:forward and its like, nor one with - before it",
            self.0
        )
    }
}

impl std::error::Error for TrackError {}

/// What is tracked now.
#[derive(Debug)]
pub(crate) struct Tracked(AtomicU32);

impl Tracked {
    pub(crate) fn new(track: Track) -> Self {
        Self(AtomicU32::new(track.0))
    }

    #[inline]
    pub(crate) fn get(&self) -> Track {
        Track(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, track: Track) {
        self.0.store(track.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_what_is_tracked_or_what_is_not() {
        for (text, expected) in [
            ("", Track::all()),
            ("memory, cpu", Track::all().io(false).network(false)),
            ("-io,- network", Track::all().io(false).network(false)),
            ("times", Track::times()),
            ("times,cpu", Track::times().cpu(true)),
            ("memory,-memory", Track::times()),
            ("-phase:forward", Track::all().phase(Phase::Forward, false)),
            ("phase:forward,phase:io,-cpu", {
                let none = Phase::ALL.iter().fold(Track::all(), |track, &phase| track.phase(phase, false));
                none.phase(Phase::Forward, true).phase(Phase::Io, true).cpu(false)
            }),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for wrong in ["memroy", "phase:forwards", "forward", "-times", "phase:", "-", "cpu,gpus"] {
            let said = wrong.parse::<Track>().unwrap_err().to_string();
            assert!(said.contains("memory, cpu, io, network"), "{said}");
        }
        let mut refused = Vec::new();
        assert_eq!(Track::parse("cpu,gpus", |error| refused.push(error.0)), Track::times().cpu(true));
        assert_eq!(refused, ["gpus"]);
    }

    #[test]
    fn its_text_says_the_same() {
        let some = Track::all().io(false).phase(Phase::DataWait, false).phase(Phase::Other, false);
        for track in [Track::all(), Track::times(), some, Track::times().phase(Phase::Io, false)] {
            assert_eq!(track.to_string().parse(), Ok(track), "{track}");
        }
        assert_eq!(some.to_string(), "memory,cpu,network,-phase:data_wait,-phase:other");
    }

    #[test]
    fn every_switch_is_one_of_its_own() {
        let figures = FIGURES.map(|(_, bit)| bit);
        let phases = Phase::ALL.iter().map(|&phase| phase_bit(phase));
        assert_eq!(figures.into_iter().chain(phases.clone()).fold(0, |all, bit| all | bit), ALL);
        assert_eq!(figures.into_iter().chain(phases).map(u32::count_ones).sum::<u32>(), ALL.count_ones());
        assert!(Track::all().has_all_phases() && Track::times().has_all_phases());
        assert!(!Track::all().phase(Phase::Compile, false).has_all_phases());
    }
}
