//! Threads of the program that compute ahead all the time, on the processors that the step needs; healthy, they rest.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Place, Program, advance};
use crate::work;

struct Loaders {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Loaders {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Program for Loaders {
    fn step(&mut self, _: u64) -> io::Result<()> {
        advance(10_000);
        Ok(())
    }
}

/// Six threads where there are two processors.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_over = Arc::new(AtomicBool::new(false));
    let rest = if place.is_healthy { Duration::from_millis(50) } else { Duration::ZERO };
    let spawn = |_| {
        let is_over = is_over.clone();
        thread::Builder::new().spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                unpack();
                thread::sleep(rest);
            }
        })
    };
    let threads: io::Result<Vec<_>> = (0..if place.is_healthy { 2 } else { 6 }).map(spawn).collect();
    Ok(Box::new(Loaders { threads: threads?, is_over }))
}

#[tracing::instrument]
fn unpack() {
    work::compute(2_000);
}
