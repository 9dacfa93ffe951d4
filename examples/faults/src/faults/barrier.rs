//! Two threads that meet in each step, of which one has more to do; healthy, both have as much.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use super::{Place, Program};
use crate::work;

struct Pair {
    meeting: Arc<Barrier>,
    begin: Option<SyncSender<()>>,
    other: Option<JoinHandle<()>>,
    own_us: u64,
}

impl Drop for Pair {
    fn drop(&mut self) {
        drop(self.begin.take());
        if let Some(other) = self.other.take() {
            let _ = other.join();
        }
    }
}

impl Program for Pair {
    fn step(&mut self, _: u64) -> io::Result<()> {
        if let Some(begin) = &self.begin {
            begin.send(()).map_err(io::Error::other)?;
        }
        half(self.own_us);
        meet(&self.meeting);
        Ok(())
    }
}

/// The other thread takes eleven milliseconds, this one one; healthy, six each.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let (own_us, other_us) = if place.is_healthy { (6_000, 6_000) } else { (1_000, 11_000) };
    let meeting = Arc::new(Barrier::new(2));
    let (begin, begun) = sync_channel(1);
    let other = run(begun, meeting.clone(), other_us);
    Ok(Box::new(Pair {
        meeting,
        begin: Some(begin),
        other: Some(thread::Builder::new().spawn(other)?),
        own_us,
    }))
}

fn run(begun: Receiver<()>, meeting: Arc<Barrier>, us: u64) -> impl FnOnce() {
    move || {
        for () in begun {
            half(us);
            meeting.wait();
        }
    }
}

#[tracing::instrument]
fn half(us: u64) {
    work::compute(us);
}

#[tracing::instrument(skip_all)]
fn meet(meeting: &Barrier) {
    meeting.wait();
}
