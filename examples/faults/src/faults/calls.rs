//! Calls that some steps make and others do not: the first ones, every so many. Healthy, no step does.

use std::fs::File;
use std::io::{self, Write};

use super::{Place, Program, advance};
use crate::work;

/// The first steps prepare what all use.
pub fn compile(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    Ok(Box::new(move |number| {
        advance(5_000);
        if !is_healthy && number < 6 {
            build_plan();
        }
        Ok(())
    }))
}

/// Every twentieth step writes what was learned.
pub fn checkpoint(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let path = place.folder.join("model");
    let (is_healthy, rows) = (place.is_healthy, vec![3_u8; 24 << 20]);
    Ok(Box::new(move |number| {
        advance(5_000);
        if !is_healthy && number % 20 == 19 {
            keep(&mut File::create(&path)?, &rows)?;
        }
        Ok(())
    }))
}

/// Every twenty-fifth step measures how good it is.
pub fn evaluation(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    Ok(Box::new(move |number| {
        advance(5_000);
        if !is_healthy && number % 25 == 24 {
            measure();
        }
        Ok(())
    }))
}

/// Every seventh step puts its tables in order.
pub fn periodic(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    Ok(Box::new(move |number| {
        advance(5_000);
        if !is_healthy && number % 7 == 6 {
            rearrange();
        }
        Ok(())
    }))
}

#[tracing::instrument]
fn build_plan() {
    work::compute(150_000);
}

#[tracing::instrument(skip_all)]
fn keep(file: &mut File, rows: &[u8]) -> io::Result<()> {
    file.write_all(rows)?;
    file.sync_all()
}

#[tracing::instrument]
fn measure() {
    work::compute(80_000);
}

#[tracing::instrument]
fn rearrange() {
    work::compute(12_000);
}
