//! A pause in each step, as a poll of something that is rarely ready makes it; healthy, without.

use std::io;
use std::thread;
use std::time::Duration;

use super::{Place, Program, advance};
use crate::work;

/// Ten milliseconds of fifteen.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let pause = if place.is_healthy { Duration::ZERO } else { Duration::from_millis(10) };
    Ok(Box::new(move |_| {
        advance(5_000);
        settle(pause);
        Ok(())
    }))
}

#[tracing::instrument(skip_all)]
fn settle(pause: Duration) {
    if !pause.is_zero() {
        thread::sleep(pause);
    }
}
