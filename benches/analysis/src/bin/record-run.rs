//! Records the run that the bench analyses: `record-run STEPS proto|json DIRECTORY`. A training loop of fifty
//! sections a step that compute nothing, with the real layer, so that spans, attributes and sums are what a
//! program's are. What is done with the files lives in `analysis-bench`.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use stepscope::{Format, section, step};

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// Layers of the network; each has two sections inside its own, forwards and backwards.
const LAYERS: usize = 7;

/// Steps after which everything recorded is written, so that nothing is lost.
const STEPS_PER_FLUSH: u64 = 20;

const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [steps, format, directory] = arguments.as_slice() else {
        return Err("usage: record-run STEPS proto|json DIRECTORY".into());
    };
    let steps: u64 = steps.parse().map_err(|_| "STEPS is no number")?;
    let format = if format == "json" { Format::JsonLines } else { Format::Protobuf };
    let guard = stepscope::builder()
        .run_id("bench")
        .directory(PathBuf::from(directory))
        .directory_bytes(64 << 30)
        .format(format)
        .ring_bytes(8 << 20)
        .exit_timeout(TIMEOUT)
        .install();
    for number in 0..steps {
        train(number);
        if number % STEPS_PER_FLUSH == 0 && !guard.flush(TIMEOUT).is_complete() {
            return Err(format!("the spans of step {number} were not written"));
        }
    }
    drop(guard);
    Ok(())
}

/// One step: 50 spans, its own among them.
fn train(number: u64) {
    let _step = step!(number, samples = 32u64);
    {
        let _wait = section!("wait_batch", phase = DataWait);
    }
    {
        let _copy = section!("host_to_device", phase = HostToDevice);
    }
    {
        let _forward = section!("forward", phase = Forward);
        for layer in 0..LAYERS {
            let _layer = section!("layer", layer = layer);
            {
                let _attention = section!("attention");
                drop(black_box(vec![0u8; 512 + layer]));
            }
            let _linear = section!("linear");
            drop(black_box(vec![0u8; 256 + layer]));
        }
    }
    {
        let _loss = section!("loss", phase = Forward);
    }
    {
        let _backward = section!("backward", phase = Backward);
        for layer in 0..LAYERS {
            let _layer = section!("layer_backward", layer = layer);
            {
                let _attention = section!("attention_backward");
                drop(black_box(vec![0u8; 1_024 + layer]));
            }
            let _linear = section!("linear_backward");
            drop(black_box(vec![0u8; 512 + layer]));
        }
    }
    {
        let _optimizer = section!("optimizer", phase = Optimizer);
    }
    let _log = section!("log_metrics");
}
