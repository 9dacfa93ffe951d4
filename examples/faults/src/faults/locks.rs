//! Four threads that take turns on one lock, inside the step; healthy, each has a lock of its own.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use tracing::Span;

use super::{Place, Program, advance};
use crate::work;

const THREADS: usize = 4;
const ROUNDS: usize = 10;

/// A number behind a lock.
pub trait Locked: Default + Send + Sync + 'static {
    /// Takes the lock, works for so many microseconds and counts.
    fn count(&self, us: u64);
}

impl Locked for Mutex<u64> {
    fn count(&self, us: u64) {
        let mut table = self.lock().unwrap_or_else(PoisonError::into_inner);
        work::compute(us);
        *table += 1;
    }
}

impl Locked for parking_lot::Mutex<u64> {
    fn count(&self, us: u64) {
        let mut table = self.lock();
        work::compute(us);
        *table += 1;
    }
}

/// All of the work is done under the lock.
pub fn one<L: Locked>(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    let tables: Vec<L> = (0..THREADS).map(|_| L::default()).collect();
    Ok(Box::new(move |_| {
        advance(1_000);
        let around = Span::current();
        thread::scope(|scope| {
            for worker in 0..THREADS {
                let Some(table) = tables.get(if is_healthy { worker } else { 0 }) else { continue };
                let around = &around;
                scope.spawn(move || share(around, table));
            }
        });
        Ok(())
    }))
}

/// One lock is taken for long, the other one for a moment.
pub fn two(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let is_healthy = place.is_healthy;
    let (hot, cold) = (Mutex::new(0_u64), Mutex::new(0_u64));
    Ok(Box::new(move |_| {
        let around = Span::current();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let (hot, cold, around) = (&hot, &cold, &around);
                scope.spawn(move || mixed(around, hot, cold, is_healthy));
            }
        });
        Ok(())
    }))
}

#[tracing::instrument(skip_all, parent = around)]
fn share(around: &Span, table: &impl Locked) {
    let _ = around;
    for _ in 0..ROUNDS {
        update(table, 150);
    }
}

#[tracing::instrument(skip_all, parent = around)]
fn mixed(around: &Span, hot: &Mutex<u64>, cold: &Mutex<u64>, is_healthy: bool) {
    let _ = around;
    for _ in 0..ROUNDS {
        count(cold);
        if is_healthy {
            work::compute(150);
            update(hot, 0);
        } else {
            update(hot, 150);
        }
    }
}

#[tracing::instrument(skip_all)]
fn update(table: &impl Locked, us: u64) {
    table.count(us);
}

#[tracing::instrument(skip_all)]
fn count(table: &impl Locked) {
    table.count(0);
}
