//! One of several ranks that do the same steps: `ranks PLANT STEPS`, with `RANK` as launchers set it. With the plant `late`
//! rank 1 works longer for its forward pass and the ranks meet in each step, at a socket in the working directory that who
//! starts them serves; with `slow` it does, and they meet in none; with `starved` it waits longer for its data, and they
//! meet. Work is waiting, so that a step's time is its own, however busy the machine is; it says by how much that came late.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use stepscope::{section, step};

use crate::planted::late;

/// What a pass takes, and what rank 1 does besides.
const PASS: Duration = Duration::from_micros(1_500);
const PLANTED: Duration = Duration::from_micros(3_000);

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

pub(crate) fn run(plant: &str, steps: u64) {
    let rank: u64 = std::env::var("RANK").unwrap().parse().unwrap();
    let mut group = Group::join();
    let run = crate::start();
    let is_planted = |name: &str| rank == PLANTED_IN && plant == name;
    let mut late_by = Duration::ZERO;
    group.meet();
    for number in 0..steps {
        let _step = step!(number, samples = 64);
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
