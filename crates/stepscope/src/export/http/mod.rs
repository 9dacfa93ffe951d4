//! The OTLP sink: protobuf over HTTP/1.1 or gRPC, with TLS where asked for, on the background thread's own
//! current-thread runtime. A few requests at once over connections that are kept, a bounded queue behind them; failed
//! requests are tried again with growing pauses. What one request goes through is in `exchange`, where it goes in
//! `target`, its bytes in `pack`.

mod connection;
mod exchange;
#[cfg(feature = "grpc")]
mod grpc;
mod pack;
mod pause;
mod progress;
mod target;
#[cfg(feature = "tls")]
mod tls;

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use stepscope_core::LossReason;

use super::encode::{Context, write_span};
#[cfg(feature = "metrics")]
use super::gauges::{NOT_SENT, write_gauges};
#[cfg(feature = "mem")]
use super::live_memory::encode_live_memory;
use super::message::{Encoder, Message, with_encoder};
use super::publish::{Publisher, Snapshot, write_metrics};
use super::run_info::write_run_info;
use super::{OTLP, Sink, warn_once};
use crate::config::Format;
use crate::shared::record::SectionRecord;
use crate::shared::sink_counts::SinkCounts;
use connection::Connection;
use exchange::Outcome;
use pack::Body;
use pause::pause;
use target::Target;
pub(crate) use target::Targets;

/// A message is sent when it has grown to this size; well below the 4 MiB that receivers take.
const MESSAGE_BYTES: usize = 1 << 20;

/// Bytes of messages that may wait.
const QUEUE_BYTES: usize = 16 << 20;

/// Where a collector takes gRPC.
const GRPC_PORT: u16 = 4317;

/// Requests at once, to a receiver that answers.
const MAX_IN_FLIGHT: usize = 4;

/// A receiver whose answer takes longer is in trouble.
const USUAL_ANSWER: Duration = Duration::from_secs(1);

/// The longest pause that a receiver may ask for.
const MAX_NAMED_PAUSE: Duration = Duration::from_secs(300);

#[derive(Debug, Clone)]
struct Batch {
    /// Messages are numbered from 1 in the order in which they are made.
    number: u64,
    target: Arc<Target>,
    body: Body,
    /// 0: a message of metrics.
    spans: u64,
    /// A try has failed in a manner that leaves open whether the receiver has it.
    is_in_doubt: bool,
}

/// A request under way.
struct InFlight {
    since: Instant,
    batch: Batch,
    outcome: Pin<Box<dyn Future<Output = (Outcome, Option<Connection>)> + Send>>,
    /// The receiver may have got it.
    is_sent: Arc<AtomicBool>,
}

/// See the module.
pub(crate) struct HttpSink {
    runtime: tokio::runtime::Runtime,
    traces_to: Arc<Target>,
    metrics_to: Option<Arc<Target>>,
    traces: Message,
    metrics: Encoder,
    publisher: Publisher,
    queue: VecDeque<Batch>,
    /// Number of the last message.
    last: u64,
    queue_bytes: usize,
    in_flight: Vec<InFlight>,
    /// Between two requests.
    idle: Vec<(Arc<Target>, Connection)>,
    /// The last request was taken, so that several may be sent at once.
    is_well: bool,
    /// The last request had no answer, or was to be tried again.
    has_failed: bool,
    tries: u32,
    not_before: Option<Instant>,
    counts: SinkCounts,
    /// What was said, each kind of trouble once.
    warned_retry: bool,
    warned_refused: bool,
    warned_unknown: bool,
    warned_rejected: bool,
    warned_slow: bool,
}

