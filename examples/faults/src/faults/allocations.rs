//! Tens of thousands of small allocations a step; healthy, one buffer is used again.

use std::hint::black_box;
use std::io;

use super::{Place, Program, advance};
use crate::work;

const TOKENS: usize = 24_576;

/// As many values either way.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    let mut buffer = Vec::new();
    Ok(Box::new(move |number| {
        advance(300);
        if is_healthy {
            fill(&mut buffer, number)
        } else {
            split(number)
        }
        Ok(())
    }))
}

#[tracing::instrument]
fn split(number: u64) {
    let words: Vec<Box<[u64; 3]>> = (0..TOKENS as u64).map(|token| Box::new([number, token, 0])).collect();
    black_box(&words);
}

#[tracing::instrument(skip(buffer))]
fn fill(buffer: &mut Vec<[u64; 3]>, number: u64) {
    buffer.clear();
    buffer.extend((0..TOKENS as u64).map(|token| [number, token, 0]));
    black_box(&buffer);
}
