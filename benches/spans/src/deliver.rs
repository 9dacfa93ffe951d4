//! What a span costs the whole process until a receiver has it, and how many arrive: over OTLP/HTTP and OTLP/gRPC, as fast
//! as the loop goes and at a pace, to a counting sink beside.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cases::{SPANS, Sender, senders};
use crate::cpu_ns;
use crate::sink::{self, Sink};

/// Spans a second where they are paced.
const RATE: u64 = 150_000;

/// The sink's address, for the sender.
const SINK: &str = "SPANS_BENCH_SINK";

/// How fast steps follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Everything has left before the next.
    Rested,
    /// At once.
    Flat,
    /// At [`RATE`].
    Paced,
}

impl Pace {
    const ALL: [Self; 3] = [Self::Rested, Self::Flat, Self::Paced];

    const fn name(self) -> &'static str {
        match self {
            Self::Rested => "rested",
            Self::Flat => "flat",
            Self::Paced => "paced",
        }
    }
}

/// What has become of the spans of a run.
#[derive(Debug, Clone, Copy)]
struct Delivered {
    made: u64,
    delivered: u64,
    cpu_ns: u64,
}

/// Runs the chosen senders, each in a process of its own beside a sink of its own.
pub(crate) fn all(names: &[String], chunks: u64) -> io::Result<()> {
    for sender in
        senders().iter().filter(|sender| names.is_empty() || names.iter().any(|name| name == sender.name))
    {
        for protocol in ["http/protobuf", "grpc"] {
            for pace in [Pace::Paced, Pace::Flat] {
                run(sender, protocol, pace, chunks)?;
            }
        }
    }
    Ok(())
}

/// Has every sender of ours deliver a little.
///
/// # Errors
/// Where not every span arrives.
pub(crate) fn smoke() -> io::Result<()> {
    for sender in senders().iter().filter(|sender| sender.is_ours) {
        for protocol in ["http/protobuf", "grpc"] {
            run(sender, protocol, Pace::Rested, 3)?;
        }
    }
    Ok(())
}

fn run(sender: &Sender, protocol: &str, pace: Pace, chunks: u64) -> io::Result<()> {
    let sink = Sink::start()?;
    let status = Command::new(std::env::current_exe()?)
        .args(["send", sender.name, protocol, pace.name(), &chunks.to_string()])
        .env(SINK, &sink.address)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", sink.address))
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} over {protocol} failed", sender.name)))
    }
}

/// One sender, in the process that `run` has started.
pub(crate) fn send(arguments: &[String]) -> io::Result<()> {
    let [name, protocol, pace, chunks] = arguments else {
        return Err(io::Error::other("send needs a case, a protocol, a pace and a number of steps"));
    };
    let known = senders().into_iter().find(|sender| sender.name == name);
    let pace = Pace::ALL.into_iter().find(|known| known.name() == pace);
    let (Some(sender), Some(pace), Ok(chunks)) = (known, pace, chunks.parse()) else {
        return Err(io::Error::other("send does not know that"));
    };
    let sink = std::env::var(SINK).map_err(io::Error::other)?;
    let Delivered { made, delivered, cpu_ns } = measure(&sender, protocol == "grpc", pace, chunks, &sink)?;
    println!(
        "{:16} {protocol:13} {:6} made {made:7}   delivered {delivered:7} ({:5.1} %)   process {:7.1} ns a delivered span",
        sender.name,
        pace.name(),
        100.0 * delivered as f64 / made.max(1) as f64,
        cpu_ns as f64 / delivered.max(1) as f64,
    );
    if pace == Pace::Rested && delivered != made {
        return Err(io::Error::other("spans are missing"));
    }
    Ok(())
}

fn measure(sender: &Sender, is_grpc: bool, pace: Pace, chunks: u64, sink: &str) -> io::Result<Delivered> {
    const WARM_UP: u64 = 20;
    const PATIENCE: Duration = Duration::from_secs(20);
    let set_up = (sender.set_up)(is_grpc);
    for number in 0..WARM_UP {
        (sender.chunk)(number);
        set_up.rest(PATIENCE);
    }
    let before = sink::received(sink)?;
    let clock = libc::CLOCK_PROCESS_CPUTIME_ID;
    let (start, start_ns) = (Instant::now(), cpu_ns(clock));
    for number in 0..chunks {
        if pace == Pace::Paced {
            let due = Duration::from_nanos(number * SPANS as u64 * 1_000_000_000 / RATE);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
        }
        (sender.chunk)(WARM_UP + number);
        if pace == Pace::Rested {
            set_up.rest(PATIENCE);
        }
    }
    set_up.rest(PATIENCE);
    let cpu_ns = cpu_ns(clock) - start_ns;
    // The step's own span is one of them.
    let made = chunks * (SPANS as u64 + 1);
    Ok(Delivered { made, delivered: sink::received(sink)? - before, cpu_ns })
}
