//! Steps that wait by way of other crates: a channel of `crossbeam`, a lock, a channel and a timer of `tokio`.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tracing::Span;

use super::{Place, Program, advance};
use crate::work;

const THREADS: usize = 4;
const ROUNDS: usize = 10;

struct Helper {
    asks: Option<Sender<()>>,
    answers: Receiver<u64>,
    thread: Option<JoinHandle<()>>,
    is_healthy: bool,
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.asks.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Program for Helper {
    fn step(&mut self, _: u64) -> io::Result<()> {
        if let Some(asks) = &self.asks {
            asks.send(()).map_err(io::Error::other)?;
        }
        advance(if self.is_healthy { 10_000 } else { 2_000 });
        gather(&self.answers).map_err(io::Error::other)
    }
}

/// The step waits for what a thread without sections computes; healthy, it has enough to do meanwhile.
pub fn crossbeam(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let ((asks, asked), (answer, answers)) = (bounded(1), bounded(1));
    let compute = move || {
        for () in asked {
            work::compute(8_000);
            if answer.send(1).is_err() {
                return;
            }
        }
    };
    let thread = Some(thread::Builder::new().spawn(compute)?);
    Ok(Box::new(Helper { asks: Some(asks), answers, thread, is_healthy: place.is_healthy }))
}

#[tracing::instrument(skip_all)]
fn gather(answers: &Receiver<u64>) -> Result<(), crossbeam_channel::RecvError> {
    answers.recv().map(drop)
}

fn two_threads() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Tasks that compute while they hold one lock; healthy, each has its own.
pub fn tokio_lock(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let (runtime, is_healthy) = (two_threads()?, place.is_healthy);
    let tables: Vec<_> = (0..THREADS).map(|_| Arc::new(tokio::sync::Mutex::new(0_u64))).collect();
    Ok(Box::new(move |_| {
        advance(1_000);
        let of = |task: usize| tables.get(if is_healthy { task } else { 0 }).cloned();
        await_all(&runtime, (0..THREADS).filter_map(of).collect());
        Ok(())
    }))
}

#[tracing::instrument(skip_all)]
fn await_all(runtime: &Runtime, tables: Vec<Arc<tokio::sync::Mutex<u64>>>) {
    let around = Span::current();
    let tasks: Vec<_> = tables.into_iter().map(|table| runtime.spawn(turn(around.clone(), table))).collect();
    for task in tasks {
        let _ = runtime.block_on(task);
    }
}

#[tracing::instrument(skip_all, parent = &around)]
async fn turn(around: Span, table: Arc<tokio::sync::Mutex<u64>>) {
    let _ = around;
    for _ in 0..ROUNDS {
        let mut table = table.lock().await;
        work::compute(150);
        *table += 1;
        drop(table);
        tokio::task::yield_now().await;
    }
}

/// The step waits for a message of a task that rests before each; healthy, messages lie ready.
pub fn tokio_channel(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let (runtime, is_healthy) = (two_threads()?, place.is_healthy);
    let (messages, mut received) = mpsc::channel(4);
    runtime.spawn(async move {
        loop {
            if !is_healthy {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if messages.send(()).await.is_err() {
                return;
            }
        }
    });
    Ok(Box::new(move |_| {
        advance(2_000);
        obtain(&runtime, &mut received);
        Ok(())
    }))
}

#[tracing::instrument(skip_all)]
fn obtain(runtime: &Runtime, received: &mut mpsc::Receiver<()>) {
    runtime.block_on(received.recv());
}

/// A timer on the step's own thread, whose runtime waits for it; healthy, none.
pub fn tokio_block_on(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let pause = if place.is_healthy { Duration::ZERO } else { Duration::from_millis(10) };
    Ok(Box::new(move |_| {
        advance(5_000);
        calm(&runtime, pause);
        Ok(())
    }))
}

#[tracing::instrument(skip_all)]
fn calm(runtime: &Runtime, pause: Duration) {
    runtime.block_on(async {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    });
}
