//! What a span costs the thread that makes it: nanoseconds of its CPU time, instructions, allocations. Each peer
//! does the same work, spans inside of steps of a thousand; how to run it is in README.md.
//!
//! `spans list` names the cases. `spans time CASE…` measures time and allocations. `spans count CASE…` runs itself
//! under callgrind. `spans run CASE CHUNKS` does the work, for profilers.

mod alloc;
mod cases;
mod count;

use std::time::Duration;

use cases::{CASES, Case, SPANS};

/// CPU time of the calling thread.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What a span of one chunk costs.
struct Cost {
    ns: f64,
    allocations: f64,
}

/// Works through `chunks` chunks; what is recorded leaves between them, so that no queue fills up.
fn work(case: &Case, chunks: usize) -> Vec<Cost> {
    let directory = tempfile::tempdir().ok();
    let set_up = (case.set_up)(directory.as_ref().map(tempfile::TempDir::path));
    let spans = SPANS as f64;
    let costs = (0..chunks).map(|number| {
        let (start_ns, before) = (thread_cpu_ns(), alloc::count());
        (case.chunk)(number as u64);
        let (end_ns, after) = (thread_cpu_ns(), alloc::count());
        set_up.rest(Duration::from_secs(10));
        Cost { ns: (end_ns - start_ns) as f64 / spans, allocations: (after - before) as f64 / spans }
    });
    costs.collect()
}

fn chosen(names: &[String]) -> impl Iterator<Item = &'static Case> + '_ {
    CASES.iter().filter(|case| names.is_empty() || names.iter().any(|name| name == case.name))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, names) =
        arguments.split_first().map_or(("list", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    match verb {
        "time" if names.len() == 1 => {
            for case in chosen(names) {
                // The first chunks warm everything up.
                let mut costs = work(case, 2_000).split_off(200);
                costs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
                let at = |part: usize| costs.get(costs.len() * part / 100).map_or(0.0, |cost| cost.ns);
                let allocations = costs.iter().map(|cost| cost.allocations).sum::<f64>() / costs.len() as f64;
                println!(
                    "{:24} p10 {:7.1} ns   p50 {:7.1} ns   {allocations:5.2} allocations",
                    case.name,
                    at(10),
                    at(50)
                );
            }
        }
        // A recorder is global in its process: each case gets a process of its own.
        "time" | "count" => {
            for case in chosen(names) {
                if verb == "time" { count::again(&["time", case.name]) } else { count::instructions(case) }
            }
        }
        "run" => {
            let chunks = names.get(1).and_then(|chunks| chunks.parse().ok()).unwrap_or(1);
            for case in chosen(&names[..1.min(names.len())]) {
                work(case, chunks);
            }
        }
        _ => CASES.iter().for_each(|case| println!("{:24} {}", case.name, case.about)),
    }
}
