//! `#[instrument]` on async functions, polled by hand on two threads in turn. Every poll is timed from inside
//! and from outside of the future, and so is every pause between two polls: these are the bounds of what the
//! layer may say.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tracing::{Instrument, info_span, instrument};

use crate::say;

/// What was measured of one future.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) inside: Duration,
    outside: Duration,
    suspended: Duration,
    polls: u64,
    threads: std::collections::HashSet<std::thread::ThreadId>,
}

pub(crate) type Shared = Arc<Mutex<Measured>>;

/// Works for a moment at each poll, and is ready at the last.
pub(crate) struct Work {
    left: u32,
    measured: Shared,
}

impl Work {
    pub(crate) fn new(polls: u32, measured: Shared) -> Self {
        Self { left: polls, measured }
    }
}

fn spin(duration: Duration) -> Duration {
    let start = Instant::now();
    while start.elapsed() < duration {
        std::hint::spin_loop();
    }
    start.elapsed()
}

impl Future for Work {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let spent = spin(Duration::from_micros(300));
        let mut measured = self.measured.lock().unwrap();
        measured.inside += spent;
        measured.threads.insert(std::thread::current().id());
        drop(measured);
        self.left -= 1;
        if self.left == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[instrument(skip_all, name = "outer")]
async fn outer(polls: u32, measured: Shared, inner_measured: Shared) {
    Work { left: polls, measured: Arc::clone(&measured) }.await;
    // Everything that the inner one does is inside of the outer one, too.
    inner(polls, inner_measured).await;
    Work { left: 2, measured }.await;
}

#[instrument(skip_all, name = "inner")]
async fn inner(polls: u32, measured: Shared) {
    Work { left: polls, measured }.await;
}

type Job = (Pin<Box<dyn Future<Output = ()> + Send>>, Shared, Instant);

/// Polls what comes in once, and hands it on unless it is ready.
fn poll_all(jobs: &Receiver<Job>, next: &SyncSender<Job>) {
    while let Ok((mut future, measured, suspended_at)) = jobs.recv() {
        // A pause that nobody can overlook.
        std::thread::sleep(Duration::from_micros(500));
        let start = Instant::now();
        measured.lock().unwrap().suspended += start - suspended_at;
        let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let end = Instant::now();
        let mut counts = measured.lock().unwrap();
        counts.outside += end - start;
        counts.polls += 1;
        drop(counts);
        if poll.is_ready() {
            // A future's span is entered once more when the future is dropped.
            let start = Instant::now();
            drop(future);
            measured.lock().unwrap().outside += start.elapsed();
            return;
        }
        if next.send((future, measured, end)).is_err() {
            return;
        }
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

pub(crate) fn drive(name: &str, future: impl Future<Output = ()> + Send + 'static, measured: &Shared) {
    let (to_left, from_right) = sync_channel::<Job>(1);
    let (to_right, from_left) = sync_channel::<Job>(1);
    let first = (Box::pin(future) as _, Arc::clone(measured), Instant::now());
    to_left.send(first).unwrap();
    let thread = |name: &str, jobs, next| {
        std::thread::Builder::new().name(name.into()).spawn(move || poll_all(&jobs, &next)).unwrap()
    };
    let threads = [thread("left", from_right, to_right), thread("right", from_left, to_left)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let measured = measured.lock().unwrap();
    say(&format!("{name}.inside"), nanos(measured.inside));
    say(&format!("{name}.outside"), nanos(measured.outside));
    say(&format!("{name}.suspended"), nanos(measured.suspended));
    say(&format!("{name}.polls"), measured.polls);
    say(&format!("{name}.threads"), measured.threads.len() as u64);
}

pub(crate) fn run() {
    let _run = crate::start();
    let (measured, inner_measured) = (Shared::default(), Shared::default());
    let future = outer(4, Arc::clone(&measured), Arc::clone(&inner_measured));
    drive("outer", future, &measured);
    let inner_measured = inner_measured.lock().unwrap();
    say("inner.inside", nanos(inner_measured.inside));
    // A span that waits for its only poll: idle, although it was entered once.
    let measured = Shared::default();
    let future = Work { left: 1, measured: Arc::clone(&measured) }.instrument(info_span!("patient"));
    let created = Instant::now();
    std::thread::sleep(Duration::from_millis(20));
    say("patient.waited", nanos(created.elapsed()));
    drive("patient", future, &measured);
    let span = info_span!("entered_late");
    let created = Instant::now();
    std::thread::sleep(Duration::from_millis(5));
    say("entered_late.waited", nanos(created.elapsed()));
    span.in_scope(|| ());
    drop(span);
    // A future that is dropped before it is ready.
    let mut given_up =
        Box::pin(Work { left: 9, measured: Shared::default() }.instrument(info_span!("given_up")));
    let _ = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(given_up);
}
