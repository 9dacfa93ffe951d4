//! A training loop that does something between its steps, in no section: `between PAUSE_US STEPS`; or that takes its batches
//! there, which from three fifths of the way on come later: `fed LATER_US STEPS`. Steps wait for their work, so
//! that its time is its own, however busy the machine is; it says by how much that came late.

use std::cell::Cell;
use std::thread::sleep;
use std::time::Duration;

use stepscope::{section, step};

use crate::planted::late;

/// What a step waits for.
const WORK: Duration = Duration::from_micros(3_000);

pub(crate) fn run(pause_us: u64, steps: u64) {
    let run = crate::start();
    let pause = Duration::from_micros(pause_us);
    let mut late_by = Duration::ZERO;
    for number in 0..steps {
        {
            let _step = step!(number, samples = 64);
            let _forward = section!("forward", phase = Forward);
            late_by += late(WORK, || sleep(WORK));
        }
        if !pause.is_zero() {
            late_by += late(pause, || sleep(pause));
        }
    }
    drop(run);
    crate::say("late_us", late_by.as_micros() as u64);
}

pub(crate) fn fed(later_us: u64, steps: u64) {
    let run = crate::start();
    let later = Duration::from_micros(later_us);
    let late_by = Cell::new(Duration::ZERO);
    let wait = |time: Duration| late_by.set(late_by.get() + late(time, || sleep(time)));
    let batches = (0..steps).inspect(|&number| {
        if !later.is_zero() && number * 5 >= steps * 3 {
            wait(later);
        }
    });
    for number in stepscope::batches(batches) {
        let _step = step!(number, samples = 64);
        let _forward = section!("forward", phase = Forward);
        wait(WORK);
    }
    drop(run);
    crate::say("late_us", late_by.get().as_micros() as u64);
}
