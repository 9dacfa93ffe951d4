//! A connection to a receiver, in the version of HTTP that its protocol takes, with TLS where its URL says so.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use super::progress::{Counted, Progress};
use super::target::Target;

/// One that is made, for one request at a time: should it break, no other request is in doubt.
#[derive(Debug)]
pub(super) struct Connection {
    sender: Sender,
    /// Why the receiver wants none of it, where it has said so after all.
    refusal: Arc<OnceLock<String>>,
    progress: Arc<Progress>,
    /// What reads and writes.
    work: AbortHandle,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    #[cfg(feature = "grpc")]
    Http2(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Makes one; the error says why there is none.
    pub(super) async fn open(target: &Target) -> Result<Self, String> {
        let connect = tokio::net::TcpStream::connect((target.host.as_str(), target.port));
        let timeout = target.timeout;
        let stream = match tokio::time::timeout(timeout, connect).await {
            Ok(stream) => stream.map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("no connection within {timeout:?}")),
        };
        // Requests are whole when they are written: there is nothing to wait for.
        let _ = stream.set_nodelay(true);
        let (stream, progress) = Counted::new(stream);
        let refusal = Arc::default();
        #[cfg(feature = "tls")]
        if let Some(tls) = &target.tls {
            let greeting = tls.greet(&target.host, stream, Arc::clone(&refusal));
            let stream = match tokio::time::timeout(timeout, greeting).await {
                Ok(stream) => stream?,
                Err(_) => return Err(format!("no end of the TLS handshake within {timeout:?}")),
            };
            return Self::greet(target, stream, refusal, progress).await.map_err(|error| error.to_string());
        }
        Self::greet(target, stream, refusal, progress).await.map_err(|error| error.to_string())
    }

    async fn greet(
        target: &Target,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        refusal: Arc<OnceLock<String>>,
        progress: Arc<Progress>,
    ) -> hyper::Result<Self> {
        let stream = TokioIo::new(stream);
        #[cfg(feature = "grpc")]
        if target.protocol.is_grpc() {
            let executor = hyper_util::rt::TokioExecutor::new();
            let (sender, connection) = hyper::client::conn::http2::Builder::new(executor)
                .initial_stream_window_size(RECEIVED_BYTES)
                .initial_connection_window_size(RECEIVED_BYTES)
                .handshake(stream)
                .await?;
            let work = tokio::spawn(connection).abort_handle();
            return Ok(Self { sender: Sender::Http2(sender), refusal, progress, work });
        }
        let _ = target;
        let (sender, connection) = http1::handshake(stream).await?;
        let work = tokio::spawn(connection).abort_handle();
        Ok(Self { sender: Sender::Http1(sender), refusal, progress, work })
    }

    /// Why the receiver wants none of it and has taken nothing, where it has said so.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.get().cloned()
    }

    /// How much of what was sent has arrived.
    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Closes it, whatever is still to be written: a receiver that reads no more would have that wait for ever.
    pub(super) fn break_off(self) {
        self.work.abort();
    }

    /// Waits until a request may be sent; an error where none can be any more.
    pub(super) async fn ready(&mut self) -> hyper::Result<()> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            #[cfg(feature = "grpc")]
            Sender::Http2(sender) => sender.ready().await,
        }
    }

    /// Sends a request, and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        match &mut self.sender {
            Sender::Http1(sender) => sender.try_send_request(request).await,
            #[cfg(feature = "grpc")]
            Sender::Http2(sender) => sender.try_send_request(request).await,
        }
    }
}

/// What a receiver may send before it is read: answers are short.
#[cfg(feature = "grpc")]
const RECEIVED_BYTES: u32 = 64 << 10;
