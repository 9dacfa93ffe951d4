//! Many steps, a few of them slow, for sinks with bounds. Arguments: how many, number of
//! the first one, numbers of the slow ones.

use std::time::{Duration, Instant};

use stepscope::{section, step};

use crate::say;

/// Calls of one step.
const SECTIONS: u64 = 9;

pub(crate) fn run(first: u64, steps: u64, slow: &str) {
    let slow: Vec<u64> = slow.split(',').filter_map(|number| number.parse().ok()).collect();
    let run = stepscope::init();
    let has_endpoint = std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
    let patience = Duration::from_millis(if has_endpoint { 20 } else { 10_000 });
    for number in first..first + steps {
        let _step = step!(number, samples = 32);
        for _ in 0..SECTIONS {
            let _section = section!("forward", phase = Forward);
        }
        if slow.contains(&number) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if number % 64 == 0 {
            // The sinks are what this is about, not the rings. A collector may take its time.
            let _ = run.flush(patience);
        }
    }
    // The run, its mark, and everything above.
    say("spans", steps * (SECTIONS + 1) + 2);
    let start = Instant::now();
    drop(run);
    say("end_ms", u64::try_from(start.elapsed().as_millis()).unwrap());
}
