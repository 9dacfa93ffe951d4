//! The registry: each program is a file, and a line here.

mod allocations;
mod barrier;
mod calls;
mod crates;
mod disk;
mod loaders;
mod locks;
mod mappings;
pub mod neighbour;
mod pipe;
mod pool;
mod sleep;

use std::io;
use std::path::Path;

use crate::work;

/// A program with a fault, or without.
pub struct Fault {
    pub name: &'static str,
    pub start: fn(Place<'_>) -> io::Result<Box<dyn Program>>,
}

/// What a program starts with.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    pub is_healthy: bool,
    /// Empty, and gone at the end.
    pub folder: &'p Path,
}

/// What is done in each step.
pub trait Program {
    /// One step.
    fn step(&mut self, number: u64) -> io::Result<()>;
}

impl<F: FnMut(u64) -> io::Result<()>> Program for F {
    fn step(&mut self, number: u64) -> io::Result<()> {
        self(number)
    }
}

macro_rules! faults {
    ($($name:literal => $start:path),+ $(,)?) => {
        pub const ALL: &[Fault] = &[$(Fault { name: $name, start: $start }),+];
    };
}

faults! {
    "lock" => locks::one::<std::sync::Mutex<u64>>,
    "two-locks" => locks::two,
    "pool" => pool::narrow,
    "idle-pool" => pool::idle,
    "loaders" => loaders::start,
    "neighbour" => neighbour::start,
    "allocations" => allocations::start,
    "mappings" => mappings::start,
    "sleep" => sleep::start,
    "barrier" => barrier::start,
    "disk" => disk::start,
    "pipe" => pipe::start,
    "parking-lot" => locks::one::<parking_lot::Mutex<u64>>,
    "crossbeam" => crates::crossbeam,
    "tokio-lock" => crates::tokio_lock,
    "tokio-channel" => crates::tokio_channel,
    "tokio-block-on" => crates::tokio_block_on,
    "compile" => calls::compile,
    "checkpoint" => calls::checkpoint,
    "evaluation" => calls::evaluation,
    "periodic" => calls::periodic,
}

/// What every program does besides, so that no step is its fault alone.
#[tracing::instrument]
fn advance(us: u64) {
    work::compute(us);
}
