//! An OTLP/gRPC collector of a few lines: hyper's side of a server on a loopback port. It answers as it is told, and
//! keeps what it accepted.

use std::convert::Infallible;
use std::io::Read;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::Recording;
use super::collector::{bind, unzstd};

/// How to answer a call.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Accept everything.
    Accept,
    /// Accept the call with this `Export…ServiceResponse`.
    With(Vec<u8>),
    /// Refuse with this code, and with details in base64 where they are not empty.
    Status(&'static str, &'static str),
    /// Answer with this status of HTTP, as something in front of a receiver does.
    Http(u16),
    /// Accept everything, but only after this time.
    Late(Duration),
    /// Read the call and leave it open without a word.
    Silence,
    /// Read the call and close the connection.
    HangUp,
    /// Accept everything, and ask for another connection for what comes next.
    AcceptLast,
}

#[derive(Debug, Default)]
struct Received {
    recording: Recording,
    /// Signal of each call, and its metadata.
    calls: Vec<(String, HeaderMap)>,
    connections: usize,
    at_once: usize,
    most_at_once: usize,
    longest_message: usize,
}

pub(crate) struct Grpc {
    port: u16,
    received: Arc<Mutex<Received>>,
    up: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

impl Grpc {
    /// Starts one; `answer` gets the signal (`traces`, `metrics`) and how many calls for it came before.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at(0, answer)
    }

    /// As [`Self::start`] on a port, with which another one has ended.
    pub(crate) fn start_at(port: u16, answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = bind(port);
        let port = listener.local_addr().unwrap().port();
        let received = Arc::<Mutex<Received>>::default();
        let (stop, stopped) = oneshot::channel();
        let (shared, answer) = (Arc::clone(&received), Arc::new(answer));
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.spawn(async move { listen(listener, answer, shared).await });
            // Ends with the test, or when it is killed; what is open breaks with the runtime.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("collector".into()).spawn(serve).unwrap();
        Self { port, received, up: Mutex::new(Some((stop, thread))) }
    }

