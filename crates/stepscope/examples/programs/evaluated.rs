//! A training loop that evaluates after every tenth step, and whose evaluation steps wait for their batches:
//! `evaluated WAIT_US STEPS`. All that it does is to wait, so that its time is its own, however busy the machine is; it
//! says by how much that came late.

use std::thread::sleep;
use std::time::Duration;

use stepscope::{section, step};

use crate::planted::late;

/// What a step waits for, of training and of evaluation.
const WORK: Duration = Duration::from_micros(2_000);

/// Steps of training before an evaluation, and steps of one.
const TRAINED: u64 = 10;
const EVALUATED: u64 = 5;

pub(crate) fn run(wait_us: u64, steps: u64) {
    let run = crate::start();
    let wait = Duration::from_micros(wait_us);
    let mut late_by = Duration::ZERO;
    for number in 0..steps {
        {
            let _step = step!(number, samples = 64);
            let _forward = section!("forward", phase = Forward);
            late_by += late(WORK, || sleep(WORK));
        }
        let first = number / TRAINED * EVALUATED;
        for number in first..first + if number % TRAINED == TRAINED - 1 { EVALUATED } else { 0 } {
            let _step = step!(number, mode = eval);
            if !wait.is_zero() {
                let _wait = section!("read_held_out", phase = DataLoading);
                late_by += late(wait, || sleep(wait));
            }
            let _forward = section!("forward", phase = Forward);
            late_by += late(WORK, || sleep(WORK));
        }
    }
    drop(run);
    crate::say("late_us", late_by.as_micros() as u64);
}
