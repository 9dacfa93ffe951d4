//! What all connections of a receiver share, and the way of a message from there into a file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepscope_otlp::{Encoding, Signal};
use tokio::sync::watch;

use crate::budget::Budget;
use crate::check::{self, Checked};
use crate::counts::{Counts, Way};
use crate::limits::Limits;
use crate::refusal::{Kind, Refusal};
use crate::store::{Store, StoreError};
use crate::unpack::Message;

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) budget: Arc<Budget>,
    pub(crate) connections: AtomicUsize,
    /// Requests whose headers have come and whose answer has not left.
    in_flight: AtomicUsize,
    store: Mutex<Store>,
    counts: Mutex<Counts>,
    /// True from the moment when no more connections are taken.
    pub(crate) stopping: watch::Sender<bool>,
}

/// A request that is being worked on.
pub(crate) struct Underway<'s>(&'s AtomicUsize);

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(limits: Limits, store: Store) -> Self {
        Self {
            budget: Budget::new(limits.in_flight_bytes),
            limits,
            connections: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            store: Mutex::new(store),
            counts: Mutex::default(),
            stopping: watch::Sender::new(false),
        }
    }

    pub(crate) fn begin(&self) -> Underway<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Underway(&self.in_flight)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
    }

    /// Looks a message through, stores it, and says what was taken of it.
    pub(crate) fn accept(
        &self,
        message: Message,
        way: Way,
        signal: Signal,
        compressed: bool,
    ) -> Result<Checked, Refusal> {
        let encoding = if way == Way::HttpJson { Encoding::Json } else { Encoding::Proto };
        let bytes = message.bytes.len() as u64;
        let mut checked = check::check(&message.bytes, encoding, signal)
            .map_err(|reason| Refusal::new(Kind::Invalid, reason))?;
        if !checked.is_empty {
            self.store(message, encoding, signal, &mut checked)?;
        }
        let mut counts = self.counts();
        *counts.requests.entry(way).or_default() += 1;
        counts.compressed += u64::from(compressed);
        counts.bytes = counts.bytes.saturating_add(bytes);
        counts.rejected = counts.rejected.saturating_add(checked.rejected);
        match signal {
            Signal::Traces => counts.spans = counts.spans.saturating_add(checked.items),
            Signal::Metrics => counts.points = counts.points.saturating_add(checked.items),
            Signal::Logs => counts.log_messages += u64::from(!checked.is_empty),
        }
        Ok(checked)
    }

    fn store(
        &self,
        mut message: Message,
        encoding: Encoding,
        signal: Signal,
        checked: &mut Checked,
    ) -> Result<(), Refusal> {
        let bytes = std::mem::take(&mut message.bytes);
        match lock(&self.store).append(signal, encoding, bytes) {
            Ok(()) => Ok(()),
            Err(StoreError::Full(most)) => {
                // Sending it again would not help, so this is a success without success.
                checked.rejected = checked.items.max(1);
                checked.reason = format!("the files have grown to their bound of {most} bytes");
                Ok(())
            }
            Err(StoreError::Io(error)) => {
                Err(Refusal::new(Kind::Busy, format!("failed to write to a file: {error}")))
            }
        }
    }
}
