//! How many spans keep the record of one from ending, beside the span itself, which ends where its id is from: whichever
//! is the last ends the record.

use crate::shared::sync::atomic::{AtomicU64, Ordering};

/// The span has ended, and its record waits for its pending children.
const ENDED: u64 = 1;
const CHILD: u64 = 2;

/// See the module. Nothing is left in here when the record ends, so the next one begins without any.
#[derive(Debug, Default)]
pub(crate) struct PendingChildren(AtomicU64);

impl PendingChildren {
    /// Whether there are none. Once the span has ended none come: to begin inside of it takes a handle of it.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// One more, of a span that has not ended.
    pub(crate) fn add(&self) {
        self.0.fetch_add(CHILD, Ordering::Relaxed);
    }

    /// The span has ended: whether its record ends now.
    pub(crate) fn end(&self) -> bool {
        let ended = |word: u64| Some(if word < CHILD { 0 } else { word | ENDED });
        self.update(ended).is_some_and(|before| before < CHILD)
    }

    /// One less: whether the record ends now. (One that was never added is none less.)
    pub(crate) fn release(&self) -> bool {
        const LAST: u64 = CHILD | ENDED;
        let one_less = |word: u64| if word == LAST { Some(0) } else { word.checked_sub(CHILD) };
        self.update(one_less) == Some(LAST)
    }

    /// What it was before.
    fn update(&self, next: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        // Whoever ends the record comes behind all that the others have put into it.
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()
    }
}
