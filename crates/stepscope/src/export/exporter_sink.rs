//! The sink in front of an exporter of the program's own: a bounded queue, and the thread on which the exporter works.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use stepscope_core::LossReason;

use super::encode::{Context, write_span};
use super::message::{Encoder, Message, with_encoder};
use super::publish::Snapshot;
use super::{Sink, warn_once};
use crate::config::Format;
use crate::export::exporter::{Exported, Exporter};
use crate::os::catch_panic::catch_panic;
use crate::shared::lock::lock;
use crate::shared::record::SectionRecord;
use crate::shared::sink_counts::SinkCounts;

/// Name on the wire.
pub(crate) const NAME: &str = "exporter";

/// A message is handed over when it has grown to this size: some thousand spans, well below what receivers take.
const MESSAGE_BYTES: usize = 512 << 10;

/// Bytes of messages that may wait.
const QUEUE_BYTES: usize = 16 << 20;

#[derive(Debug)]
struct Batch {
    /// Messages are numbered from 1 in the order in which they are made.
    number: u64,
    request: Vec<u8>,
    spans: u64,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Batch>,
    queue_bytes: usize,
    /// Number and spans of the one that the exporter has.
    in_flight: Option<(u64, u64)>,
    counts: SinkCounts,
    is_in_trouble: bool,
    /// Nothing more comes.
    is_closed: bool,
    /// The thread has done everything.
    has_ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct ExporterSink {
    shared: Arc<Shared>,
    traces: Message,
    last: u64,
    warned_slow: bool,
    warned_end: bool,
}

impl ExporterSink {
    pub(crate) fn create(exporter: Box<dyn Exporter>) -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let theirs = Arc::clone(&shared);
        let live = move || {
            crate::hot::thread::suppress();
            // Nothing that happens here is the program's, nor what is freed when this is left.
            let _own = ManuallyDrop::new(crate::os::memory::own_call());
            theirs.serve(exporter);
        };
        let thread = std::thread::Builder::new().name("stepscope-export".into());
        crate::os::sys::shielded(|| thread.spawn(live))?;
        Ok(Self {
            shared,
            traces: Message::new(Encoder::traces(Format::Protobuf)),
            last: 0,
            warned_slow: false,
            warned_end: false,
        })
    }

    fn enqueue(&mut self) {
        let (message, spans) = self.traces.finish();
        if spans == 0 {
            return;
        }
        self.last += 1;
        let batch = Batch { number: self.last, request: message.to_vec(), spans };
        self.traces.clear();
        if self.shared.put(batch) {
            let text = format!(
                "the program's exporter takes spans more slowly than they come; what does not fit into {} MiB is \
                 dropped and counted",
                QUEUE_BYTES >> 20
            );
            warn_once(&mut self.warned_slow, &text);
        }
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&mut self) {
        lock(&self.shared.state).is_closed = true;
        self.shared.changed.notify_all();
    }

    /// Waits until the exporter is done, until `deadline` at most, and counts what it has not taken by then.
    pub(crate) fn end(&mut self, deadline: Instant) {
        self.close();
        let mut state = lock(&self.shared.state);
        while !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let in_flight = state.in_flight.take().map_or(0, |(_, spans)| spans);
        state.counts.drop_spans(LossReason::ExportUnknown, in_flight);
        let waiting = std::mem::take(&mut state.queue).iter().map(|batch| batch.spans).sum::<u64>();
        state.queue_bytes = 0;
        state.counts.drop_spans(LossReason::ExportFailed, waiting);
        drop(state);
        if in_flight + waiting > 0 {
            let text =
                "the program's exporter did not take everything before the program ended; losses are counted";
            warn_once(&mut self.warned_end, text);
        }
    }
}

impl Shared {
    /// Whether older ones had to go for it.
    fn put(&self, batch: Batch) -> bool {
        let mut state = lock(&self.state);
        state.queue_bytes += batch.request.len();
        state.queue.push_back(batch);
        let mut is_full = false;
        while state.queue_bytes > QUEUE_BYTES {
            let Some(oldest) = state.queue.pop_front() else { break };
            state.queue_bytes -= oldest.request.len();
            state.counts.drop_spans(LossReason::ExportFailed, oldest.spans);
            is_full = true;
        }
        drop(state);
        self.changed.notify_all();
        is_full
    }

    fn take(&self) -> Option<Batch> {
        let mut state = lock(&self.state);
        loop {
            if let Some(batch) = state.queue.pop_front() {
                state.queue_bytes -= batch.request.len();
                state.in_flight = Some((batch.number, batch.spans));
                return Some(batch);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The life of the exporter's thread.
    fn serve(&self, mut exporter: Box<dyn Exporter>) {
        let mut warned = false;
        while let Some(batch) = self.take() {
            let export = || exporter.export(&batch.request, batch.spans);
            let exported = catch_panic(export).unwrap_or_else(|| Exported::Unknown("it panicked".into()));
            let why = self.settle(batch.spans, exported);
            if let Some(why) = why {
                let text = format!(
                    "the program's exporter did not take all spans: {why}; the program goes on, losses are counted"
                );
                warn_once(&mut warned, &text);
            }
        }
        catch_panic(|| exporter.shutdown());
        // How it is dropped is the program's, too.
        catch_panic(|| drop(exporter));
        lock(&self.state).has_ended = true;
        self.changed.notify_all();
    }

    /// Counts what became of the batch that the exporter had, unless it was given up meanwhile; why some were lost.
    fn settle(&self, spans: u64, exported: Exported) -> Option<String> {
        let mut state = lock(&self.state);
        state.in_flight.take()?;
        let (lost, reason, why) = match exported {
            Exported::Taken => (0, LossReason::ExportRejected, None),
            Exported::Rejected(rejected, why) => {
                (rejected.min(spans), LossReason::ExportRejected, (rejected > 0).then_some(why))
            }
            Exported::NotTaken(why) => (spans, LossReason::ExportFailed, Some(why)),
            Exported::Unknown(why) => (spans, LossReason::ExportUnknown, Some(why)),
        };
        state.counts.exported += spans - lost;
        state.counts.drop_spans(reason, lost);
        state.is_in_trouble = lost == spans;
        why
    }
}

impl Sink for ExporterSink {
    fn name(&self) -> &'static str {
        NAME
    }

    fn record(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8]) {
        let encoder = self.traces.next(context);
        with_encoder!(encoder, encoder => write_span(encoder.as_mut(), context, record, entries));
        if self.traces.len() >= MESSAGE_BYTES {
            self.enqueue();
        }
    }

    fn publish(&mut self, _: &Context<'_>, _: &Snapshot) {}

    fn flush(&mut self, _: &Context<'_>) {
        self.enqueue();
    }

    fn work(&mut self, _: Instant) -> bool {
        let state = lock(&self.shared.state);
        state.in_flight.is_some() || !state.queue.is_empty()
    }

    fn counts(&self) -> SinkCounts {
        lock(&self.shared.state).counts
    }

    fn handed_over(&self) -> u64 {
        self.last
    }

    fn settled(&self) -> u64 {
        let state = lock(&self.shared.state);
        let waiting = state.queue.front().map(|batch| batch.number);
        state.in_flight.map(|(number, _)| number).or(waiting).map_or(self.last, |first| first - 1)
    }

    fn is_in_trouble(&self) -> bool {
        lock(&self.shared.state).is_in_trouble
    }
}

#[cfg(test)]
mod tests;
