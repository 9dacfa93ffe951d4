//! One fault a run, or the same program without it (`--healthy`): steps of plain `#[instrument]` functions, with no phase and
//! no name that implies one. What each fault is, is in `faults`; `run.py` holds the reports against what was planted.

mod faults;
mod options;
mod work;

use std::error::Error;
use std::time::Instant;

use faults::{ALL, Place};
use options::Options;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    if options.spins {
        faults::neighbour::spin();
    }
    let fault = ALL.iter().find(|fault| fault.name == options.name).ok_or("no such fault")?;
    let folder = tempfile::tempdir_in(".")?;
    let _run = (!options.is_unrecorded)
        .then(|| stepscope::builder().service_name(fault.name).directory(&options.out).install());
    let mut program = (fault.start)(Place { is_healthy: options.is_healthy, folder: folder.path() })?;
    let mut times = Vec::new();
    let began = Instant::now();
    for number in 0..options.steps {
        let step = stepscope::step!(number);
        let at = Instant::now();
        program.step(number)?;
        times.push(at.elapsed());
        drop(step);
        if began.elapsed() > options.most {
            break;
        }
    }
    drop(program);
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("steps={} median_us={}", times.len(), median.as_micros());
    Ok(())
}
