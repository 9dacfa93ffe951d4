//! A large buffer that is asked for anew in each step, so that each page faults; healthy, it is used again.

use std::hint::black_box;
use std::io;

use super::{Place, Program, advance};
use crate::work;

const BYTES: usize = 48 << 20;
const PAGE: usize = 4_096;

/// Every page is written once a step.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let mut kept = place.is_healthy.then(|| vec![1_u8; BYTES]);
    Ok(Box::new(move |_| {
        advance(1_000);
        match &mut kept {
            Some(buffer) => paint(buffer),
            None => paint(&mut fresh()),
        }
        Ok(())
    }))
}

#[tracing::instrument]
fn fresh() -> Vec<u8> {
    vec![0; BYTES]
}

#[tracing::instrument(skip_all)]
fn paint(buffer: &mut [u8]) {
    buffer.iter_mut().step_by(PAGE).for_each(|byte| *byte = byte.wrapping_add(1));
    black_box(buffer);
}
