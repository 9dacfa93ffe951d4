//! A training loop that is a task of a pool: `pool THREADS YIELDS STEPS`. Each step waits for its batch, computes in two
//! sections, and gives way so often in between that its record cannot hold each of its polls. At each of these it is on the
//! pool's next thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Builder, sleep};
use std::time::Duration;

use tracing::{Instrument, info_span};

/// How long a step waits for its batch, and how long it computes in each of two sections.
const WAIT: Duration = Duration::from_millis(4);
const WORK: Duration = Duration::from_millis(2);

/// What the pool runs.
struct Task {
    future: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The pool's threads, and which of them has the task next.
    threads: Vec<SyncSender<Arc<Self>>>,
    next: Mutex<usize>,
    done: SyncSender<()>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut next = self.next.lock().unwrap();
        *next = (*next + 1) % self.threads.len();
        self.threads[*next].send(Arc::clone(&self)).unwrap();
    }
}

/// Waits once: for the time that there is, else for its turn.
struct Pause {
    time: Option<Duration>,
    is_over: Arc<Mutex<bool>>,
}

fn pause(time: Option<Duration>) -> Pause {
    Pause { time, is_over: Arc::default() }
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if *self.is_over.lock().unwrap() {
            return Poll::Ready(());
        }
        let (waker, is_over) = (context.waker().clone(), Arc::clone(&self.is_over));
        let end = move || {
            *is_over.lock().unwrap() = true;
            waker.wake();
        };
        match self.time.take() {
            Some(time) => drop(Builder::new().name("timer".into()).spawn(move || {
                sleep(time);
                end();
            })),
            None => end(),
        }
        Poll::Pending
    }
}

async fn step(yields: u64) {
    for _ in 0..yields {
        pause(None).await;
    }
    pause(Some(WAIT)).instrument(info_span!("data_wait")).await;
    for _ in 0..yields {
        pause(None).await;
    }
    async { sleep(WORK) }.instrument(info_span!("forward")).await;
    async { sleep(WORK) }.instrument(info_span!("backward")).await;
}

pub(crate) fn run(threads: u64, yields: u64, steps: u64) {
    let _run = crate::start();
    let (done, end) = sync_channel(1);
    let (threads, jobs): (Vec<_>, Vec<_>) = (0..threads).map(|_| sync_channel::<Arc<Task>>(1)).unzip();
    for (number, jobs) in jobs.into_iter().enumerate() {
        let work = move || {
            for task in jobs {
                let waker = Waker::from(Arc::clone(&task));
                let poll = task.future.lock().unwrap().as_mut().poll(&mut Context::from_waker(&waker));
                if poll.is_ready() {
                    task.done.send(()).unwrap();
                }
            }
        };
        Builder::new().name(format!("pool-{number}")).spawn(work).unwrap();
    }
    let train = async move {
        for number in 0..steps {
            let span = info_span!("step", stepscope.section.kind = "step", stepscope.step = number);
            step(yields).instrument(span).await;
        }
    };
    let first = threads[0].clone();
    let task = Task { future: Mutex::new(Box::pin(train)), threads, next: Mutex::default(), done };
    first.send(Arc::new(task)).unwrap();
    end.recv().unwrap();
}
