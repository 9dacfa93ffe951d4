//! A pass of the tier of one second beside bare readings of the same files, which are open already, in turns.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use stepscope_metrics::{Sampler, Snapshot};

use crate::{Failure, alloc, of, timed};

const ROUNDS: usize = 5;
const PASSES: usize = 1_000;
/// One pass in so many reads more.
const SLOW: u64 = 10;
/// What that pass reads, of files that stay open.
const SLOW_FILES: [&str; 4] = ["vmstat", "snmp", "sockstat", "memory.stat"];
/// What a pass may take in terms of bare readings.
const AIM: f64 = 1.5;

/// What the sampler has open and reads in every pass.
fn files() -> Result<Vec<File>, Failure> {
    let open: Vec<PathBuf> = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|path| path.starts_with("/proc") || path.starts_with("/sys"))
        .filter(|path| !path.ends_with("fd") && !SLOW_FILES.iter().any(|name| path.ends_with(name)))
        .collect();
    Ok(open.iter().map(File::open).collect::<Result<_, _>>()?)
}

/// One call for each file.
fn once(files: &[File], buffer: &mut [u8]) {
    for file in files {
        let _ = std::hint::black_box(file.read_at(buffer, 0));
    }
}

/// Until each file says that there is no more.
fn whole(files: &[File], buffer: &mut [u8]) {
    for file in files {
        let mut length = 0;
        while let Ok(more) = file.read_at(buffer.get_mut(length..).unwrap_or_default(), length as u64) {
            if more == 0 {
                break;
            }
            length += more;
        }
    }
}

/// Prints the ratios; the mean of the rounds' is held against the aim.
pub(crate) fn compare() -> Result<(), Failure> {
    let mut sampler = Sampler::new(std::process::id());
    let mut copy = Snapshot::default();
    copy.clone_from(sampler.pass());
    let files = files()?;
    let mut buffer = vec![0; 64 << 10];
    let (mut ratios, mut ratios_whole, mut allocations) = (0.0, 0.0, 0);
    for round in 1..=ROUNDS {
        let [mut bare, mut bare_whole, mut passes] = [const { Vec::<Duration>::new() }; 3];
        for _ in 0..PASSES {
            bare.push(timed(|| once(&files, &mut buffer)));
            bare_whole.push(timed(|| whole(&files, &mut buffer)));
            let before = alloc::count();
            let pass = timed(|| {
                std::hint::black_box(sampler.pass());
            });
            copy.clone_from(sampler.pass());
            let used = alloc::count() - before;
            // The passes go on by two: one of them may be the slow one.
            if (copy.passes - 1) % SLOW != 0 && (copy.passes - 2) % SLOW != 0 {
                passes.push(pass);
                allocations += used;
            }
        }
        let ((bare, bare_low), (every, _), (pass, pass_low)) =
            (of(&mut bare), of(&mut bare_whole), of(&mut passes));
        let ratio = pass.as_secs_f64() / bare.as_secs_f64();
        ratios += ratio / ROUNDS as f64;
        ratios_whole += pass.as_secs_f64() / every.as_secs_f64() / ROUNDS as f64;
        println!(
            "round {round}: {} files: one pread each {bare:?} ({bare_low:?}), until nothing more comes {every:?}, a pass \
             {pass:?} ({pass_low:?}): {ratio:.2} times as long",
            files.len()
        );
    }
    let verdict = if ratios <= AIM { "reached" } else { "missed" };
    println!(
        "mean: {ratios:.2} times one pread each (aim {AIM}: {verdict}), {ratios_whole:.2} times reading to the end"
    );
    println!("allocations in passes that read nothing slow, and copies of what they found: {allocations}");
    Ok(())
}
