//! Where a reader puts what it finds: [`Sink`]; and what its second thread may do besides: [`Errand`]. What is done with
//! traces is the caller's business.

use std::sync::Arc;

use stepscope_otlp::{Signal, Visitor};

use crate::{MetricPoint, Resource, Trace};

/// Receives whole traces and metric points while a [`Reader`](crate::Reader) reads.
#[expect(unused_variables, reason = "default methods name their parameters for the documentation")]
pub trait Sink {
    /// One trace. It is reused for the next one: copy what must stay, or exchange it in [`Self::exchange`].
    fn trace(&mut self, trace: &Trace);

    /// One trace, in place of [`Self::trace`], which it calls if it is not told otherwise. Another one may be left in its
    /// place, of whatever content: the next one is written over it.
    fn exchange(&mut self, trace: &mut Trace) {
        self.trace(trace);
    }

    /// One point of one of stepscope's own metrics, of a machine's or device's, or of any gauge. The same point may come more than once (retries, a file
    /// given twice); `start_unix_ns` is 0 where absent.
    fn metric(
        &mut self,
        resource: &Arc<Resource>,
        start_unix_ns: u64,
        time_unix_ns: u64,
        point: &MetricPoint,
    ) {
    }

    /// Where the items of a message of `signal` go as they stand in the input, every attribute with them.
    /// Nothing is assembled of what goes there, and no span is left out because it repeats another.
    fn raw(&mut self, signal: Signal) -> Option<&mut dyn Visitor> {
        None
    }

    /// How far the input at hand (a file, or all files of a directory) has been read, in bytes as stored;
    /// called about every MiB. The total is unknown for streams.
    fn progress(&mut self, bytes_read: u64, bytes_total: Option<u64>) {}
}

/// What a reader's second thread does while it has nothing to decode: the caller's own work on what it was given.
pub trait Errand: std::fmt::Debug + Send + Sync {
    /// Does a little of it, some tens of microseconds; whether there was something to do. Where there was not, it is asked
    /// again after one of the next messages.
    fn run(&self) -> bool;
}
