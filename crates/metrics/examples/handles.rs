//! What an operation on a handle of the facade `metrics` costs with our recorder: nanoseconds, or with the name of one and a
//! number, that many of it and nothing else, for a counter of instructions (`perf stat`, `valgrind`) to look at.
//!
//! | operation | time | instructions |
//! | --- | --- | --- |
//! | set a gauge | 2.6 ns | 22 |
//! | increment a counter | 9.5 ns | 16 |
//! | record into a histogram | 26 ns | 97 |
//! | find a gauge with a label, and set it | 57 ns | 585 |
//!
//! With the loop around it (0.3 ns, 4 instructions by callgrind); the workspace's development build, a virtual Xeon, 29 November
//! 2026. `cargo run --release -p stepscope-metrics --features facade --example handles [OPERATION NUMBER]`

use std::hint::black_box;
use std::time::Instant;

use stepscope_metrics::Recorder;

const ROUNDS: u64 = 20_000_000;

type Operation = (&'static str, Box<dyn Fn(u64)>);

/// Each repeats itself as often as it is told.
fn operations() -> Vec<Operation> {
    let (gauge, counter) = (metrics::gauge!("gauge"), metrics::counter!("counter"));
    let histogram = metrics::histogram!("histogram");
    vec![
        (
            "nothing",
            Box::new(|rounds| {
                (0..rounds).for_each(|round| {
                    black_box(round);
                })
            }),
        ),
        ("set", Box::new(move |rounds| (0..rounds).for_each(|round| gauge.set(black_box(round as f64))))),
        (
            "increment",
            Box::new(move |rounds| (0..rounds).for_each(|round| counter.increment(black_box(round)))),
        ),
        (
            "record",
            Box::new(move |rounds| (0..rounds).for_each(|round| histogram.record(black_box(round as f64)))),
        ),
        (
            "macro",
            Box::new(|rounds| {
                (0..rounds).for_each(|round| {
                    metrics::gauge!("labelled", "rank" => "7").set(black_box(round as f64))
                });
            }),
        ),
    ]
}

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if metrics::set_global_recorder(Recorder::new()).is_err() {
        return;
    }
    let wanted = arguments.first().zip(arguments.get(1).and_then(|text| text.parse().ok()));
    for (name, repeat) in operations() {
        match wanted {
            Some((operation, rounds)) if operation == name => repeat(rounds),
            Some(_) => {}
            None => {
                repeat(ROUNDS / 20);
                let begun = Instant::now();
                repeat(ROUNDS);
                println!("{name}: {:.2} ns", begun.elapsed().as_secs_f64() * 1e9 / ROUNDS as f64);
            }
        }
    }
}
