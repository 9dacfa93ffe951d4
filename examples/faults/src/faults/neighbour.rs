//! Other processes on the same processors, as many again as there are; healthy, none.

use std::io;
use std::process::{Child, Command};
use std::thread;

use super::{Place, Program, advance};
use crate::work;

struct Neighbours(Vec<Child>);

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Program for Neighbours {
    fn step(&mut self, _: u64) -> io::Result<()> {
        advance(10_000);
        Ok(())
    }
}

/// Two for each processor, so that the step has a third of one.
pub fn start(place: Place<'_>) -> io::Result<Box<dyn Program>> {
    work::calibrate();
    let processors = thread::available_parallelism()?.get();
    let program = std::env::current_exe()?;
    let spawn = |_| Command::new(&program).arg("--spin").spawn();
    let children: io::Result<Vec<_>> =
        (0..if place.is_healthy { 0 } else { 2 * processors }).map(spawn).collect();
    Ok(Box::new(Neighbours(children?)))
}

/// Takes a processor until it is killed.
pub fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