impl HttpSink {
    pub(crate) fn create(targets: Targets) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name("stepscope-dns")
            .max_blocking_threads(1)
            .build()?;
        Ok(Self {
            runtime,
            traces_to: Arc::new(targets.traces),
            metrics_to: targets.metrics.map(Arc::new),
            traces: Message::new(Encoder::traces(Format::Protobuf)),
            metrics: Encoder::metrics(Format::Protobuf),
            publisher: Publisher::default(),
            queue: VecDeque::new(),
            last: 0,
            queue_bytes: 0,
            in_flight: Vec::new(),
            idle: Vec::new(),
            is_well: false,
            has_failed: false,
            tries: 0,
            not_before: None,
            counts: SinkCounts::default(),
            warned_retry: false,
            warned_refused: false,
            warned_unknown: false,
            warned_rejected: false,
            warned_slow: false,
        })
    }

    fn enqueue(&mut self, target: Arc<Target>, message: &[u8], spans: u64) {
        self.last += 1;
        let body = pack::pack(&target, message);
        let batch = Batch { number: self.last, target, body, spans, is_in_doubt: false };
        self.queue_bytes += batch.body.bytes.len();
        self.queue.push_back(batch);
        self.bound_queue();
    }

    fn bound_queue(&mut self) {
        while self.queue_bytes > QUEUE_BYTES {
            let Some(oldest) = self.queue.pop_front() else { break };
            self.queue_bytes -= oldest.body.bytes.len();
            self.drop_batch(&oldest, LossReason::ExportFailed);
            let text = format!(
                "{}:{} takes spans more slowly than they come; what does not fit into {} MiB is dropped and counted",
                self.traces_to.host,
                self.traces_to.port,
                QUEUE_BYTES >> 20
            );
            // Who is not there at all, or does not answer, which was said, is not slow.
            if !self.warned_retry && !self.warned_unknown {
                warn_once(&mut self.warned_slow, &text);
            }
        }
    }

    /// Counts a batch that did not arrive, or may not have.
    fn drop_batch(&mut self, batch: &Batch, reason: LossReason) {
        let reason = if batch.is_in_doubt { LossReason::ExportUnknown } else { reason };
        self.counts.drop_spans(reason, batch.spans);
        if batch.spans == 0 {
            self.publisher.forget();
        }
    }

    fn enqueue_spans(&mut self) {
        let target = Arc::clone(&self.traces_to);
        let mut traces = std::mem::replace(&mut self.traces, Message::new(Encoder::traces(Format::Protobuf)));
        let (message, spans) = traces.finish();
        if spans > 0 {
            self.enqueue(target, message, spans);
            traces.clear();
        }
        self.traces = traces;
    }

    fn settle(&mut self, mut batch: Batch, outcome: Outcome) {
        self.has_failed = matches!(outcome, Outcome::Retry { .. } | Outcome::Unknown(_));
        match outcome {
            Outcome::Accepted { rejected, message } => {
                let rejected = rejected.min(batch.spans);
                self.counts.exported += batch.spans - rejected;
                // What is rejected now may be so because it was taken before.
                let reason =
                    if batch.is_in_doubt { LossReason::ExportUnknown } else { LossReason::ExportRejected };
                self.counts.drop_spans(reason, rejected);
                if rejected > 0 {
                    let text = format!("the endpoint rejected {rejected} spans: {message}");
                    warn_once(&mut self.warned_rejected, &text);
                }
                (self.tries, self.is_well) = (0, true);
            }
            Outcome::Retry { why, pause: named, is_in_doubt } => {
                let text = format!(
                    "could not send to {}:{}: {why}{}; the program goes on, losses are counted",
                    batch.target.host,
                    batch.target.port,
                    self.hint(&batch, &why)
                );
                warn_once(&mut self.warned_retry, &text);
                // At once is when a receiver that has just said no would do so again.
                let named = named.filter(|named| !named.is_zero());
                let wait = named.map_or_else(
                    || pause(self.tries, stepscope_core::identity::mix(crate::os::clock::now_ns())),
                    |named| named.min(MAX_NAMED_PAUSE),
                );
                let time = Instant::now() + wait;
                self.not_before = Some(self.not_before.map_or(time, |other| other.max(time)));
                // Those that were under way together have failed together.
                self.tries = self.tries.saturating_add(u32::from(self.is_well || self.in_flight.is_empty()));
                self.is_well = false;
                batch.is_in_doubt |= is_in_doubt;
                self.queue_bytes += batch.body.bytes.len();
                self.queue.push_front(batch);
                // The bound holds for what came back, too.
                self.bound_queue();
            }
            Outcome::Refused(why) => {
                self.drop_batch(&batch, LossReason::ExportFailed);
                let text = format!("the endpoint refused a request for good: {why}; losses are counted");
                warn_once(&mut self.warned_refused, &text);
                self.tries = 0;
            }
            Outcome::Unknown(why) => {
                self.drop_batch(&batch, LossReason::ExportUnknown);
                let hint = self.hint(&batch, &why);
                let text =
                    format!("what became of a request is not known: {why}{hint}; spans may be missing");
                warn_once(&mut self.warned_unknown, &text);
                (self.tries, self.is_well) = (0, false);
            }
        }
    }

    /// What to look at where a receiver has never taken anything: it may be no gRPC server. How that shows, as a broken
    /// connection or one that could not be used, is a matter of time.
    fn hint(&self, batch: &Batch, why: &str) -> &'static str {
        let is_strange = batch.target.protocol.is_grpc() && self.counts.exported == 0;
        let is_usual = batch.target.port == GRPC_PORT || why.contains("4317");
        if is_strange && !is_usual { " (a collector takes gRPC on port 4317)" } else { "" }
    }

    /// Starts as many requests as may be under way: one to a receiver that is not known to take them.
    fn start_next(&mut self) {
        if self.not_before.is_some_and(|time| Instant::now() < time) {
            return;
        }
        self.not_before = None;
        let most = if self.is_well { MAX_IN_FLIGHT } else { 1 };
        while self.in_flight.len() < most {
            // Metrics one after the other: a point that comes behind a later one is refused by many stores.
            let has_metrics = self.in_flight.iter().any(|request| request.batch.spans == 0);
            let next = self.queue.iter().position(|batch| batch.spans > 0 || !has_metrics);
            let Some(batch) = next.and_then(|index| self.queue.remove(index)) else { return };
            self.queue_bytes -= batch.body.bytes.len();
            let kept = self.idle.iter().rposition(|(target, _)| target.is_same_place(&batch.target));
            let kept = kept.map(|index| self.idle.swap_remove(index).1);
            let is_sent = Arc::new(AtomicBool::new(false));
            let exchange =
                exchange::send(Arc::clone(&batch.target), batch.body.clone(), kept, Arc::clone(&is_sent));
            let since = Instant::now();
            self.in_flight.push(InFlight { since, batch, outcome: Box::pin(exchange), is_sent });
        }
    }

    /// Works on what is under way until something of it ends, or until `until`.
    fn next_outcome(&mut self, until: Instant) -> Option<(Batch, Outcome)> {
        let in_flight = &mut self.in_flight;
        let any = std::future::poll_fn(|task| {
            for (index, request) in in_flight.iter_mut().enumerate() {
                if let Poll::Ready(ended) = request.outcome.as_mut().poll(task) {
                    return Poll::Ready((index, ended));
                }
            }
            Poll::Pending
        });
        let ended = self.runtime.block_on(async { tokio::time::timeout_at(until.into(), any).await.ok() });
        let (index, (outcome, connection)) = ended?;
        let batch = self.in_flight.swap_remove(index).batch;
        self.idle.extend(connection.map(|connection| (Arc::clone(&batch.target), connection)));
        Some((batch, outcome))
    }
}

