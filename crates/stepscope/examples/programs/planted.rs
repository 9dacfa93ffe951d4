//! A training loop with one fault planted in it, or none: `planted PLANT SEED STEPS`. A step prepares little, hands its
//! work to a stand-in for a device, and waits for that; so its time is its own, however busy the machine is.

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use stepscope::{Loader, section, step};

/// What the device takes for a pass, and what each plant adds to a step on average.
const PASS: Duration = Duration::from_micros(1_000);
const PLANTED: Duration = Duration::from_micros(2_000);

/// What computing takes, at most.
const COMPUTED: Duration = Duration::from_micros(100);

/// What waking up costs on a machine with nothing else to do, at most.
const USUALLY_LATE: Duration = Duration::from_micros(400);

/// One call in so many of the slow ones is slow, at no regular distance.
const RARELY: u64 = 40;

/// One batch in so many takes as long to make as several steps; in the mean they keep up.
const BURST: u64 = 8;

/// One step in so many is a long one, and one in so many writes a checkpoint.
const LONG_STEPS: u64 = 12;
const CHECKPOINTS: u64 = 20;

/// First steps that take long.
const FIRST: u64 = 8;

/// Sections in a loop of a step, and bytes that are written in one.
const TINY: u64 = 1_500;
const WRITTEN: usize = 65_536;

/// Somebody who answers after a while: another rank, a device, a disk.
struct Peer {
    ask: SyncSender<Duration>,
    answer: Receiver<()>,
}

impl Peer {
    fn new() -> Self {
        let (ask, asked) = sync_channel::<Duration>(1);
        let (answers, answer) = sync_channel(1);
        let serve = move || {
            while let Ok(patience) = asked.recv() {
                sleep(patience);
                if answers.send(()).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("peer".into()).spawn(serve).unwrap();
        Self { ask, answer }
    }

    /// Waits for an answer, and gives how much later it came than it should have.
    fn call(&self, patience: Duration) -> Duration {
        late(patience, || {
            self.ask.send(patience).unwrap();
            self.answer.recv().unwrap();
        })
    }
}

/// Does what should take so long, and gives how much longer it took: the machine was busy elsewhere.
pub(crate) fn late(usual: Duration, work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    let late = begun.elapsed().saturating_sub(usual);
    if late > USUALLY_LATE { late } else { Duration::ZERO }
}

/// A file system far away: takes what is written, and says when it is there.
fn far_disk() -> UnixStream {
    let (near, mut far) = UnixStream::pair().unwrap();
    let serve = move || {
        let mut buffer = vec![0; WRITTEN];
        while far.read_exact(&mut buffer).is_ok() {
            sleep(PLANTED);
            if far.write_all(&[1]).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("disk".into()).spawn(serve).unwrap();
    near
}

/// A few numbers that depend on the seed.
fn compute(weights: &mut [f32], input: &[f32]) {
    for (weight, value) in weights.iter_mut().zip(input) {
        *weight = black_box(weight.mul_add(0.9, value * 0.1));
    }
}

/// Whether a step is one of the long ones: samples differ in length, and nobody knows which come.
fn is_long(number: u64, seed: u64) -> bool {
    let mut hash = (number ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32 < u64::from(u32::MAX) / LONG_STEPS
}

/// Whether a step has one of the slow calls: the 8th, 61st, 100th and so on, as nothing that is meant to come again does.
fn is_slow(number: u64) -> bool {
    let window = number / RARELY;
    number % RARELY == (window * window * 13 + 7) % RARELY
}

pub(crate) fn run(plant: &str, seed: u64, steps: u64) {
    let run = crate::start();
    let loader = Loader::new("train");
    let ahead = match plant {
        "prefetch" => 64,
        "shallow" => 0,
        _ => 4,
    };
    let is_bursty = plant == "shallow";
    let (sender, receiver) = sync_channel(ahead);
    let worker = {
        let loader = loader.clone();
        let make = move || {
            for number in 0..steps {
                let batch = loader.produce(|| {
                    if is_bursty && number % BURST == BURST - 1 {
                        sleep(PLANTED * 6);
                    }
                    let mut random = seed.wrapping_add(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    let mut next = || {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        (random >> 40) as f32 / 16_777_216.0
                    };
                    (0..4_096).map(|_| next()).collect::<Vec<f32>>()
                });
                if sender.send(batch).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("loader".into()).spawn(make).unwrap()
    };
    let (device, mut disk) = (Peer::new(), far_disk());
    let mut weights = vec![0.0; 4_096];
    let mut late_for = Duration::ZERO;
    for number in 0..steps {
        let _step = step!(number, samples = 64);
        let batch = loader.wait(|| receiver.recv().ok()).unwrap();
        if plant == "serial" {
            let _read = section!("read_batch", phase = DataLoading);
            late_for += device.call(PLANTED * 5);
        }
        // In two stages: no section alone explains it.
        let is_longer = plant == "jitter" && is_long(number, seed);
        let longer = if is_longer { PLANTED * LONG_STEPS as u32 } else { Duration::ZERO };
        {
            let _forward = section!("forward", phase = Forward);
            late_for += late(COMPUTED, || compute(&mut weights, &batch));
            late_for += device.call(PASS + longer * 2 / 3);
            if plant == "warmup" && number < FIRST {
                let _compile = section!("compile_kernels");
                sleep(PLANTED * 75);
            }
            if plant == "tiny" {
                for chunk in 0..TINY {
                    let _neuron = section!("neuron");
                    black_box(chunk);
                }
            }
        }
        {
            let _backward = section!("backward", phase = Backward);
            late_for += device.call(PASS + longer / 3);
        }
        match plant {
            "communication" => {
                let _exchange = section!("all_reduce");
                late_for += device.call(PLANTED * 5);
            }
            "sync" => {
                let _wait = section!("read_loss", phase = Synchronization);
                late_for += device.call(PLANTED * 5);
            }
            "io" => {
                let _write = section!("write_metrics", phase = Io, bytes = WRITTEN as u64);
                disk.write_all(&vec![7; WRITTEN]).unwrap();
                disk.read_exact(&mut [0]).unwrap();
            }
            "host" => late_for += late(PLANTED, || sleep(PLANTED)),
            "section" => {
                let _accuracy = section!("accuracy");
                late_for += device.call(PLANTED / 2);
            }
            "checkpoint" if number % CHECKPOINTS == CHECKPOINTS / 2 => {
                let _checkpoint = section!("checkpoint");
                late_for += device.call(PLANTED * CHECKPOINTS as u32);
            }
            // From the step on that is three fifths of the way.
            "slower" if number * 5 >= steps * 3 => {
                let _more = section!("tokenize", phase = Preprocessing);
                late_for += device.call(PLANTED * 5);
            }
            _ => {}
        }
        {
            let _log = section!("log");
            let logged = Duration::from_micros(100);
            late_for += late(logged, || sleep(logged));
            if plant == "calls" && is_slow(number) {
                sleep(PLANTED * 40);
            }
        }
        let _optimizer = section!("optimizer_step");
        late_for += late(COMPUTED, || compute(&mut weights, &batch));
    }
    drop(receiver);
    worker.join().unwrap();
    crate::say("late_us", u64::try_from(late_for.as_micros()).unwrap());
    drop(run);
}
