//! What the tests of both allocators do: hold memory, and look at what the exporter's reading says of it. The allocators
//! themselves are in `tests`, one a binary, since a program has one.

use std::hint::black_box;

use stepscope_metrics::Sampler;
use stepscope_metrics::snapshot::Allocator;

/// Memory that is held between two readings, in blocks that are too small to be mapped by themselves.
pub const HELD: usize = 64 << 20;
const BLOCK: usize = 4 << 10;

/// What is told of the allocator of this name before memory is held and while it is; and by how much the counting allocator's
/// live bytes rose meanwhile.
///
/// # Panics
/// If nothing is told.
#[must_use]
pub fn before_and_held(name: &str) -> ([Allocator; 2], i64) {
    let reading = || {
        let mut sampler = Sampler::new(std::process::id());
        let found = sampler.pass().allocators.iter().find(|one| one.name == name).copied();
        let Some(found) = found else { panic!("nothing is told of {name}") };
        let live = stepscope_mem::live_bytes().and_then(|bytes| i64::try_from(bytes).ok());
        let Some(live) = live else { panic!("the counting allocator is not installed") };
        (found, live)
    };
    let (before, counted_before) = reading();
    let blocks: Vec<Vec<u8>> = (0..HELD / BLOCK).map(|_| vec![1; BLOCK]).collect();
    let (held, counted_held) = reading();
    drop(black_box(blocks));
    ([before, held], counted_held - counted_before)
}
