//! Phases of one trace as small numbers, so that sums by phase are arrays.

use stepscope_core::path::OTHER;
use stepscope_core::{Phase, PhaseClass};
use stepscope_model::Text;

use crate::phases::exposed_time::{NO_PHASE, class_within_thread, rank};
use crate::phases::{PhaseKey, is_part};
use crate::sections::paths::shorten;

/// The slot of no phase.
pub(crate) const ABSENT: u16 = 0;

/// User words that one trace tells apart; the others of that trace count as `(other)`.
const MAX_CUSTOM: usize = 64;

/// The slot of one of ours.
#[inline]
pub(crate) const fn known(phase: Phase) -> u16 {
    phase as u16 + 1
}

/// Slots of one trace: none, ours, then the user's words in the order of their first use.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    keys: Vec<PhaseKey>,
    /// Precedence: smaller wins.
    ranks: Vec<u64>,
    texts: Vec<Text>,
}

impl Default for Slots {
    fn default() -> Self {
        let mut keys = vec![PhaseKey::Absent];
        keys.extend(Phase::ALL.iter().map(|&phase| PhaseKey::known(phase)));
        let mut ranks = vec![NO_PHASE];
        ranks.extend(Phase::ALL.iter().map(|&phase| rank(phase.class(), phase as u64)));
        Self { keys, ranks, texts: Vec::new() }
    }
}

impl Slots {
    const KNOWN: usize = Phase::ALL.len() + 1;

    /// Forgets the words of the last trace.
    pub(crate) fn clear(&mut self) {
        self.keys.truncate(Self::KNOWN);
        self.ranks.truncate(Self::KNOWN);
        self.texts.clear();
    }

    /// Whether a section of slot `own` is a part of the phase around it.
    #[inline]
    pub(crate) fn is_part(own: u16, around: u16) -> bool {
        let phase = |slot: u16| Phase::ALL.get(usize::from(slot).checked_sub(1)?).copied();
        phase(own).zip(phase(around)).is_some_and(|(own, around)| is_part(own, around))
    }

    /// The slot of a user's word.
    pub(crate) fn custom(&mut self, text: Text, word: &str) -> u16 {
        if word.is_empty() {
            return ABSENT;
        }
        if let Some(at) = self.texts.iter().position(|&known| known == text) {
            return (Self::KNOWN + at) as u16;
        }
        let word = if self.texts.len() >= MAX_CUSTOM { OTHER } else { shorten(word) };
        let is_word = |key: &PhaseKey| matches!(key, PhaseKey::Custom(known) if **known == *word);
        if let Some(at) = self.keys.iter().position(is_word) {
            return at as u16;
        }
        self.keys.push(PhaseKey::Custom(word.into()));
        // Its class is known at once.
        self.ranks.push(rank(PhaseClass::Other, 0));
        self.texts.push(text);
        (self.keys.len() - 1) as u16
    }

    /// Ranks the user's words: after ours of the same class, by name. Due before [`Self::rank`].
    pub(crate) fn rank_customs(&mut self) {
        for at in Self::KNOWN..self.keys.len() {
            let key = self.keys.get(at);
            let smaller = self.keys.iter().skip(Self::KNOWN).filter(|&other| Some(other) < key).count();
            if let Some(slot) = self.ranks.get_mut(at) {
                *slot = rank(PhaseClass::Other, (Self::KNOWN + smaller) as u64);
            }
        }
    }

    /// Precedence of a slot.
    pub(crate) fn rank(&self, slot: u16) -> u64 {
        self.ranks.get(usize::from(slot)).copied().unwrap_or(NO_PHASE)
    }

    /// Class of a slot among those of one thread: the smaller wins.
    pub(crate) fn class(&self, slot: u16) -> u64 {
        class_within_thread(self.rank(slot))
    }

    /// The phase of a slot.
    pub(crate) fn key(&self, slot: u16) -> &PhaseKey {
        self.keys.get(usize::from(slot)).unwrap_or(&PhaseKey::Absent)
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// Sums of one slot within a group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SlotSum {
    pub(crate) exposed_ns: u64,
    pub(crate) total_ns: u64,
    pub(crate) self_ns: u64,
    pub(crate) spans: u64,
    covered_until_ns: u64,
}

impl SlotSum {
    /// Adds an interval to the union; starts come in order.
    pub(crate) fn cover(&mut self, start_ns: u64, end_ns: u64) {
        let start_ns = start_ns.max(self.covered_until_ns);
        if end_ns > start_ns {
            self.total_ns += end_ns - start_ns;
            self.covered_until_ns = end_ns;
        }
    }
}
