//! A training loop that leaks, or not, beside a watch; says how right that was, and exits with 1 where it was not.
//! `leak_watch leak --limit 400000000`, `(ulimit -v 700000; leak_watch leak)`, `leak_watch healthy --steps 2000`;
//! `leak_watch unwatched --steps 2000` is the same without the watch.

#![expect(clippy::print_stdout, reason = "it is what the program is for")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_report::LeakWarning;

#[global_allocator]
static ALLOC: stepscope::Alloc = stepscope::Alloc::system();

/// What a step of the leak keeps.
const KEPT_BYTES: usize = 256 << 10;

/// What a step holds while it runs.
const BATCH_BYTES: usize = 4 << 20;

/// Entries of a cache, which is full after as many steps.
const CACHE: usize = 40;

struct Options {
    leaks: bool,
    is_watched: bool,
    steps: u64,
    limit_bytes: Option<u64>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { leaks: false, is_watched: true, steps: u64::MAX, limit_bytes: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse().ok());
        match word.as_str() {
            "leak" => options.leaks = true,
            "healthy" => options.leaks = false,
            "unwatched" => options.is_watched = false,
            "--steps" => options.steps = number().ok_or("--steps needs a number")?,
            "--limit" => options.limit_bytes = Some(number().ok_or("--limit needs a number of bytes")?),
            other => {
                return Err(format!(
                    "{other} is not known: leak, healthy, unwatched, --steps N, --limit BYTES"
                ));
            }
        }
    }
    Ok(options)
}

/// Memory that is written to, if there is any.
fn filled(bytes: usize) -> Option<Vec<u8>> {
    let mut block = Vec::new();
    block.try_reserve_exact(bytes).ok()?;
    block.resize(bytes, 1);
    Some(block)
}

/// The work of a step: sums over a batch, some milliseconds.
fn forward(batch: &[u8]) -> u64 {
    let _section = stepscope::section!("forward");
    (0..2).map(|round| batch.iter().fold(round, |sum: u64, &byte| sum.rotate_left(5) ^ u64::from(byte))).sum()
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let folder = std::env::temp_dir().join(format!("leak-watch-{}", std::process::id()));
    let run = stepscope::builder().directory(&folder).install();
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let (begun, told) = (Instant::now(), Arc::clone(&warnings));
    let watch = options.is_watched.then(|| {
        let watch = stepscope_report::watch_leaks(&run.handle());
        let watch = options.limit_bytes.into_iter().fold(watch, |watch, bytes| watch.limit_bytes(bytes));
        watch.start(move |warning| {
            println!("{:6.2} s, {} steps: {warning}", begun.elapsed().as_secs_f64(), warning.steps);
            if let Ok(mut told) = told.lock() {
                told.push((begun.elapsed(), warning.clone()));
            }
        })
    });
    let (mut kept, mut cache) = (Vec::new(), Vec::new());
    let mut done = 0;
    while done < options.steps {
        let _step = stepscope::step!(done);
        let Some(batch) = filled(BATCH_BYTES) else { break };
        black_box(forward(&batch));
        drop(batch);
        if cache.len() < CACHE {
            cache.extend(filled(KEPT_BYTES));
        }
        if options.leaks {
            let Some(block) = filled(KEPT_BYTES) else { break };
            kept.push(block);
        }
        done += 1;
        if options.limit_bytes.is_some() && stepscope_mem::rss_bytes() >= options.limit_bytes {
            break;
        }
    }
    let ended = begun.elapsed();
    // What follows needs memory, too.
    drop((kept, cache, watch));
    println!("{:6.2} s, {done} steps: the end", ended.as_secs_f64());
    drop(run);
    let _ = std::fs::remove_dir_all(&folder);
    let warnings = warnings.lock().map(|told| told.clone()).unwrap_or_default();
    judge(&options, done, ended, &warnings)
}

/// Whether the warnings were right.
fn judge(options: &Options, done: u64, ended: Duration, warnings: &[(Duration, LeakWarning)]) -> ExitCode {
    let Some((at, first)) = warnings.first() else {
        println!("no warning");
        return ExitCode::from(u8::from(options.leaks && options.is_watched));
    };
    let Some((time, steps)) = first.time_to_limit.zip(first.steps_to_limit).filter(|_| options.leaks) else {
        return ExitCode::FAILURE;
    };
    let left = ended.saturating_sub(*at).as_secs_f64();
    let off = time.about.as_secs_f64() / left - 1.0;
    println!(
        "first warning {left:.2} s and {} steps before the limit; predicted {:.2} s ({:+.1} %) and {:.0} steps ({:+.1} %)",
        done - first.steps,
        time.about.as_secs_f64(),
        off * 100.0,
        steps.about,
        (steps.about / (done - first.steps) as f64 - 1.0) * 100.0,
    );
    if off.abs() <= 0.25 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
