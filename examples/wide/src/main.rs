//! Steps of as many sections as are asked for: half of them compute, for 35 % of the step, then the other half wait for input.
//! Whoever sees only the first ones sees no input. `wide [--sections N] [--steps N] [--out FOLDER]`.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use stepscope::section;

/// What a step takes.
const STEP: Duration = Duration::from_millis(120);
/// The part of it that computes.
const COMPUTES: f64 = 0.35;

struct Options {
    sections: u32,
    steps: u64,
    out: PathBuf,
}

impl Options {
    fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let mut options = Self { sections: 25_000, steps: 30, out: PathBuf::from("profiles") };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--sections" => options.sections = value.parse()?,
                "--steps" => options.steps = value.parse()?,
                "--out" => options.out = PathBuf::from(value),
                _ => return Err(format!("{argument} means nothing").into()),
            }
        }
        Ok(options)
    }
}

/// Calls `section` as often as asked; they share the time from `begin` to `end` evenly, as far as that is enough.
fn share(count: u32, begin: Instant, end: Instant, section: impl Fn(Instant)) {
    let each = (end - begin) / count.max(1);
    (1..=count).for_each(|number| section(begin + each * number));
}

fn spin_until(end: Instant) {
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments()?;
    let _run = stepscope::builder().service_name("wide").directory(&options.out).install();
    // Two sections of each step are around the others.
    let half = options.sections.saturating_sub(2) / 2;
    for number in 0..options.steps {
        let _step = stepscope::step!(number);
        let begin = Instant::now();
        let (turn, end) = (begin + STEP.mul_f64(COMPUTES), begin + STEP);
        {
            let _forward = section!("forward");
            share(half, begin, turn, |end| {
                let _layer = section!("layer");
                spin_until(end);
            });
        }
        let _input = section!("next_batch", phase = DataWait);
        share(half, turn, end, |end| {
            let _read = section!("read");
            spin_until(end);
        });
    }
    Ok(())
}
