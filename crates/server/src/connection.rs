//! Connections: taking them, speaking HTTP/1.1 or HTTP/2 on them as their first bytes ask, and ending those on which
//! nothing happens.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use crate::answer::Answer;
use crate::shared::Shared;
use crate::{grpc, http};

/// Headers of a request, and what HTTP/1.1 reads ahead of a body.
const HEADER_BYTES: usize = 64 << 10;

/// What HTTP/2 may have in flight before anybody has looked at it, for one request and for all of a connection.
const STREAM_WINDOW_BYTES: u32 = 128 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
const STREAMS: u32 = 32;

/// Time that a connection gets for its last answers.
const GRACE: Duration = Duration::from_secs(2);

/// Pause after a connection could not be taken: there are no file descriptors, and only time brings some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a connection over the bound gets: whatever it speaks, it notices.
const TURNED_AWAY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Takes connections until the receiver stops.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let accepted = {
            let mut stop = pin!(stopping.wait_for(|stop| *stop));
            let mut accept = pin!(listener.accept());
            std::future::poll_fn(|task| {
                if stop.as_mut().poll(task).is_ready() {
                    return std::task::Poll::Ready(None);
                }
                accept.as_mut().poll(task).map(Some)
            })
            .await
        };
        match accepted {
            None => return,
            Some(Ok((stream, _))) => take(stream, &shared),
            Some(Err(_)) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

fn take(stream: TcpStream, shared: &Arc<Shared>) {
    if shared.connections.fetch_add(1, Ordering::Relaxed) >= shared.limits.connections {
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        shared.counts().refuse("too many connections");
        let _ = stream.try_write(TURNED_AWAY);
        return;
    }
    // Answers are small and awaited.
    let _ = stream.set_nodelay(true);
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        serve(TokioIo::new(stream), &shared).await;
        shared.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

/// What a connection is at.
struct Activity {
    requests: AtomicUsize,
    /// When the last request was answered; the flag is whether there was one.
    since: Mutex<(Instant, bool)>,
}

impl Activity {
    fn begin(&self) -> Busy<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    /// When nothing will have happened for too long, unless something happens; `None` while something does.
    fn gives_up_at(&self, shared: &Shared) -> Option<Instant> {
        let (since, had_one) = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = if had_one { shared.limits.idle } else { shared.limits.first_request };
        (self.requests.load(Ordering::Relaxed) == 0).then(|| since + wait)
    }
}

struct Busy<'a>(&'a Activity);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *self.0.since.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), true);
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve<I>(stream: I, shared: &Arc<Shared>)
where
    I: Read + Write + Unpin + Send + 'static,
{
    let activity =
        Arc::new(Activity { requests: AtomicUsize::new(0), since: Mutex::new((Instant::now(), false)) });
    let service = service_fn(|request| handle(request, Arc::clone(shared), Arc::clone(&activity)));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEADER_BYTES as u32)
        .max_send_buf_size(HEADER_BYTES);
    let mut connection = pin!(builder.serve_connection(stream, service));
    let mut stopping = shared.stopping.subscribe();
    // Ends when the connection does, when nothing happens on it, or when the receiver stops.
    loop {
        let check_at = activity.gives_up_at(shared).unwrap_or_else(|| Instant::now() + shared.limits.body);
        let mut stop = pin!(stopping.wait_for(|stop| *stop));
        let step = std::future::poll_fn(|task| {
            if connection.as_mut().poll(task).is_ready() {
                return std::task::Poll::Ready(true);
            }
            stop.as_mut().poll(task).map(|_| false)
        });
        match tokio::time::timeout_at(check_at, step).await {
            Ok(true) => return,
            Ok(false) => break,
            Err(_) if activity.gives_up_at(shared).is_some_and(|at| at <= Instant::now()) => break,
            Err(_) => {}
        }
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, connection).await;
}

async fn handle(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    activity: Arc<Activity>,
) -> Result<Response<Answer>, Infallible> {
    let _busy = activity.begin();
    let _underway = shared.begin();
    Ok(if grpc::is_grpc(request.headers()) {
        grpc::answer(request, &shared).await
    } else {
        http::answer(request, &shared).await
    })
}
