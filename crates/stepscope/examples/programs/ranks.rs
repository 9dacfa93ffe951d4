//! One of several ranks that do the same steps: `ranks PLANT STEPS`, with `RANK` as launchers set it. With the plant `late`
//! rank 1 works longer for its forward pass and the ranks meet in each step, at a socket in the working directory that who
//! starts them serves; with `slow` it does, and they meet in none; with `starved` it waits longer for its data, and they
//! meet; with `turns` a loader thread of each rank makes batches more slowly than steps take them, now one rank's and now another's.
//! Work is waiting, so that a step's time is its own, however busy the machine is; it says by how much that came late.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, sleep};
use std::time::Duration;

use stepscope::{Loader, Traced, section, step};

use crate::planted::late;

/// What a pass takes, and what rank 1 does besides.
const PASS: Duration = Duration::from_micros(1_500);
const PLANTED: Duration = Duration::from_micros(3_000);

/// What a batch takes with `turns`: one or the other, as a coin falls.
const BATCHES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(10)];

/// Batches that wait in the queue at most: more than there are ever ahead.
const QUEUE: usize = 128;

/// The rank that is planted in.
const PLANTED_IN: u64 = 1;

/// Where the ranks meet.
const MEETING: &str = "meeting.socket";

/// The place where the ranks meet, whoever serves it: it tells all to go on when all have come.
struct Group(UnixStream);

impl Group {
    fn join() -> Self {
        Self(UnixStream::connect(MEETING).unwrap())
    }

    /// Ends when all ranks have come.
    fn meet(&mut self) {
        self.0.write_all(&[1]).unwrap();
        self.0.read_exact(&mut [0]).unwrap();
    }
}

/// Batches of a thread of this rank's.
fn batches(loader: &Loader, rank: u64, steps: u64) -> Receiver<Traced<()>> {
    let (sender, receiver) = sync_channel(QUEUE);
    let loader = loader.clone();
    let make = move || {
        let mut coin = rank + 1;
        for _ in 0..steps {
            // (Knuth's generator; the highest bit is the best one.)
            coin = coin.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let takes = BATCHES[(coin >> 63) as usize];
            if sender.send(loader.produce(|| sleep(takes))).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("loader".into()).spawn(make).unwrap();
    receiver
}

pub(crate) fn run(plant: &str, steps: u64) {
    let rank: u64 = std::env::var("RANK").unwrap().parse().unwrap();
    let mut group = Group::join();
    let run = crate::start();
    let is_planted = |name: &str| rank == PLANTED_IN && plant == name;
    let mut late_by = Duration::ZERO;
    let loader = Loader::new("train");
    let batches = (plant == "turns").then(|| batches(&loader, rank, steps));
    group.meet();
    for number in 0..steps {
        let _step = step!(number, samples = 64);
        if let Some(batches) = &batches {
            loader.wait(|| batches.recv().ok()).unwrap();
        }
        if is_planted("starved") {
            let _wait = section!("data_wait");
            late_by += late(PLANTED, || sleep(PLANTED));
        }
        {
            let _forward = section!("forward", phase = Forward);
            late_by += late(PASS, || sleep(PASS));
            if is_planted("late") || is_planted("slow") {
                let _attention = section!("attention");
                late_by += late(PLANTED, || sleep(PLANTED));
            }
        }
        {
            let _backward = section!("backward", phase = Backward);
            late_by += late(PASS, || sleep(PASS));
        }
        if plant != "slow" && plant != "apart" {
            let _exchange = section!("all_reduce");
            group.meet();
        }
    }
    drop(run);
    crate::say("late_us", late_by.as_micros() as u64);
}
