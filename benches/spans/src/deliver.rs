//! What a span costs the whole process until a receiver has it, and how many arrive: over OTLP/HTTP and OTLP/gRPC, as fast
//! as the loop goes and at a pace, to a counting sink beside.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::aims;
use crate::cases::{SPANS, Sender, SetUp, senders};
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
    told: Option<Told>,
}

/// What the sender itself tells of them.
#[derive(Debug, Clone, Copy)]
struct Told {
    acknowledged: u64,
    /// Lost before they were to be sent: rings were full.
    dropped: u64,
    /// Lost in sending. Of some of these it may not be known whether they have arrived.
    unsent: u64,
}

impl Told {
    /// Of all spans so far; the receiver is the only place that they go to.
    fn of(set_up: &SetUp) -> Option<Self> {
        let spans = set_up.spans()?;
        Some(Self {
            acknowledged: spans.sinks.iter().map(|sink| sink.1).sum(),
            dropped: spans.dropped.iter().map(|(_, count)| count).sum(),
            unsent: spans.sinks.iter().map(|sink| sink.2).sum(),
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            acknowledged: self.acknowledged - before.acknowledged,
            dropped: self.dropped - before.dropped,
            unsent: self.unsent - before.unsent,
        }
    }

    /// Whether every span that was made is told of, and those that arrived are those that were acknowledged, and of the
    /// others at most those that were sent.
    fn is_right(self, made: u64, delivered: u64) -> bool {
        let Self { acknowledged, dropped, unsent } = self;
        made == acknowledged + dropped + unsent && (acknowledged..=acknowledged + unsent).contains(&delivered)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledged, dropped, unsent } = self;
        write!(f, "told: acknowledged {acknowledged:7}, dropped {dropped:7}, lost in sending {unsent:7}")
    }
}

/// Runs the chosen senders, each in a process of its own beside a sink of its own.
///
/// # Errors
/// After all of them, where one failed: of ours every paced span has to arrive.
pub(crate) fn all(names: &[String], chunks: u64) -> io::Result<()> {
    let mut failed = Vec::new();
    let mut paced = BTreeMap::new();
    for sender in
        senders().iter().filter(|sender| names.is_empty() || names.iter().any(|name| name == sender.name))
    {
        for protocol in ["http/protobuf", "grpc"] {
            for pace in [Pace::Paced, Pace::Flat] {
                match run(sender, protocol, pace, chunks) {
                    Ok(Some(cost_ns)) if pace == Pace::Paced => {
                        paced.insert((sender.name, protocol), cost_ns);
                    }
                    Ok(_) => {}
                    Err(error) => failed.push(error.to_string()),
                }
            }
        }
    }
    for protocol in ["http/protobuf", "grpc"] {
        let of = |name| paced.get(&(name, protocol)).copied();
        if let Some((ours_ns, theirs_ns)) = of(aims::OURS).zip(of(aims::THEIRS)) {
            let times = theirs_ns / ours_ns;
            println!(
                "{} {protocol:13} takes {times:.1} times what {} does{}",
                aims::THEIRS,
                aims::OURS,
                aims::told_at_least(times, aims::TIMES)
            );
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("\n"))) }
}

/// Has every sender of ours deliver a little, and more than it can.
///
/// # Errors
/// Where a span does not arrive that has the time for it, or what the sender tells is not so.
pub(crate) fn smoke() -> io::Result<()> {
    for sender in senders().iter().filter(|sender| sender.is_ours) {
        for protocol in ["http/protobuf", "grpc"] {
            run(sender, protocol, Pace::Rested, 3)?;
            run(sender, protocol, Pace::Flat, 200)?;
        }
    }
    Ok(())
}

/// What a span that has arrived took of the process, ns, as the sender has said.
fn run(sender: &Sender, protocol: &str, pace: Pace, chunks: u64) -> io::Result<Option<f64>> {
    let sink = Sink::start()?;
    let sent = Command::new(std::env::current_exe()?)
        .args(["send", sender.name, protocol, pace.name(), &chunks.to_string()])
        .env(SINK, &sink.address)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", sink.address))
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        .stderr(Stdio::inherit())
        .output()?;
    let said = String::from_utf8_lossy(&sent.stdout);
    print!("{said}");
    if sent.status.success() {
        let cost = said.split_once("process ").and_then(|(_, rest)| rest.split_whitespace().next());
        Ok(cost.and_then(|cost| cost.parse().ok()))
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
    let Delivered { made, delivered, cpu_ns, told } =
        measure(&sender, protocol == "grpc", pace, chunks, &sink)?;
    let cost_ns = cpu_ns as f64 / delivered.max(1) as f64;
    let aim = if pace == Pace::Paced { aims::told(cost_ns, aims::delivered_ns(name)) } else { String::new() };
    println!(
        "{:16} {protocol:13} {:6} made {made:7}   delivered {delivered:7} ({:5.1} %)   process {:7.1} ns a delivered span   {}{aim}",
        sender.name,
        pace.name(),
        100.0 * delivered as f64 / made.max(1) as f64,
        cost_ns,
        told.map_or_else(|| "tells nothing".to_owned(), |told| told.to_string()),
    );
    if told.is_some_and(|told| !told.is_right(made, delivered)) {
        return Err(io::Error::other("what is told of the spans is not what became of them"));
    }
    if (pace == Pace::Rested || pace == Pace::Paced && sender.is_ours) && delivered != made {
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
    let (before, told_before) = (sink::received(sink)?, Told::of(&set_up));
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
    let told = Told::of(&set_up).zip(told_before).map(|(now, before)| now.since(before));
    Ok(Delivered { made, delivered: sink::received(sink)? - before, cpu_ns, told })
}
