//! Phases as keys of accumulators, and the bounded table over them.

pub(crate) mod exposed_time;
pub(crate) mod observe;
pub(crate) mod per_step;
pub(crate) mod phase_point;
pub(crate) mod section_time;
pub(crate) mod summary;
pub(crate) mod waits;
pub(crate) mod workers;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::Phase;
use stepscope_core::path::OTHER;

use crate::accumulate::Merge;
use crate::summary::PhaseName;

/// Phases that are a part of a checkpoint where they are inside of one: what it copies, waits for and writes.
const IN_CHECKPOINTS: [Phase; 5] =
    [Phase::DeviceToHost, Phase::HostToDevice, Phase::Synchronization, Phase::Io, Phase::Other];

/// Whether a section of phase `own` is a part of the phase around it, and no other.
pub(crate) fn is_part(own: Phase, around: Phase) -> bool {
    around == Phase::Checkpoint && IN_CHECKPOINTS.contains(&own)
}

/// A phase, or that there is none. Ours sort before users' words, those before none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum PhaseKey {
    /// One of ours, by index.
    Known(u8),
    /// The user's own word.
    Custom(Box<str>),
    /// No phase.
    Absent,
}

impl PhaseKey {
    /// The key of one of ours.
    pub(crate) const fn known(phase: Phase) -> Self {
        Self::Known(phase as u8)
    }

    /// The key of a phase as written on the wire; empty means none.
    pub(crate) fn parse(text: &str) -> Self {
        match Phase::parse(text) {
            Some(phase) => Self::known(phase),
            None if text.is_empty() => Self::Absent,
            None => Self::Custom(text.into()),
        }
    }

    /// The name in a summary.
    pub(crate) fn name(&self) -> Option<PhaseName> {
        match self {
            Self::Known(index) => Some(PhaseName::Known(Phase::from_index(*index).unwrap_or(Phase::Other))),
            Self::Custom(word) => Some(PhaseName::Custom(word.to_string())),
            Self::Absent => None,
        }
    }

    const fn is_custom(&self) -> bool {
        matches!(self, Self::Custom(_))
    }
}

/// Accumulators by phase. Beyond the bound on users' words the largest are counted together as
/// `(other)`: which those are depends on the set of words only.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PhaseMap<T>(BTreeMap<PhaseKey, T>);

impl<T> Default for PhaseMap<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Merge + Clone> PhaseMap<T> {
    /// Adds `value` to the accumulator of `key`.
    pub(crate) fn add(&mut self, key: &PhaseKey, value: &T, custom_bound: usize) {
        if let Some(mine) = self.0.get_mut(key) {
            mine.absorb(value);
            return;
        }
        self.0.insert(key.clone(), value.clone());
        if key.is_custom() {
            self.bound_customs(custom_bound);
        }
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, custom_bound: usize) {
        other.0.iter().for_each(|(key, value)| self.add(key, value, custom_bound));
    }

    /// That of one phase.
    pub(crate) fn get(&self, key: &PhaseKey) -> Option<&T> {
        self.0.get(key)
    }

    /// All of them, by phase.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PhaseKey, &T)> {
        self.0.iter()
    }

    /// All of them, by phase, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&PhaseKey, &mut T)> {
        self.0.iter_mut()
    }

    /// Whether words were counted together.
    pub(crate) fn is_folded(&self) -> bool {
        self.0.contains_key(&PhaseKey::Custom(OTHER.into()))
    }

    fn bound_customs(&mut self, bound: usize) {
        let other = PhaseKey::Custom(OTHER.into());
        loop {
            let customs = self.0.keys().filter(|key| key.is_custom() && **key != other);
            if customs.clone().count() <= bound {
                return;
            }
            let Some(last) = customs.last().cloned() else { return };
            let Some(value) = self.0.remove(&last) else { return };
            match self.0.get_mut(&other) {
                Some(mine) => mine.absorb(&value),
                None => {
                    self.0.insert(other.clone(), value);
                }
            }
        }
    }
}
