//! Recordings of a sensor on their way through a program without any machine learning: read (tokio), decoded in
//! loader threads, turned into spectra (rayon), written (tokio). One step is one recording. What each stage does
//! is in the modules; this is the loop.

mod recordings;
mod source;
mod spectrum;
mod writer;

use std::error::Error;

use examples_common::{Options, Times};

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Faults that can be planted; README.md says what the report makes of them.
const PLANTS: [&str; 3] = ["unbuffered", "leak", "flush"];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let options = Options::from_arguments(&PLANTS)?;
    let folder = tempfile::tempdir()?;
    let files = recordings::generate(folder.path(), options.seed)?;
    let _run = options
        .recorded
        .then(|| stepscope::builder().service_name("pipeline").directory(&options.out).install());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut writer = writer::Writer::create(runtime.handle(), folder.path(), options.plants("flush"))?;
    // "For a look at the whole day later on": what the fault `leak` keeps.
    let mut day = Vec::new();

    let times = std::thread::scope(|scope| {
        let source = source::Source {
            files: &files,
            runtime: runtime.handle(),
            steps: options.steps,
            is_unbuffered: options.plants("unbuffered"),
        };
        let mut recordings = source::start(scope, source)?;
        let mut times = Times::start(options.steps);
        for number in 0..options.steps {
            let step = stepscope::step!(number, samples = recordings::RECORDS);
            let Some(recording) = recordings.next() else {
                step.discard();
                return Err("a loader thread ended early".into());
            };
            let spectra = spectrum::spectra(&recording?);
            writer.write(&spectra)?;
            if options.plants("leak") {
                day.push(spectra);
            }
            drop(step);
            times.lap();
        }
        Ok::<_, Box<dyn Error + Send + Sync>>(times)
    })?;
    writer.finish()?;
    println!("{times}");
    Ok(())
}
