//! `many_steps STEPS SECTIONS`: a run of many short steps, paced so that the background thread keeps up, and a
//! collector, too, however slow it is.

use std::time::{Duration, Instant};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let (steps, sections) = (numbers.next().unwrap_or(1_000), numbers.next().unwrap_or(9));
    let run = stepscope::init();
    let started = Instant::now();
    // Well below what the queue to a collector holds.
    let spans_between_flushes = 20_000;
    for step in 0..steps {
        if step % (spans_between_flushes / (sections + 1)).max(1) == 0 {
            let _ = run.flush(Duration::from_secs(60));
        }
        let _step = stepscope::step!(step, samples = 32);
        for _ in 0..sections {
            let _section = stepscope::section!("work", phase = Forward);
        }
        // About 100,000 spans a second.
        let due = started + Duration::from_micros(step * (sections + 1) * 10);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
