//! What a span costs the thread that makes it: nanoseconds of its CPU time, instructions, allocations. Each peer
//! does the same work, spans inside of steps of a thousand; how to run it is in README.md.
//!
//! `spans list` names the cases. `spans time CASE…` measures time and allocations, `spans process CASE…` those of the
//! whole process until everything has left. `spans count CASE…` runs itself under callgrind. `spans run CASE CHUNKS` does the
//! work, for profilers. `spans deliver CASE…` counts what arrives at a receiver, and what that costs. `spans smoke` does a
//! little of everything of ours, and fails where a span does not arrive.

mod aims;
mod alloc;
mod cases;
mod count;
mod deliver;
mod sink;

use std::time::Duration;

use cases::{Case, SPANS};

/// CPU time by one of the system's clocks.
fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// What a span of one chunk costs.
struct Cost {
    ns: f64,
    allocations: f64,
}

/// One chunk: callgrind counts in here, and nowhere else.
#[inline(never)]
fn counted(case: &Case, number: u64) {
    (case.chunk)(number);
}

/// Works through `chunks` chunks; what is recorded leaves between them, so that no queue fills up. With `settles` after a
/// chunk and a pause: by then stepscope's clock goes by the tick counter.
fn work(case: &Case, chunks: usize, settles: bool) -> Vec<Cost> {
    let directory = tempfile::tempdir().ok();
    let set_up = (case.set_up)(directory.as_ref().map(tempfile::TempDir::path));
    if settles {
        (case.chunk)(0);
        set_up.rest(Duration::from_secs(10));
        std::thread::sleep(Duration::from_secs(1));
    }
    let spans = SPANS as f64;
    let costs = (0..chunks).map(|number| {
        let (start_ns, before) = (cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID), alloc::count());
        counted(case, number as u64);
        let (end_ns, after) = (cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID), alloc::count());
        set_up.rest(Duration::from_secs(10));
        Cost { ns: (end_ns - start_ns) as f64 / spans, allocations: (after - before) as f64 / spans }
    });
    costs.collect()
}

/// What a span costs the whole process, from its start until what was recorded has left.
fn whole_process(case: &Case) -> Cost {
    let directory = tempfile::tempdir().ok();
    let set_up = (case.set_up)(directory.as_ref().map(tempfile::TempDir::path));
    let clock = libc::CLOCK_PROCESS_CPUTIME_ID;
    // The first chunks warm everything up.
    let (warm_up, chunks) = (100, 1_000);
    for number in 0..warm_up {
        (case.chunk)(number);
        set_up.rest(Duration::from_secs(10));
    }
    alloc::count_all();
    let (start_ns, before) = (cpu_ns(clock), alloc::all());
    for number in warm_up..warm_up + chunks {
        (case.chunk)(number);
        set_up.rest(Duration::from_secs(10));
    }
    let (end_ns, after) = (cpu_ns(clock), alloc::all());
    let spans = chunks as f64 * SPANS as f64;
    Cost { ns: (end_ns - start_ns) as f64 / spans, allocations: (after - before) as f64 / spans }
}

fn chosen(names: &[String]) -> impl Iterator<Item = Case> + '_ {
    let is_chosen = |case: &Case| names.is_empty() || names.iter().any(|name| name == case.name);
    cases::all().into_iter().filter(is_chosen)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, names) =
        arguments.split_first().map_or(("list", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    match verb {
        "time" if names.len() == 1 => {
            for case in chosen(names) {
                // The first chunks warm everything up.
                let mut costs = work(&case, 2_000, false).split_off(200);
                costs.sort_by(|a, b| a.ns.total_cmp(&b.ns));
                let at = |part: usize| costs.get(costs.len() * part / 100).map_or(0.0, |cost| cost.ns);
                let allocations = costs.iter().map(|cost| cost.allocations).sum::<f64>() / costs.len() as f64;
                println!(
                    "{:24} p10 {:7.1} ns   p50 {:7.1} ns   {allocations:5.2} allocations{}",
                    case.name,
                    at(10),
                    at(50),
                    aims::told(at(10), aims::time_ns(case.name))
                );
            }
        }
        "process" if names.len() == 1 => {
            for case in chosen(names) {
                let Cost { ns, allocations } = whole_process(&case);
                println!("{:24} process {ns:7.1} ns   {allocations:5.2} allocations", case.name);
            }
        }
        // A recorder is global in its process: each case gets a process of its own.
        "time" | "process" | "count" => {
            let measured = chosen(names).filter(|case| match verb {
                "count" => count::instructions(case),
                _ => count::again(&[verb, case.name]),
            });
            let (measured, all) = (measured.count(), chosen(names).count());
            let lacking =
                || std::io::Error::other(format!("{} of {all} could not be measured", all - measured));
            or_fail(if measured == all { Ok(()) } else { Err(lacking()) });
        }
        "run" => {
            let chunks = names.get(1).and_then(|chunks| chunks.parse().ok()).unwrap_or(1);
            for case in chosen(&names[..1.min(names.len())]) {
                work(&case, chunks, names.get(2).is_some_and(|how| how == "settled"));
            }
        }
        "deliver" => or_fail(deliver::all(names, 600)),
        "send" => or_fail(deliver::send(names)),
        "sink" => or_fail(sink::serve()),
        "smoke" => {
            let works = cases::all().iter().all(|case| count::again(&["run", case.name, "3"]));
            or_fail(if works { deliver::smoke() } else { Err(std::io::Error::other("a case ended early")) });
        }
        _ => {
            println!("time, process, count, run:");
            cases::all().iter().for_each(|case| println!("  {:24} {}", case.name, case.about));
            println!("deliver:");
            cases::senders().iter().for_each(|sender| println!("  {:24} {}", sender.name, sender.about));
        }
    }
}

fn or_fail(result: std::io::Result<()>) {
    if let Err(error) = result {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
