//! Which epoch a step is in: the one around it on its own thread, or, where there is none, as on threads that work for
//! another one, the one of those open in the process that began last.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use stepscope_core::SectionKind;

use crate::hot::open::{Open, Parent, Spec};
use crate::hot::path_cache::Place;
use crate::hot::state::ThreadState;
use crate::shared::lock::lock;

/// Epochs that are remembered: what never ends (a guard that is forgotten) takes no more.
const MAX_OPEN: usize = 64;

/// No number.
const NONE: i64 = -1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Epochs {
    /// The number of the last one of those below, for steps: they take no lock.
    latest: AtomicI64,
    /// Id of the span and number of each, in the order in which they began.
    open: Mutex<Vec<(u64, i64)>>,
}

impl Epochs {
    pub(crate) fn new() -> Self {
        Self { latest: AtomicI64::new(NONE), open: Mutex::default() }
    }

    /// The number of the one that began last, if it has one.
    pub(crate) fn latest(&self) -> Option<u64> {
        u64::try_from(self.latest.load(Ordering::Relaxed)).ok()
    }

    pub(crate) fn begin(&self, span_id: u64, number: Option<u64>) {
        let number = number.and_then(|number| i64::try_from(number).ok()).unwrap_or(NONE);
        let mut open = lock(&self.open);
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push((span_id, number));
        self.latest.store(number, Ordering::Relaxed);
    }

    /// Forgets that one; what others say stays.
    pub(crate) fn end(&self, span_id: u64) {
        let mut open = lock(&self.open);
        open.retain(|&(id, _)| id != span_id);
        self.latest.store(open.last().map_or(NONE, |&(_, number)| number), Ordering::Relaxed);
    }
}

impl ThreadState {
    /// As [`begin`](Self::begin) of an epoch whose place is known.
    #[cold]
    pub(crate) fn begin_epoch(
        &mut self,
        open: &Open,
        place: Place,
        spec: &Spec,
        parent: Option<Parent>,
    ) -> bool {
        open.set_epoch(spec.epoch);
        let has_begun = self.begin_at(open, place, spec, parent);
        if has_begun {
            self.recorder.epochs.begin(open.span_id(), spec.epoch);
        }
        has_begun
    }

    /// The number of the epoch around what begins here: of the innermost one that is entered on this thread, or else of
    /// the one that began last in the process.
    pub(crate) fn epoch(&self) -> Option<u64> {
        let own = self.entered().find(|&(_, kind)| kind == SectionKind::Epoch);
        match own.and_then(|(key, _)| self.open(key)) {
            Some((open, _)) => open.epoch(),
            None => self.recorder.epochs.latest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_that_ends_takes_away_its_own_number_and_no_other() {
        let epochs = Epochs::new();
        assert_eq!(epochs.latest(), None);
        epochs.begin(1, Some(7));
        epochs.begin(2, Some(0));
        assert_eq!(epochs.latest(), Some(0));
        epochs.end(2);
        assert_eq!(epochs.latest(), Some(7));
        // In any order, without a number, and more than once.
        epochs.begin(3, None);
        assert_eq!(epochs.latest(), None);
        epochs.begin(4, Some(9));
        epochs.end(3);
        epochs.end(1);
        assert_eq!(epochs.latest(), Some(9));
        epochs.end(1);
        epochs.end(4);
        assert_eq!(epochs.latest(), None);
        // What never ends has no room without end.
        (0..1_000).for_each(|number| epochs.begin(10 + number, Some(number)));
        assert_eq!((epochs.latest(), lock(&epochs.open).len()), (Some(999), MAX_OPEN));
    }
}
