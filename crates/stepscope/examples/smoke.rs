//! A tiny program with everything in it: steps, epochs, `#[instrument]`, a loader, an allocator. Used by the
//! tests as a child process, and good for a first look: `cargo run -p stepscope --example smoke`.

use std::sync::mpsc::sync_channel;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

#[tracing::instrument(skip_all, fields(stepscope.phase = "forward", batch = batch.len()))]
fn forward(batch: &[u8]) -> u64 {
    layer(batch, 3)
}

#[tracing::instrument(skip(batch))]
fn layer(batch: &[u8], depth: u32) -> u64 {
    let sum: u64 = batch.iter().map(|&byte| u64::from(byte) * u64::from(depth)).sum();
    if depth > 0 { sum ^ layer(batch, depth - 1) } else { sum }
}

fn main() {
    let steps = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_u64);
    let run = stepscope::init();
    let loader = stepscope::Loader::new("train");
    for epoch in 0..2 {
        let _epoch = stepscope::epoch!(epoch);
        let (sender, receiver) = sync_channel(4);
        let worker = {
            let loader = loader.clone();
            std::thread::Builder::new().name("loader-0".into()).spawn(move || {
                for number in 0..steps {
                    let batch = loader.produce(|| {
                        let _decode = stepscope::section!("decode");
                        vec![number as u8; 4_096]
                    });
                    if sender.send(batch).is_err() {
                        return;
                    }
                }
            })
        };
        for number in 0.. {
            let step = stepscope::step!(epoch * steps + number, samples = 64);
            let Some(batch) = loader.wait(|| receiver.recv().ok()) else {
                step.discard();
                break;
            };
            let loss = forward(&batch);
            {
                let _backward = stepscope::section!("backward", phase = Backward, text = "hello");
                std::hint::black_box(vec![loss; 1_000]);
            }
            stepscope::value!("loss", loss as f64);
            if number == 7 {
                tracing::warn!("the loss is {loss}");
            }
        }
        if let Ok(worker) = worker {
            let _ = worker.join();
        }
    }
    drop(run);
}
