//! The way to talk to the background thread: orders to flush and to end, and the answers. What an order makes
//! the thread do is in `background`.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a flush went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a flush may not have reached its goal"]
pub enum Flushed {
    /// What had been recorded before is written, and acknowledged where it was sent. It says nothing of what was lost
    /// before the flush began, which is in the figures ([`Figures::spans`](crate::Figures::spans)) and the report: where an
    /// exporter has refused everything so far and nothing is left to flush, this is the answer. Nor of rings that were full,
    /// nor of what is not recorded: at level `off`, or in a forked child, there is nothing to flush.
    Complete,
    /// It has left, but for this many spans that were lost while it was flushed: the disk was full, or the
    /// endpoint refused them for good. They are in the report's losses, too. Where the directory or the endpoint could
    /// not be used from the start, these are all the spans that were to go there since then. After the end of a run it is said
    /// of what was left then. 0 where all spans have left, but the directory has not taken the last sums of sections.
    Dropped(u64),
    /// The time was over before everything was written and acknowledged. It is tried further, unless the background thread
    /// has died of a panic of its own, which it says: then this is the answer at once, nothing leaves any more,
    /// and what has not left is lost and counted. It is the answer, too, where that thread could not be started, so that
    /// nothing is recorded.
    TimedOut,
}

impl Flushed {
    /// Whether nothing was lost and nothing is under way any more.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self == Self::Complete
    }
}

/// How far a flush goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Written to files and handed to the transport.
    Written,
    /// Acknowledged or dropped, too; no longer worth waiting for once the endpoint is in trouble.
    DeliveredIfWell,
    /// Acknowledged or dropped, too.
    Delivered,
}

/// One order to flush.
#[derive(Debug)]
struct Request {
    ticket: u64,
    reach: Reach,
    /// The background thread has seen it.
    is_taken: bool,
    answer: Option<Flushed>,
}

#[derive(Debug, Default)]
struct Orders {
    tickets: u64,
    requests: Vec<Request>,
    /// The program asks for the end, which is to be reached by then.
    end: Option<Instant>,
    outcome: Option<Ending>,
}

/// How the background thread came to its end.
#[derive(Debug, Clone, Copy)]
enum Ending {
    /// What was left was written, or lost: what a flush of it has come to.
    Orderly(Flushed),
    /// It died, and what was left with it.
    Died,
}

impl Ending {
    /// What a flush is answered that comes later, or that was not answered before.
    fn answer(self) -> Flushed {
        match self {
            Self::Orderly(flushed) => flushed,
            Self::Died => Flushed::TimedOut,
        }
    }
}

/// The longest time that is waited for, where a program names a longer one.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// When `timeout`, which may be as long as the type has room for, is over.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(timeout.min(MAX_TIMEOUT)).unwrap_or(now)
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Control {
    orders: Mutex<Orders>,
    changed: Condvar,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything recorded so far written and delivered, as far as `reach` says, and waits for it, at most
    /// `timeout`.
    pub(crate) fn flush(&self, timeout: Duration, reach: Reach) -> Flushed {
        let mut orders = self.lock();
        if let Some(ending) = orders.outcome {
            return ending.answer();
        }
        orders.tickets += 1;
        let ticket = orders.tickets;
        orders.requests.push(Request { ticket, reach, is_taken: false, answer: None });
        self.changed.notify_all();
        let is_open = |request: &Request| request.ticket == ticket && request.answer.is_none();
        let waited = self.changed.wait_timeout_while(orders, timeout, |orders| {
            orders.outcome.is_none() && orders.requests.iter().any(is_open)
        });
        let (mut orders, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let answer =
            orders.requests.iter().find(|request| request.ticket == ticket).and_then(|own| own.answer);
        orders.requests.retain(|request| request.ticket != ticket);
        answer.or(orders.outcome.map(Ending::answer)).unwrap_or(Flushed::TimedOut)
    }

    /// Ends the run and waits for it, a little longer than `timeout` at most. Whether it was done.
    pub(crate) fn end(&self, timeout: Duration) -> bool {
        let mut orders = self.lock();
        if orders.end.is_none() {
            orders.end = Some(deadline(timeout));
        }
        self.changed.notify_all();
        let timeout = timeout.saturating_add(Duration::from_millis(500));
        let waited = self.changed.wait_timeout_while(orders, timeout, |orders| orders.outcome.is_none());
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .outcome
            .is_some_and(|ending| matches!(ending, Ending::Orderly(_)))
    }

    /// For the background thread: the requests that are new (ticket and reach), and the end that is ordered.
    pub(crate) fn take(&self) -> (Vec<(u64, Reach)>, Option<Instant>) {
        let mut orders = self.lock();
        let fresh = orders.requests.iter_mut().filter(|request| !request.is_taken);
        let taken = fresh.map(|request| {
            request.is_taken = true;
            (request.ticket, request.reach)
        });
        (taken.collect(), orders.end)
    }

    /// Whether the end is ordered.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().end.is_some()
    }

    /// For the background thread: answers a request, if it still waits.
    pub(crate) fn answer(&self, ticket: u64, answer: Flushed) {
        let mut orders = self.lock();
        for request in orders.requests.iter_mut().filter(|request| request.ticket == ticket) {
            request.answer = Some(answer);
        }
        drop(orders);
        self.changed.notify_all();
    }

    /// For the background thread: waits for orders, at most until `time`.
    pub(crate) fn wait_until(&self, time: Instant) {
        let orders = self.lock();
        if orders.end.is_none() && orders.requests.iter().all(|request| request.is_taken) {
            // Woken by orders; otherwise time is all that has to pass.
            drop(self.changed.wait_timeout(orders, time.saturating_duration_since(Instant::now())));
        }
    }

    /// For the background thread: the run has ended, and what was left has come to this.
    pub(crate) fn set_ended(&self, flushed: Flushed) {
        self.conclude(Ending::Orderly(flushed));
    }

    /// For the background thread: it dies before the end. Nobody waits for it any more, and nobody is told that all is well.
    pub(crate) fn set_died(&self) {
        self.conclude(Ending::Died);
    }

    fn conclude(&self, ending: Ending) {
        // An end that was reached stays one.
        self.lock().outcome.get_or_insert(ending);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Control, Flushed, Reach};

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn after_the_end_a_flush_is_told_what_the_end_came_to() {
        for outcome in [Flushed::Complete, Flushed::Dropped(12)] {
            let control = Control::default();
            control.set_ended(outcome);
            assert!(control.end(LONG));
            assert_eq!(control.flush(LONG, Reach::Delivered), outcome);
            // What comes later changes nothing.
            control.set_died();
            assert_eq!(control.flush(LONG, Reach::Written), outcome);
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_died_nor_hears_that_all_is_well() {
        let control = Arc::new(Control::default());
        let waiting = {
            let control = Arc::clone(&control);
            let flush = move || control.flush(LONG, Reach::Delivered);
            std::thread::Builder::new().name("flush".into()).spawn(flush).unwrap()
        };
        while control.take().0.is_empty() {
            std::thread::yield_now();
        }
        control.set_died();
        assert_eq!(waiting.join().unwrap(), Flushed::TimedOut);
        assert_eq!(control.flush(LONG, Reach::Written), Flushed::TimedOut);
        assert!(!control.end(LONG));
    }
}
