//! The OTLP/HTTP sink: protobuf over HTTP/1.1, on the background thread's own current-thread runtime. One
//! request at a time, a bounded queue behind it; failed requests are tried again with growing pauses.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use stepscope_core::LossReason;
use stepscope_otlp::proto::decode_export_response;

use super::encode::{Context, write_span};
use super::message::{Encoder, Message, with_encoder};
use super::publish::{Publisher, Snapshot, write_metrics};
use super::{Sink, SinkCounts, warn_once};
use crate::config::Format;
use crate::record::SectionRecord;

/// A message is sent when it has grown to this size; well below the 4 MiB that receivers take.
const MESSAGE_BYTES: usize = 1 << 20;

/// Bytes of messages that may wait.
const QUEUE_BYTES: usize = 16 << 20;

/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A response may be this long; it only carries a count and a message.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Where requests go.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    host: String,
    port: u16,
    /// Path in front of `/v1/traces`.
    prefix: String,
    headers: Vec<(String, String)>,
    timeout: Duration,
}

impl Target {
    /// Reads a base URL. The error says what is wrong with it.
    pub(crate) fn parse(url: &str, headers: &[(String, String)], timeout: Duration) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("the endpoint {url} does not start with http:// (this build has no TLS: send to a local collector)")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| format!("the endpoint {url} has no valid port"))?)
            }
            _ => (authority, 80),
        };
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(format!("the endpoint {url} names no host"));
        }
        let prefix = path.trim_matches('/');
        Ok(Self {
            host: host.to_owned(),
            port,
            prefix: if prefix.is_empty() { String::new() } else { format!("/{prefix}") },
            headers: headers.to_vec(),
            timeout,
        })
    }
}

#[derive(Debug, Clone)]
struct Batch {
    /// Messages are numbered from 1 in the order in which they are sent.
    number: u64,
    signal: &'static str,
    body: Bytes,
    spans: u64,
}

/// How a request ended.
#[derive(Debug)]
enum Outcome {
    Accepted {
        rejected: u64,
        message: String,
    },
    /// Try again, after this time if the receiver named one.
    Retry(String, Option<Duration>),
    Refused(String),
    /// Sent, but the connection broke before the answer.
    Unknown(String),
}

/// A request under way.
struct InFlight {
    batch: Batch,
    outcome: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    /// There is a connection, so the receiver may have got it.
    is_connected: Arc<AtomicBool>,
}

/// See the module.
pub(crate) struct HttpSink {
    runtime: tokio::runtime::Runtime,
    target: Target,
    traces: Message,
    metrics: Encoder,
    publisher: Publisher,
    queue: VecDeque<Batch>,
    /// Number of the last message.
    last: u64,
    queue_bytes: usize,
    current: Option<InFlight>,
    tries: u32,
    not_before: Option<Instant>,
    counts: SinkCounts,
    warned: bool,
    warned_rejected: bool,
    warned_slow: bool,
}

