//! A second thread that decodes the messages to come, so that the first one has them ready when it is their turn.
//! Nothing else is done ahead: order, assembly and damage are those of one thread. Which messages come is said by
//! the framings; what they hold by `batch`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::batch::{Batch, Unit};
use crate::Errand;

/// Bytes that are looked at beyond the message whose turn it is.
pub(crate) const WINDOW_BYTES: usize = 2 << 20;
/// As long as so many of them are on their way nothing is added.
const ENOUGH_BYTES: u64 = 1 << 20;
/// Smaller messages are decoded sooner than handed over.
const MIN_BYTES: usize = 8 << 10;
/// Batches kept for reuse.
const MAX_SPARE: usize = 64;

/// Finds the first message in bytes: where it stands, and where the next record begins.
pub(crate) type NextMessage = fn(&[u8]) -> Option<(Range<usize>, usize)>;

/// Messages on their way.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Batch>,
    done: Vec<Batch>,
    /// Offset of the one that the thread is decoding.
    in_work: Option<u64>,
    /// The thread has found nothing to do.
    is_idle: bool,
    /// No more will come.
    is_closed: bool,
    /// The thread has ended, for whatever reason.
    is_over: bool,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    has_come: Condvar,
    is_done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nobody panics while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages that are decoded ahead. The thread starts with the first of them.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// What the thread does while there is nothing to decode.
    errand: Option<Arc<dyn Errand>>,
    /// Whether there is no second thread to be had.
    is_alone: bool,
    /// For what this thread decodes ahead while it waits.
    unit: Unit,
    spare: Vec<Batch>,
    /// Up to here messages of the input at hand were handed over.
    until: u64,
}

impl Ahead {
    /// With something to do while there is nothing to decode.
    pub(crate) fn with(errand: Option<Arc<dyn Errand>>) -> Self {
        let mut ahead = Self::default();
        ahead.errand = errand;
        ahead
    }

