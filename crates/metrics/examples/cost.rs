//! What a pass and a rendering cost on this machine: a pass beside bare readings of the same files, in turns.
//! `cargo run --release -p stepscope-metrics --example cost`

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use stepscope_metrics::view::prometheus::{Format, Renderer};
use stepscope_metrics::{Sampler, Snapshot};

const ROUNDS: usize = 300;

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn main() -> std::io::Result<()> {
    let pid = std::process::id();
    let mut sampler = Sampler::new(pid);
    sampler.pass();
    // What the sampler has open is what it reads in most passes; those of one pass in ten are open, too.
    let open: Vec<_> = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|path| path.starts_with("/proc") || path.starts_with("/sys"))
        .filter(|path| {
            !path.ends_with("fd")
                && !["vmstat", "snmp", "sockstat", "memory.stat"].iter().any(|name| path.ends_with(name))
        })
        .collect();
    let files: Vec<File> = open.iter().map(File::open).collect::<Result<_, _>>()?;
    let mut buffer = vec![0; 64 << 10];
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let begun = Instant::now();
        for file in &files {
            let mut length = 0;
            while let Ok(more) = file.read_at(&mut buffer[length..], length as u64) {
                if more == 0 {
                    break;
                }
                length += more;
            }
        }
        bare.push(begun.elapsed());
        let begun = Instant::now();
        sampler.pass();
        // Passes with slow readings are shown by themselves.
        if (round + 1) % 10 != 0 {
            whole.push(begun.elapsed());
        }
    }
    let (bare, whole) = (median(&mut bare), median(&mut whole));
    let ratio = whole.as_secs_f64() / bare.as_secs_f64();
    println!("{} files: bare readings {bare:?}, a pass {whole:?}, {ratio:.2} times as long", files.len());
    let mut snapshot: Snapshot = sampler.pass().clone();
    snapshot.cores = vec![Some(0.25); 400];
    let mut renderer = Renderer::new(Format::Text);
    let mut text = String::new();
    let mut series = renderer.render(&snapshot, 2_000, &[], &mut text);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        text.clear();
        let begun = Instant::now();
        series = renderer.render(black_box(&snapshot), 2_000, &[], &mut text);
        times.push(begun.elapsed());
    }
    println!("{} series, {} bytes rendered in {:?}", series.published, text.len(), median(&mut times));
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