impl HttpSink {
    pub(crate) fn create(target: Target) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .thread_name("stepscope-dns")
            .max_blocking_threads(1)
            .build()?;
        Ok(Self {
            runtime,
            target,
            traces: Message::new(Encoder::traces(Format::Protobuf)),
            metrics: Encoder::metrics(Format::Protobuf),
            publisher: Publisher::default(),
            queue: VecDeque::new(),
            last: 0,
            queue_bytes: 0,
            current: None,
            tries: 0,
            not_before: None,
            counts: SinkCounts::default(),
            warned: false,
            warned_rejected: false,
            warned_slow: false,
        })
    }

    fn enqueue(&mut self, signal: &'static str, body: Bytes, spans: u64) {
        self.last += 1;
        let batch = Batch { number: self.last, signal, body, spans };
        self.queue_bytes += batch.body.len();
        self.queue.push_back(batch);
        self.bound_queue();
    }

    fn bound_queue(&mut self) {
        while self.queue_bytes > QUEUE_BYTES {
            let Some(oldest) = self.queue.pop_front() else { break };
            self.queue_bytes -= oldest.body.len();
            self.drop_batch(&oldest, LossReason::ExportFailed);
            let text = format!(
                "{}:{} takes spans more slowly than they come; what does not fit into {} MiB is dropped and counted",
                self.target.host,
                self.target.port,
                QUEUE_BYTES >> 20
            );
            // Who is not there at all, which was said, is not slow.
            if !self.warned {
                warn_once(&mut self.warned_slow, &text);
            }
        }
    }

    /// Counts a batch that did not arrive, or may not have.
    fn drop_batch(&mut self, batch: &Batch, reason: LossReason) {
        self.counts.drop_spans(reason, batch.spans);
        if batch.spans == 0 {
            self.publisher.forget();
        }
    }

    fn enqueue_spans(&mut self) {
        let (message, spans) = self.traces.finish();
        if spans > 0 {
            let body = Bytes::copy_from_slice(message);
            self.traces.clear();
            self.enqueue("traces", body, spans);
        }
    }

    fn settle(&mut self, batch: Batch, outcome: Outcome) {
        match outcome {
            Outcome::Accepted { rejected, message } => {
                let rejected = rejected.min(batch.spans);
                self.counts.exported += batch.spans - rejected;
                self.counts.drop_spans(LossReason::ExportRejected, rejected);
                if rejected > 0 {
                    let text = format!("the endpoint rejected {rejected} spans: {message}");
                    warn_once(&mut self.warned_rejected, &text);
                }
                (self.tries, self.not_before) = (0, None);
            }
            Outcome::Retry(why, pause) => {
                let text = format!(
                    "could not send to {}:{}: {why}; the program goes on, losses are counted",
                    self.target.host, self.target.port
                );
                warn_once(&mut self.warned, &text);
                let pause = pause.unwrap_or_else(|| self.pause()).min(MAX_PAUSE);
                self.not_before = Some(Instant::now() + pause);
                self.tries = self.tries.saturating_add(1);
                self.queue_bytes += batch.body.len();
                self.queue.push_front(batch);
                // The bound holds for what came back, too.
                self.bound_queue();
            }
            Outcome::Refused(why) => {
                self.drop_batch(&batch, LossReason::ExportFailed);
                warn_once(&mut self.warned, &format!("the endpoint refused a request for good: {why}"));
                (self.tries, self.not_before) = (0, None);
            }
            Outcome::Unknown(why) => {
                self.drop_batch(&batch, LossReason::ExportUnknown);
                let text = format!("the connection broke before the answer: {why}; spans may be missing");
                warn_once(&mut self.warned, &text);
                (self.tries, self.not_before) = (0, None);
            }
        }
    }

    /// Exponential, with up to a quarter of jitter from the clock's low bits.
    fn pause(&self) -> Duration {
        let base = Duration::from_millis(100 << self.tries.min(6));
        let jitter = stepscope_core::identity::mix(crate::clock::now_ns()) % 256;
        base + base.mul_f64(jitter as f64 / 1_024.0)
    }

    fn start_next(&mut self) {
        if self.current.is_some() || self.not_before.is_some_and(|time| Instant::now() < time) {
            return;
        }
        if let Some(batch) = self.queue.pop_front() {
            self.queue_bytes -= batch.body.len();
            let is_connected = Arc::new(AtomicBool::new(false));
            let outcome = Box::pin(send(self.target.clone(), batch.clone(), Arc::clone(&is_connected)));
            self.current = Some(InFlight { batch, outcome, is_connected });
        }
    }
}

async fn send(target: Target, batch: Batch, is_connected: Arc<AtomicBool>) -> Outcome {
    let timeout = target.timeout;
    let connect = tokio::net::TcpStream::connect((target.host.as_str(), target.port));
    let stream = match tokio::time::timeout(timeout, connect).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Outcome::Retry(error.to_string(), None),
        // Nothing was sent, so nothing is in doubt.
        Err(_) => return Outcome::Retry(format!("no connection within {timeout:?}"), None),
    };
    is_connected.store(true, Ordering::Relaxed);
    match tokio::time::timeout(timeout, exchange(stream, &target, &batch)).await {
        Ok(outcome) => outcome,
        Err(_) => Outcome::Unknown(format!("no answer within {timeout:?}")),
    }
}

async fn exchange(stream: tokio::net::TcpStream, target: &Target, batch: &Batch) -> Outcome {
    let (mut sender, connection) = match hyper::client::conn::http1::handshake(TokioIo::new(stream)).await {
        Ok(pair) => pair,
        Err(error) => return Outcome::Retry(error.to_string(), None),
    };
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(format!("{}/v1/{}", target.prefix, batch.signal))
        .header(header::HOST, format!("{}:{}", target.host, target.port))
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .header(header::USER_AGENT, concat!("stepscope/", env!("CARGO_PKG_VERSION")));
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    let request = match request.body(Full::new(batch.body.clone())) {
        Ok(request) => request,
        Err(error) => return Outcome::Refused(format!("a header cannot be sent: {error}")),
    };
    let answer = async {
        let response = sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
        Ok::<_, hyper::Error>((parts, body.map(http_body_util::Collected::to_bytes).unwrap_or_default()))
    };
    // The connection makes progress only while it is polled.
    let mut connection = std::pin::pin!(connection);
    let mut answer = std::pin::pin!(answer);
    let mut connection_done = false;
    let result = std::future::poll_fn(|task| {
        if !connection_done && connection.as_mut().poll(task).is_ready() {
            connection_done = true;
        }
        answer.as_mut().poll(task)
    })
    .await;
    match result {
        Ok((parts, body)) => judge(parts.status, parts.headers.get(header::RETRY_AFTER), &body),
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}

fn judge(status: StatusCode, retry_after: Option<&header::HeaderValue>, body: &[u8]) -> Outcome {
    if status.is_success() {
        let (rejected, message) = decode_export_response(body).unwrap_or((0, ""));
        return Outcome::Accepted {
            rejected: u64::try_from(rejected).unwrap_or(0),
            message: message.to_owned(),
        };
    }
    // The statuses that the OTLP specification calls retryable.
    if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        return Outcome::Retry(status.to_string(), seconds.map(Duration::from_secs));
    }
    Outcome::Refused(status.to_string())
}

