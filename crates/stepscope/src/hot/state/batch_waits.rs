//! For how long a thread waited for batches before a step, by the source they are of: a step is told of those waits that are
//! for it, and not of those of an evaluation in between.

use stepscope_core::Mode;

/// Sources of which a thread is told apart for how long it waited: few loops take from more than two or three.
const SOURCES: usize = 8;

/// Stands for the sources that are gone.
const GONE: u64 = 0;

/// What was waited for one source.
#[derive(Debug, Default, Clone, Copy)]
struct Wait {
    source: u64,
    /// For steps of which mode alone, where that is known.
    mode: Option<Mode>,
    ns: u64,
}

/// The waits of a thread, in no step, since its last step began.
#[derive(Debug, Default)]
pub(crate) struct BatchWaits {
    /// The section that they are in: waits in others were for no step.
    around: u64,
    /// The first `count` are there.
    waits: [Wait; SOURCES],
    count: usize,
    /// In a wait that is to be added: those inside of it are part of it.
    pub(crate) is_waiting: bool,
}

impl BatchWaits {
    fn waits(&mut self) -> &mut [Wait] {
        self.waits.get_mut(..self.count).unwrap_or_default()
    }

    /// Adds a wait for a batch of `source` inside of the section with the key `around`, where it is known for steps of `mode`
    /// alone.
    pub(crate) fn add(&mut self, source: u64, mode: Option<Mode>, around: u64, ns: u64) {
        if self.around != around {
            (self.around, self.count) = (around, 0);
        }
        let mut waits = self.waits().iter_mut();
        if let Some(wait) = waits.find(|wait| (wait.source, wait.mode) == (source, mode)) {
            wait.ns = wait.ns.saturating_add(ns);
        } else if let Some(free) = self.waits.get_mut(self.count) {
            *free = Wait { source, mode, ns };
            self.count += 1;
        } else if let Some(last) = self.waits.last_mut() {
            // What steps are told is their sum.
            last.ns = last.ns.saturating_add(ns);
        }
    }

    /// There are no more batches of `source`: those that it had were for no step.
    pub(crate) fn end(&mut self, source: u64) {
        while self.remove(source).is_some() {}
    }

    /// `source` is gone, perhaps before its end. The next step may well be for its batches (several are taken for one), unless
    /// that waits for others: then it was a loop of its own, which was left early.
    pub(crate) fn leave(&mut self, source: u64) {
        while let Some(Wait { mode, ns, .. }) = self.remove(source) {
            self.add(GONE, mode, self.around, ns);
        }
    }

    fn remove(&mut self, source: u64) -> Option<Wait> {
        let position = self.waits().iter().position(|wait| wait.source == source)?;
        self.count -= 1;
        self.waits.swap(position, self.count);
        self.waits.get(self.count).copied()
    }

    /// A step of `mode` begins in the section with the key `around`: the input before it, where there was any.
    pub(crate) fn take(&mut self, mode: Mode, around: u64) -> Option<u64> {
        let is_here = self.around == around;
        let sum = |waits: &[Wait], is_gone: bool| {
            let its = waits.iter().filter(|wait| wait.mode.is_none_or(|its| its == mode));
            let its = its.filter(|wait| (wait.source == GONE) == is_gone);
            its.fold(0, |sum: u64, wait| sum.saturating_add(wait.ns))
        };
        let waits = self.waits();
        let waited_ns = match sum(waits, false) {
            0 => sum(waits, true),
            there => there,
        };
        self.count = 0;
        (is_here && waited_ns > 0).then_some(waited_ns)
    }
}

#[cfg(test)]
mod tests {
    use stepscope_core::Mode;

    use super::{BatchWaits, SOURCES};

    #[test]
    fn more_sources_than_are_told_apart_are_all_summed() {
        let mut input = BatchWaits::default();
        let count = SOURCES as u64 + 3;
        (1..=count).for_each(|source| input.add(source, None, 7, 10));
        assert_eq!(input.take(Mode::Train, 7), Some(10 * count));
        assert_eq!(input.take(Mode::Train, 7), None, "it was for that step");
        input.add(1, None, 7, 10);
        assert_eq!(
            (input.take(Mode::Train, 0), input.take(Mode::Train, 7)),
            (None, None),
            "a step elsewhere is the next one as well"
        );
    }
}
