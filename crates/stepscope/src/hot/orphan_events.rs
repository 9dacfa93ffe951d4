//! Errors and warnings outside of all sections that leave a span: they go with the run's own span. Which section an event
//! belongs to is the business of `hooks`.

use std::sync::{Mutex, PoisonError};

use crate::hot::open::Open;
use crate::shared::attrs::Entry;

/// Events that are kept; of further ones the number.
const MAX_KEPT: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct OrphanEvents(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    events: Vec<(u64, bool, String)>,
    more: u16,
}

impl OrphanEvents {
    /// Takes the event of this time with this message.
    #[cold]
    pub(crate) fn keep(&self, time_ns: u64, is_error: bool, text: String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.events.len() < MAX_KEPT {
            kept.events.push((time_ns, is_error, text));
        } else {
            kept.more = kept.more.saturating_add(1);
        }
    }

    /// Gives everything to the span of the run, which has not failed for that.
    pub(crate) fn give_to(&self, run: &Open) {
        let kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for (time_ns, is_error, text) in &kept.events {
            run.push(true, Entry::Event(*time_ns, *is_error, text));
        }
        if kept.more > 0 {
            run.rest().attrs.leave_out_events(kept.more);
        }
    }
}
