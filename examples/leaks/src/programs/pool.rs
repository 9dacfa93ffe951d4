//! Work in other threads, which are in no section by themselves: scoped ones, and a pool that takes closures.

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// Results of scoped threads, all kept.
pub fn results(mut sizes: Sizes) -> Box<dyn Program> {
    let results = Mutex::new(Vec::new());
    Box::new(move |_| scatter(&results, &sizes.step()))
}

#[tracing::instrument(skip_all)]
fn scatter(results: &Mutex<Vec<Box<[u8]>>>, sizes: &[usize]) {
    let (one, other) = sizes.split_at(sizes.len() / 2);
    thread::scope(|scope| {
        for sizes in [one, other] {
            scope.spawn(stepscope::in_section(move || compute(results, sizes)));
        }
    });
}

fn compute(results: &Mutex<Vec<Box<[u8]>>>, sizes: &[usize]) {
    for &size in sizes {
        let result = planted!(size, vec![1_u8; size].into_boxed_slice());
        if let Ok(mut results) = results.lock() {
            results.push(result);
        }
    }
}

/// Scratch memory of the pool's threads, which each keep what they once had.
pub fn scratch(mut sizes: Sizes) -> Box<dyn Program> {
    let pool = Pool::start(2);
    Box::new(move |_| submit(&pool, &sizes.step()))
}

type Job = Box<dyn FnOnce(&mut Vec<Vec<u8>>) + Send>;

struct Pool(Vec<Sender<Job>>);

impl Pool {
    fn start(threads: usize) -> Self {
        let senders = (0..threads).map(|_| {
            let (sender, jobs) = mpsc::channel::<Job>();
            thread::spawn(move || {
                let mut scratch = Vec::new();
                jobs.into_iter().for_each(|job| job(&mut scratch));
            });
            sender
        });
        Self(senders.collect())
    }
}

#[tracing::instrument(skip_all)]
fn submit(pool: &Pool, sizes: &[usize]) {
    let (done, all_done) = mpsc::channel();
    for (sender, sizes) in pool.0.iter().cycle().zip(sizes.chunks(4)) {
        let (sizes, done) = (sizes.to_vec(), done.clone());
        // The adapter takes no arguments: what it gives is a closure that knows the section.
        let section = stepscope::Submitter::here();
        let job: Job = Box::new(move |scratch| {
            section.run(|| fill(scratch, &sizes));
            let _ = done.send(());
        });
        let _ = sender.send(job);
    }
    drop(done);
    all_done.into_iter().for_each(drop);
}

fn fill(scratch: &mut Vec<Vec<u8>>, sizes: &[usize]) {
    for &size in sizes {
        scratch.push(planted!(size, vec![1; size]));
    }
}