impl Sink for HttpSink {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn record(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8]) {
        let encoder = self.traces.next(context);
        with_encoder!(encoder, encoder => write_span(encoder.as_mut(), context, record, entries));
        if self.traces.len() >= MESSAGE_BYTES {
            self.enqueue_spans();
        }
    }

    fn publish(&mut self, context: &Context<'_>, snapshot: &Snapshot) {
        for part in self.publisher.plan(context.recorder, snapshot) {
            let mut message =
                Message::new(std::mem::replace(&mut self.metrics, Encoder::metrics(Format::Protobuf)));
            let encoder = message.next(context);
            with_encoder!(encoder, encoder => write_metrics(encoder.as_mut(), context, snapshot, &part));
            let body = Bytes::copy_from_slice(message.finish().0);
            message.clear();
            self.metrics = message.encoder;
            self.enqueue("metrics", body, 0);
        }
    }

    fn flush(&mut self, _: &Context<'_>) {
        self.enqueue_spans();
    }

    fn work(&mut self, until: Instant) -> bool {
        loop {
            self.start_next();
            let Some(request) = &mut self.current else { break };
            let outcome = request.outcome.as_mut();
            let result =
                self.runtime.block_on(async { tokio::time::timeout_at(until.into(), outcome).await.ok() });
            let Some(outcome) = result else { break };
            if let Some(request) = self.current.take() {
                self.settle(request.batch, outcome);
            }
            if Instant::now() >= until {
                break;
            }
        }
        self.current.is_some() || !self.queue.is_empty()
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }

    fn handed_over(&self) -> u64 {
        self.last
    }

    fn settled(&self) -> u64 {
        // What is tried again goes to the front, so the numbers are in order.
        let waiting = self.current.as_ref().map(|request| &request.batch).or(self.queue.front());
        waiting.map_or(self.last, |batch| batch.number - 1)
    }

    fn is_in_trouble(&self) -> bool {
        self.tries > 0
    }
}

impl HttpSink {
    /// Counts what could not be sent in time, at the very end.
    pub(crate) fn abandon(&mut self) {
        let lost_before: u64 = self.counts.dropped.iter().sum();
        if let Some(request) = self.current.take() {
            let was_sent = request.is_connected.load(Ordering::Relaxed);
            let reason = if was_sent { LossReason::ExportUnknown } else { LossReason::ExportFailed };
            self.counts.drop_spans(reason, request.batch.spans);
        }
        for batch in self.queue.drain(..) {
            self.counts.drop_spans(LossReason::ExportFailed, batch.spans);
        }
        if self.counts.dropped.iter().sum::<u64>() > lost_before {
            let text = format!(
                "{}:{} did not take everything before the program ended; losses are counted",
                self.target.host, self.target.port
            );
            warn_once(&mut self.warned, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<(String, u16, String), String> {
        Target::parse(url, &[], Duration::from_secs(1))
            .map(|target| (target.host, target.port, target.prefix))
    }

    #[test]
    fn endpoints_are_read_as_users_write_them() {
        assert_eq!(parse("http://localhost:4318"), Ok(("localhost".into(), 4318, String::new())));
        assert_eq!(parse("http://[::1]:4318/"), Ok(("::1".into(), 4318, String::new())));
        assert_eq!(parse("http://host/otlp/"), Ok(("host".into(), 80, "/otlp".into())));
        assert!(parse("https://host").is_err_and(|error| error.contains("TLS")));
        assert!(parse("host:4318").is_err());
        assert!(parse("http://:4318").is_err());
        assert!(parse("http://host:port").is_err());
    }

    #[test]
    fn answers_are_judged_as_the_specification_says() {
        // partial_success { rejected: 3, error_message: "no" }
        let partial = [0x0a, 0x06, 0x08, 0x03, 0x12, 0x02, b'n', b'o'];
        assert!(matches!(judge(StatusCode::OK, None, &partial), Outcome::Accepted { rejected: 3, .. }));
        assert!(matches!(judge(StatusCode::OK, None, b""), Outcome::Accepted { rejected: 0, .. }));
        assert!(matches!(judge(StatusCode::BAD_REQUEST, None, b""), Outcome::Refused(_)));
        let after = header::HeaderValue::from_static("2");
        let retry = judge(StatusCode::SERVICE_UNAVAILABLE, Some(&after), b"");
        assert!(matches!(retry, Outcome::Retry(_, Some(pause)) if pause == Duration::from_secs(2)));
    }
}
