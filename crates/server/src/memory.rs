//! A receiver without sockets and without a thread: what a connection sends is given as pieces of bytes, and what it
//! is answered is given back. For whatever has to hold millions of conversations, or exactly the same one twice.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::runtime::Runtime;

use crate::connection;
use crate::counts::Counts;
use crate::limits::Limits;
use crate::shared::Shared;
use crate::store::Store;

/// Turns that requests get after the last piece, before the connection ends: more than any takes whose body is there.
const TURNS: u32 = 16;

/// Turns that requests get at most to notice that their connection has ended, and how many in a row must find none.
const LAST_TURNS: u32 = 1_000;
const QUIET_TURNS: u32 = 8;

/// Takes OTLP from memory, one connection after the other.
#[derive(Debug)]
pub struct InMemory {
    shared: Arc<Shared>,
    runtime: Runtime,
}

impl InMemory {
    /// Makes `folder`, where messages are stored as by a [`Receiver`](crate::Receiver).
    ///
    /// # Errors
    /// Where the folder or the runtime cannot be made.
    pub fn new(folder: &Path, limits: Limits) -> io::Result<Self> {
        let store = Store::create(folder, limits.stored_bytes, limits.file_bytes)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self { shared: Arc::new(Shared::new(limits, store)), runtime })
    }

    /// Serves a connection on which these pieces come one after the other, and then its end. Gives what was
    /// answered, all of it.
    #[must_use]
    pub fn converse(&self, pieces: &[&[u8]]) -> Vec<u8> {
        let answered = Arc::new(Mutex::new(Vec::new()));
        let pieces = pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| piece.to_vec()).collect();
        let wire = Wire { pieces, answered: Arc::clone(&answered), turns: 0 };
        self.runtime.block_on(async {
            connection::serve(wire, &self.shared).await;
            // Requests of HTTP/2 are tasks of their own, some of which may not have begun.
            let mut quiet = 0;
            for _ in 0..LAST_TURNS {
                if quiet == QUIET_TURNS {
                    break;
                }
                tokio::task::yield_now().await;
                quiet = if self.shared.in_flight() == 0 { quiet + 1 } else { 0 };
            }
        });
        std::mem::take(&mut *answered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What came so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counts().clone()
    }

    /// Requests that have come and were not answered: none between two connections.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight()
    }

    /// Bytes of messages that are held: none between two connections.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.shared.limits.in_flight_bytes.saturating_sub(self.shared.budget.left())
    }
}

/// The other end of a connection.
struct Wire {
    pieces: VecDeque<Vec<u8>>,
    answered: Arc<Mutex<Vec<u8>>>,
    /// Turns given since the last piece was taken.
    turns: u32,
}

impl Read for Wire {
    /// Between two pieces everybody else has a turn, as on a socket.
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let wanted = if self.pieces.is_empty() { TURNS } else { 1 };
        if self.turns < wanted {
            self.turns += 1;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(mut piece) = self.pieces.pop_front() else { return Poll::Ready(Ok(())) };
        let rest = piece.split_off(piece.len().min(buffer.remaining()));
        buffer.put_slice(&piece);
        if !rest.is_empty() {
            self.pieces.push_front(rest);
        }
        self.turns = 0;
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