    /// Forgets the messages of the last input.
    pub(crate) fn reset(&mut self) {
        self.until = 0;
        if self.thread.is_none() {
            return;
        }
        let mut queue = self.shared.lock();
        queue.waiting.clear();
        while queue.in_work.is_some() && !queue.is_over {
            queue = self.shared.is_done.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.done.clear();
    }

    /// Whether messages behind `offset` are wanted.
    pub(crate) fn wants(&self, offset: u64) -> bool {
        !self.is_alone && self.until.saturating_sub(offset) < ENOUGH_BYTES
    }

    /// Hands over the messages in `data`, which begins at `offset`. `base` is added to the offsets of messages.
    pub(crate) fn feed(&mut self, data: &[u8], offset: u64, base: u64, next: NextMessage) {
        let begin = self.until.max(offset);
        let mut at = usize::try_from(begin - offset).unwrap_or(usize::MAX);
        // A short input is read before a thread has started.
        if self.thread.is_none() && data.len() < WINDOW_BYTES || !self.start() {
            return;
        }
        while let Some((message, end)) = data.get(at..).and_then(next) {
            let bytes = data.get(at + message.start..at + message.end).unwrap_or_default();
            // Compressed ones are left to the thread whose turn it is.
            if bytes.len() >= MIN_BYTES && matches!(bytes.first(), Some(b'{' | 0x0a)) {
                let mut batch = self.spare.pop().unwrap_or_default();
                batch.offset = base + offset + at as u64;
                batch.message.clear();
                batch.message.extend_from_slice(bytes);
                self.shared.lock().waiting.push_back(batch);
                self.shared.has_come.notify_one();
            }
            at += end.max(1);
        }
        self.until = offset + at as u64;
    }

    /// The message of `len` bytes at `offset`, decoded; `None` where the caller has to decode it.
    pub(crate) fn take(&mut self, offset: u64, len: usize) -> Option<Batch> {
        self.thread.as_ref()?;
        let mut queue = self.shared.lock();
        if queue.is_idle && self.errand.is_some() {
            // There may be something to do again.
            self.shared.has_come.notify_one();
        }
        // Where damage was met, what lies behind may have been other records than those that were found ahead.
        queue.waiting.retain(|batch| batch.offset >= offset);
        queue.done.retain(|batch| batch.offset >= offset);
        loop {
            if let Some(at) = queue.done.iter().position(|batch| batch.offset == offset) {
                let batch = queue.done.swap_remove(at);
                drop(queue);
                if batch.is_decoded && batch.message.len() == len {
                    return Some(batch);
                }
                self.reuse(batch);
                return None;
            }
            if let Some(at) = queue.waiting.iter().position(|batch| batch.offset == offset) {
                let batch = queue.waiting.remove(at);
                drop(queue);
                batch.into_iter().for_each(|batch| self.reuse(batch));
                return None;
            }
            if queue.in_work != Some(offset) || queue.is_over {
                return None;
            }
            // Better than to wait: decode the next one.
            if let Some(mut batch) = queue.waiting.pop_front() {
                drop(queue);
                self.unit.decode(&mut batch);
                queue = self.shared.lock();
                queue.done.push(batch);
            } else {
                queue = self.shared.is_done.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Takes a batch back.
    pub(crate) fn reuse(&mut self, batch: Batch) {
        if self.spare.len() < MAX_SPARE && batch.message.capacity() <= WINDOW_BYTES {
            self.spare.push(batch);
        }
    }

    /// Whether the second thread is there.
    fn start(&mut self) -> bool {
        if self.thread.is_none() && !self.is_alone {
            let (shared, errand) = (Arc::clone(&self.shared), self.errand.clone());
            let thread = std::thread::Builder::new().name("stepscope-decode".into());
            self.thread = thread.spawn(move || work(&Ending(&shared), errand.as_deref())).ok();
            self.is_alone = self.thread.is_none();
        }
        self.thread.is_some()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.has_come.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, its message was decoded by this thread, which says so.
            let _ = thread.join();
        }
    }
}

/// Says that the thread has ended, however it does.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.is_done.notify_one();
    }
}

fn work(ending: &Ending<'_>, errand: Option<&dyn Errand>) {
    let shared = ending.0;
    let mut unit = Unit::default();
    let mut queue = shared.lock();
    while !queue.is_closed {
        let Some(mut batch) = queue.waiting.pop_front() else {
            if let Some(errand) = errand {
                drop(queue);
                let has_done = errand.run();
                queue = shared.lock();
                if has_done || !queue.waiting.is_empty() || queue.is_closed {
                    continue;
                }
            }
            queue.is_idle = true;
            queue = shared.has_come.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.is_idle = false;
            continue;
        };
        queue.in_work = Some(batch.offset);
        drop(queue);
        unit.decode(&mut batch);
        queue = shared.lock();
        queue.in_work = None;
        queue.done.push(batch);
        shared.is_done.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn spawn(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        std::thread::Builder::new().name("ahead-test".into()).spawn(work).expect("a thread")
    }

    /// A thread that takes one message to decode, and panics when it is told to.
    fn doomed(shared: &Arc<Shared>, told: &Arc<Barrier>) -> JoinHandle<()> {
        let (theirs, told) = (Arc::clone(shared), Arc::clone(told));
        let thread = spawn(move || {
            let ending = Ending(&theirs);
            let mut queue = ending.0.lock();
            let batch = queue.waiting.pop_front();
            queue.in_work = batch.map(|batch| batch.offset);
            drop(queue);
            told.wait();
            std::panic::resume_unwind(Box::new("a decoder that panics"));
        });
        while shared.lock().in_work.is_none() {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn a_thread_that_panics_leaves_its_message_to_the_caller_and_nobody_waits_for_it() {
        // The caller waits for the message, or comes when the thread is over: both happen.
        for _ in 0..50 {
            let mut ahead = Ahead::default();
            let batch = |offset| Batch { offset, message: vec![b'{'; 10], ..Batch::default() };
            ahead.shared.lock().waiting.extend([batch(0), batch(10)]);
            let told = Arc::new(Barrier::new(2));
            ahead.thread = Some(doomed(&ahead.shared, &told));
            let tells = spawn(move || {
                told.wait();
            });
            assert!(ahead.take(0, 10).is_none(), "in work when its thread ended");
            tells.join().expect("the thread ends");
            assert!(ahead.shared.lock().is_over);
            assert!(ahead.take(10, 10).is_none(), "what the caller decoded meanwhile was no message");
            ahead.shared.lock().waiting.push_back(batch(20));
            assert!(ahead.take(20, 10).is_none(), "nobody else will take it");
            ahead.reset();
        }
    }

    /// Something to do so many times.
    #[derive(Debug)]
    struct Times(AtomicUsize);

    impl Errand for Times {
        fn run(&self) -> bool {
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        }
    }

    #[test]
    fn a_thread_with_nothing_to_decode_does_its_errand_and_is_asked_again() {
        let times = Arc::new(Times(AtomicUsize::new(3)));
        let mut ahead = Ahead::with(Some(Arc::clone(&times) as Arc<dyn Errand>));
        assert!(ahead.start());
        for more in [0, 5] {
            times.0.fetch_add(more, Ordering::SeqCst);
            while times.0.load(Ordering::SeqCst) > 0 {
                assert!(ahead.take(0, 10).is_none());
                std::thread::yield_now();
            }
            while !ahead.shared.lock().is_idle {
                std::thread::yield_now();
            }
        }
        // It decodes as before.
        let message = b"{\"resourceSpans\":[]}".to_vec();
        let len = message.len();
        ahead.shared.lock().waiting.push_back(Batch { offset: 7, message, ..Batch::default() });
        ahead.shared.has_come.notify_one();
        while ahead.shared.lock().done.is_empty() {
            std::thread::yield_now();
        }
        assert!(ahead.take(7, len).is_some());
    }
}
