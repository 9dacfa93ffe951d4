//! A program that counts by itself, and says of each bucket of its histogram which step was the last one in it: an exemplar, as
//! OpenMetrics writes it, by which a dashboard leads from a figure to the trace behind it.

use std::fmt::Write as _;
use std::time::Instant;

use stepscope::{SpanIds, section, step};

/// Upper bounds in seconds.
const BOUNDS: [f64; 2] = [0.002, f64::INFINITY];

/// The step that fell into a bucket last.
struct Exemplar {
    ids: SpanIds,
    seconds: f64,
}

#[derive(Default)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    exemplars: [Option<Exemplar>; BOUNDS.len()],
    sum: f64,
}

impl Histogram {
    /// Inside of the section that is measured.
    fn observe(&mut self, seconds: f64) {
        let bucket = BOUNDS.iter().position(|&bound| seconds <= bound).unwrap_or_default();
        self.counts[bucket] += 1;
        self.sum += seconds;
        self.exemplars[bucket] = stepscope::current_ids().map(|ids| Exemplar { ids, seconds });
    }

    fn exposition(&self) -> String {
        let mut text = "# TYPE step_seconds histogram\n".to_owned();
        let mut count = 0;
        for ((bound, in_it), exemplar) in BOUNDS.iter().zip(self.counts).zip(&self.exemplars) {
            count += in_it;
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            let _ = write!(text, "step_seconds_bucket{{le=\"{bound}\"}} {count}");
            if let Some(Exemplar { ids, seconds }) = exemplar {
                let (trace, span) = (ids.trace_id_text(), ids.span_id_text());
                let _ = write!(text, " # {{trace_id=\"{trace}\",span_id=\"{span}\"}} {seconds}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "step_seconds_sum {}\nstep_seconds_count {count}\n# EOF", self.sum);
        text
    }
}

pub(crate) fn run(steps: u64) {
    let _run = crate::start();
    let mut histogram = Histogram::default();
    for number in 0..steps {
        let _step = step!(number);
        let start = Instant::now();
        {
            let _section = section!("part");
            if number % 4 == 3 {
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        }
        histogram.observe(start.elapsed().as_secs_f64());
    }
    print!("{}", histogram.exposition());
}
