//! One leak a run, beside a retainer that keeps as many bytes and is healthy: steps of plain `#[instrument]` functions. What
//! each leak is, is in `programs`; what was planted, and where, is printed at the end as one line of JSON.

mod options;
mod programs;
mod retainer;
mod sizes;
mod truth;

use std::error::Error;
use std::time::Duration;

use options::Options;
use programs::ALL;
use retainer::Retainer;
use sizes::Sizes;

#[cfg(not(any(feature = "plain", feature = "dhat", feature = "jemalloc")))]
#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

#[cfg(feature = "dhat")]
#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let leak = ALL.iter().find(|leak| leak.name == options.name).ok_or("no such leak")?;
    let run = (!options.is_unrecorded)
        .then(|| stepscope::builder().service_name(leak.name).directory(&options.out).install());
    #[cfg(feature = "dhat")]
    let profiler = dhat::Profiler::new_heap();
    let sizes = Sizes::new(options.seed, options.bytes, leak.block_bytes);
    let mut program = (leak.start)(sizes.clone());
    let mut retainer = Retainer::new(sizes, options.steps);
    let mut epoch = stepscope::epoch!(0);
    for number in 0..options.steps {
        if number > 0 && options.steps_of_epoch > 0 && number % options.steps_of_epoch == 0 {
            drop(epoch);
            epoch = stepscope::epoch!(number / options.steps_of_epoch);
        }
        {
            let _step = stepscope::step!(number);
            retainer.step();
            program.step(number);
            transform(number);
        }
        std::thread::sleep(Duration::from_micros(options.step_us));
    }
    drop(epoch);
    // What is live at the end of the run is what the last step has left.
    drop(run);
    #[cfg(feature = "dhat")]
    drop(profiler);
    println!("{}", truth::json(leak, options.steps, retainer.bytes()));
    // Profilers that look at the exit see the same.
    std::mem::forget((program, retainer));
    Ok(())
}

/// Work that keeps nothing.
#[tracing::instrument(skip_all)]
fn transform(number: u64) {
    let blocks: Vec<Vec<u8>> = (1..200).map(|size| vec![number as u8; size * 16]).collect();
    std::hint::black_box(blocks);
}
