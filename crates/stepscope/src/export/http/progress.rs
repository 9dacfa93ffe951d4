//! How much of a request has not left when its answer comes: a stream that counts. What that means for an answer is said in
//! `exchange`.

use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::os::sys;

/// Bytes of a connection.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Given to the system since the beginning.
    written: AtomicU64,
    /// Of these, what had been acknowledged by the other end's system when something was read last. Whoever answers what they have
    /// read acknowledges it with the answer, so that it is not less then.
    taken_before_answer: AtomicU64,
}

impl Progress {
    /// What the system was given so far: where a request begins, all that came before it.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// What the other end's system had when the last part of an answer came.
    pub(super) fn taken_before_answer(&self) -> u64 {
        self.taken_before_answer.load(Ordering::Relaxed)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Counted {
    stream: TcpStream,
    progress: Arc<Progress>,
}

impl Counted {
    pub(super) fn new(stream: TcpStream) -> (Self, Arc<Progress>) {
        let progress = Arc::<Progress>::default();
        (Self { stream, progress: Arc::clone(&progress) }, progress)
    }

    fn count(&self, written: usize) {
        self.progress.written.fetch_add(written as u64, Ordering::Relaxed);
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            let on_its_way = sys::unacknowledged_bytes(self.stream.as_fd()).unwrap_or(0);
            let taken = self.progress.written().saturating_sub(on_its_way);
            self.progress.taken_before_answer.store(taken, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.count(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts))?;
        self.count(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