    /// Listens no more, and leaves calls without an answer. The port is free when this returns.
    pub(crate) fn kill(&self) {
        if let Some((stop, thread)) = self.up.lock().unwrap().take() {
            let _ = stop.send(());
            thread.join().unwrap();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it accepted so far.
    pub(crate) fn recording(&self) -> Recording {
        std::mem::take(&mut self.received.lock().unwrap().recording)
    }

    /// Signal and metadata of all calls so far, accepted or not.
    pub(crate) fn calls(&self) -> Vec<(String, HeaderMap)> {
        self.received.lock().unwrap().calls.clone()
    }

    /// Connections that were made.
    pub(crate) fn connections(&self) -> usize {
        self.received.lock().unwrap().connections
    }

    /// The most calls that waited for their answers at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.received.lock().unwrap().most_at_once
    }

    /// Bytes of the longest message, as it was sent.
    pub(crate) fn longest_message(&self) -> usize {
        self.received.lock().unwrap().longest_message
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn listen(
    listener: TcpListener,
    answer: Arc<impl Fn(&str, usize) -> Reply + Send + Sync + 'static>,
    shared: Arc<Mutex<Received>>,
) {
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        shared.lock().unwrap().connections += 1;
        let (answer, shared) = (Arc::clone(&answer), Arc::clone(&shared));
        let (own, last) = (Arc::<OnceLock<AbortHandle>>::default(), Arc::<Notify>::default());
        let (aborts, asks) = (Arc::clone(&own), Arc::clone(&last));
        let service = service_fn(move |request| {
            let (answer, shared) = (Arc::clone(&answer), Arc::clone(&shared));
            let (aborts, asks) = (Arc::clone(&aborts), Arc::clone(&asks));
            async move { Ok::<_, Infallible>(serve(request, &*answer, &shared, &aborts, &asks).await) }
        });
        let task = tokio::spawn(async move {
            let connection =
                http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            let mut asked = std::pin::pin!(last.notified());
            let mut is_asked = false;
            // A client that has given up is the client's business.
            let _ = std::future::poll_fn(|task| {
                if !is_asked && asked.as_mut().poll(task).is_ready() {
                    is_asked = true;
                    connection.as_mut().graceful_shutdown();
                }
                connection.as_mut().poll(task)
            })
            .await;
        });
        own.get_or_init(|| task.abort_handle());
    }
}

async fn serve(
    request: Request<Incoming>,
    answer: &impl Fn(&str, usize) -> Reply,
    shared: &Mutex<Received>,
    connection: &OnceLock<AbortHandle>,
    last: &Notify,
) -> Answer {
    let (head, body) = request.into_parts();
    let signal = match head.uri.path() {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => "traces",
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => "metrics",
        other => panic!("{other}"),
    };
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        assert_eq!(head.headers[name], value);
    }
    // A client that breaks off has not sent a call.
    let Ok(body) = body.collect().await else { return status("13", "") };
    let message = unframed(&head.headers, &body.to_bytes());
    let reply = {
        let mut shared = shared.lock().unwrap();
        let before = shared.calls.iter().filter(|(of, _)| of == signal).count();
        shared.calls.push((signal.to_owned(), head.headers));
        shared.longest_message = shared.longest_message.max(message.len());
        shared.at_once += 1;
        shared.most_at_once = shared.most_at_once.max(shared.at_once);
        answer(signal, before)
    };
    if let Reply::Late(time) = reply {
        tokio::time::sleep(time).await;
    }
    shared.lock().unwrap().at_once -= 1;
    let accept = |response: &[u8]| {
        let recording = &mut shared.lock().unwrap().recording;
        match signal {
            "traces" => recording.add_traces(&message),
            _ => recording.add_metrics(&message),
        }
        accepted(response)
    };
    match reply {
        Reply::Accept | Reply::Late(_) => accept(&[]),
        Reply::With(response) => accept(&response),
        Reply::AcceptLast => {
            last.notify_one();
            accept(&[])
        }
        Reply::Status(code, details) => status(code, details),
        Reply::Http(status) => {
            let mut response = Response::new(Full::default().boxed());
            *response.status_mut() = status.try_into().unwrap();
            response
        }
        Reply::Silence => std::future::pending().await,
        Reply::HangUp => {
            connection.get().unwrap().abort();
            std::future::pending().await
        }
    }
}

/// The one message of a call.
fn unframed(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let (prefix, message) = body.split_first_chunk::<5>().expect("a prefix");
    assert_eq!(prefix[1..], (message.len() as u32).to_be_bytes());
    let encoding = headers.get("grpc-encoding").map(HeaderValue::as_bytes);
    assert_eq!(prefix[0] == 1, encoding.is_some());
    let mut whole = Vec::new();
    match encoding {
        None => whole.extend_from_slice(message),
        Some(b"gzip") => drop(flate2::read::GzDecoder::new(message).read_to_end(&mut whole).unwrap()),
        Some(b"zstd") => whole = unzstd(message),
        other => panic!("{other:?}"),
    }
    whole
}

/// A response with its message and the status behind it.
fn accepted(message: &[u8]) -> Answer {
    let framed = [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat();
    let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from_static("0"))]);
    let body = Full::new(Bytes::from(framed)).with_trailers(std::future::ready(Some(Ok(trailers))));
    grpc(body.boxed())
}

/// A response that is a status alone, in front.
fn status(code: &'static str, details: &'static str) -> Answer {
    let mut response = grpc(Full::default().boxed());
    response.headers_mut().insert("grpc-status", HeaderValue::from_static(code));
    response.headers_mut().insert("grpc-message", HeaderValue::from_static("as%20told"));
    if !details.is_empty() {
        response.headers_mut().insert("grpc-status-details-bin", HeaderValue::from_static(details));
    }
    response
}

fn grpc(body: BoxBody<Bytes, Infallible>) -> Answer {
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}
