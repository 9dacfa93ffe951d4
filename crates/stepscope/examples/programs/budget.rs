//! Many steps, a few of them slow, for sinks with bounds. Arguments: how many, number of
//! the first one, numbers of the slow ones, steps of an epoch.

use std::time::{Duration, Instant};

use stepscope::{epoch, section, step};

use crate::say;

/// Calls of one step.
const SECTIONS: u64 = 9;

pub(crate) fn run(first: u64, steps: u64, slow: &str, epoch_steps: u64) {
    let slow: Vec<u64> = slow.split(',').filter_map(|number| number.parse().ok()).collect();
    let run = crate::start();
    let has_endpoint = std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
    let patience = Duration::from_millis(if has_endpoint { 20 } else { 10_000 });
    let (mut epoch, mut epochs) = (None, 0);
    for number in first..first + steps {
        if epoch_steps > 0 && (number - first).is_multiple_of(epoch_steps) {
            drop(epoch.take());
            epoch = Some(epoch!(epochs));
            epochs += 1;
        }
        let _step = step!(number, samples = 32);
        for _ in 0..SECTIONS {
            let _section = section!("forward", phase = Forward);
        }
        if slow.contains(&number) {
            // Longer than a busy machine holds up others.
            std::thread::sleep(Duration::from_millis(500));
        }
        if number % 64 == 0 {
            // The sinks are what this is about, not the rings. A collector may take its time.
            let _ = run.flush(patience);
        }
    }
    drop(epoch);
    // The run, the epochs, their marks, and everything above.
    say("spans", steps * (SECTIONS + 1) + 2 * epochs + 2);
    say("epochs", epochs);
    let start = Instant::now();
    drop(run);
    say("end_ms", u64::try_from(start.elapsed().as_millis()).unwrap());
}
