//! One leak a run, beside a retainer that keeps as many bytes and is healthy: steps of plain `#[instrument]` functions. What
//! each leak is, is in `programs`; what was planted, and where, is printed at the end as one line of JSON.

mod options;
mod programs;
mod retainer;
mod sizes;
mod truth;

use std::error::Error;
use std::time::{Duration, Instant};

use options::Options;
use programs::ALL;
use retainer::Retainer;
use sizes::Sizes;

/// Runs what the command line asks for.
///
/// # Errors
/// Where it means nothing.
pub fn run() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let leak = ALL.iter().find(|leak| leak.name == options.name).ok_or("no such leak")?;
    let run = (!options.is_unrecorded)
        .then(|| stepscope::builder().service_name(leak.name).directory(&options.out).install());
    let sizes = Sizes::new(options.seed, options.bytes, leak.block_bytes);
    let mut program = (leak.start)(sizes.clone());
    let mut retainer = Retainer::new(sizes, options.steps);
    let mut epoch = stepscope::epoch!(0);
    for number in 0..options.steps {
        if number > 0 && options.steps_of_epoch > 0 && number % options.steps_of_epoch == 0 {
            drop(epoch);
            epoch = stepscope::epoch!(number / options.steps_of_epoch);
        }
        let _step = stepscope::step!(number);
        retainer.step();
        program.step(number);
        transform(number, Duration::from_micros(options.step_us));
    }
    drop(epoch);
    // What is live at the end of the run is what the last step has left.
    drop(run);
    println!("{}", truth::json(leak, options.steps, retainer.bytes()));
    // Profilers that look at the exit see the same.
    std::mem::forget((program, retainer));
    Ok(())
}

/// Work that keeps nothing, for so long.
#[tracing::instrument(skip_all)]
fn transform(number: u64, time: Duration) {
    let start = Instant::now();
    let mut blocks: Vec<Vec<u8>> = (1..200).map(|size| vec![number as u8; size * 16]).collect();
    while start.elapsed() < time {
        blocks.iter_mut().flatten().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
    }
    std::hint::black_box(blocks);
}
