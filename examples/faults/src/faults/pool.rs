//! A pool of threads that the step waits for: of one thread where there are two processors, and healthy of two. And eight
//! threads that wait for work all the time, which is no fault.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tracing::Span;

use super::{Place, Program, advance};
use crate::work;

const JOBS: usize = 8;

struct Job {
    around: Span,
    done: Sender<()>,
}

struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Pool {
    fn start(threads: usize) -> io::Result<Self> {
        let (jobs, taken) = channel::<Job>();
        let taken = Arc::new(Mutex::new(taken));
        let run = |taken: Arc<Mutex<Receiver<Job>>>| {
            move || {
                loop {
                    let job = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = job else { return };
                    render(&job.around);
                    let _ = job.done.send(());
                }
            }
        };
        let threads: io::Result<Vec<_>> =
            (0..threads).map(|_| thread::Builder::new().spawn(run(taken.clone()))).collect();
        Ok(Self { jobs: Some(jobs), threads: threads? })
    }
}

impl Program for Pool {
    fn step(&mut self, _: u64) -> io::Result<()> {
        advance(1_000);
        draw(self);
        Ok(())
    }
}

#[tracing::instrument(skip_all)]
fn draw(pool: &Pool) {
    let (done, results) = channel();
    for _ in 0..JOBS {
        let job = Job { around: Span::current(), done: done.clone() };
        if let Some(jobs) = &pool.jobs {
            let _ = jobs.send(job);
        }
    }
    drop(done);
    results.iter().for_each(drop);
}

#[tracing::instrument(skip_all, parent = around)]
fn render(around: &Span) {
    let _ = around;
    work::compute(1_500);
}

/// The step waits for its jobs.
pub fn narrow(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    Ok(Box::new(Pool::start(if place.is_healthy { 2 } else { 1 })?))
}

struct Idle {
    gate: Arc<(Mutex<bool>, Condvar)>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Idle {
    fn drop(&mut self) {
        *self.gate.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.gate.1.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Program for Idle {
    fn step(&mut self, _: u64) -> io::Result<()> {
        advance(8_000);
        Ok(())
    }
}

/// Eight threads wait for what never comes; the step does its own work.
pub fn idle(_: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let spawn = |_| {
        let gate = gate.clone();
        thread::Builder::new().spawn(move || watch(&gate))
    };
    let threads: io::Result<Vec<_>> = (0..8).map(spawn).collect();
    Ok(Box::new(Idle { threads: threads?, gate }))
}

#[tracing::instrument(skip_all)]
fn watch(gate: &(Mutex<bool>, Condvar)) {
    let mut is_over = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*is_over {
        is_over = gate.1.wait(is_over).unwrap_or_else(PoisonError::into_inner);
    }
}