impl Sink for HttpSink {
    fn name(&self) -> &'static str {
        OTLP
    }

    fn record(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8]) {
        let encoder = self.traces.next(context);
        with_encoder!(encoder, encoder => write_span(encoder.as_mut(), context, record, entries));
        if self.traces.len() >= MESSAGE_BYTES {
            self.enqueue_spans();
        }
    }

    fn publish(&mut self, context: &Context<'_>, snapshot: &Snapshot) {
        let Some(target) = self.metrics_to.clone() else { return };
        for part in self.publisher.plan(context.recorder, snapshot, &BTreeSet::new()) {
            let mut message =
                Message::new(std::mem::replace(&mut self.metrics, Encoder::metrics(Format::Protobuf)));
            let encoder = message.next(context);
            with_encoder!(encoder, encoder => {
                write_metrics(encoder.as_mut(), context, snapshot, &part);
                if part.is_last {
                    write_run_info(encoder.as_mut(), context, snapshot.time_ns);
                }
            });
            self.enqueue(Arc::clone(&target), message.finish().0, 0);
            message.clear();
            self.metrics = message.encoder;
        }
        #[cfg(feature = "mem")]
        if let Some(live) =
            snapshot.live_memory.as_ref().filter(|_| context.recorder.config.sends_live_memory)
        {
            let mut encoder = Encoder::metrics(Format::Protobuf);
            encode_live_memory(&mut encoder, context, snapshot, live, |message| {
                self.enqueue(Arc::clone(&target), message, 0);
            });
        }
        #[cfg(feature = "metrics")]
        if let Some(feed) = context.recorder.gauges.feed().filter(|feed| feed.is_sent) {
            let mut message =
                Message::new(std::mem::replace(&mut self.metrics, Encoder::metrics(Format::Protobuf)));
            let encoder = message.next(context);
            let written = with_encoder!(encoder, encoder => write_gauges(encoder.as_mut(), context, &feed.latest, NOT_SENT));
            if written.is_some_and(|written| written.points > 0) {
                self.enqueue(target, message.finish().0, 0);
            }
            message.clear();
            self.metrics = message.encoder;
        }
    }

    fn flush(&mut self, _: &Context<'_>) {
        self.enqueue_spans();
    }

    fn work(&mut self, until: Instant) -> bool {
        loop {
            self.start_next();
            if self.in_flight.is_empty() {
                break;
            }
            let Some((batch, outcome)) = self.next_outcome(until) else { break };
            self.settle(batch, outcome);
            if Instant::now() >= until {
                break;
            }
        }
        !self.in_flight.is_empty() || !self.queue.is_empty()
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }

    fn handed_over(&self) -> u64 {
        self.last
    }

    fn settled(&self) -> u64 {
        let under_way = self.in_flight.iter().map(|request| request.batch.number);
        let waiting = self.queue.iter().map(|batch| batch.number);
        under_way.chain(waiting).min().map_or(self.last, |first| first - 1)
    }

    fn is_in_trouble(&self) -> bool {
        self.has_failed || self.in_flight.iter().any(|request| request.since.elapsed() > USUAL_ANSWER)
    }
}

impl HttpSink {
    /// Counts what could not be sent in time, at the very end.
    pub(crate) fn abandon(&mut self) {
        let lost_before: u64 = self.counts.dropped.iter().sum();
        for InFlight { batch, is_sent, .. } in std::mem::take(&mut self.in_flight) {
            let was_sent = is_sent.load(Ordering::Relaxed);
            let reason = if was_sent { LossReason::ExportUnknown } else { LossReason::ExportFailed };
            self.drop_batch(&batch, reason);
        }
        for batch in std::mem::take(&mut self.queue) {
            self.drop_batch(&batch, LossReason::ExportFailed);
        }
        if self.counts.dropped.iter().sum::<u64>() > lost_before {
            let text = format!(
                "{}:{} did not take everything before the program ended; losses are counted",
                self.traces_to.host, self.traces_to.port
            );
            // Not of who could not be reached all along.
            warn_once(&mut self.warned_retry, &text);
        }
    }
}
