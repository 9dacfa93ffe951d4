//! Runs whose spans all reached the collector.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use stepscope_server::{Limits, Receiver};
use stepscope_testkit::{TempFolder, binaries};

use crate::program::{output, parse, report_text, stepscope};
use crate::stack::Stack;

/// How often it is tried. The program gives up two seconds after its end; a machine that is busy with something
/// else may not have sent all by then.
const TRIES: u32 = 5;

/// How long the receiver is given to take what the collector has sent at its end.
const LAST: Duration = Duration::from_secs(20);

/// A run, in the programs and in a directory.
#[derive(Debug)]
pub struct Recorded {
    /// What it was sent to.
    pub stack: Stack,
    /// The directory that the layer wrote besides.
    pub profiles: PathBuf,
    /// What the program printed: of the demo its report, as JSON.
    pub printed: String,
    /// Spans that were sent and taken.
    pub spans: u64,
    /// Where our receiver stored what the collector handed on to it, where it was asked to.
    pub received: PathBuf,
    receiver: Option<Receiver>,
    _folder: TempFolder,
}

/// Starts the programs ([`Stack::start`]) and trains with `demo` as further arguments; `format` is that of the
/// directory.
///
/// # Errors
/// When something does not start, or when each try lost spans.
pub fn demo(
    arguments: &[&str],
    settings: &[(&str, &str)],
    demo: &[&str],
    format: &str,
) -> Result<Recorded, String> {
    until_all_arrive(|| {
        let stack = Stack::start(arguments, settings)?;
        run(stack, None, |profiles| demo_command(profiles, demo, format))
    })
}

/// The demo, as [`everywhere`] takes it.
///
/// # Errors
/// When the program is not built.
pub fn demo_command(profiles: &Path, demo: &[&str], format: &str) -> Result<Command, String> {
    let mut command = stepscope(&["--quiet", "demo", "--format", "json", "--out"])?;
    // What is in the directory is sent, live memory too.
    command.arg(profiles).args(demo).env("STEPSCOPE_FORMAT", format);
    Ok(command)
}

/// The exporter through which the collector hands on what it takes to our receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// OTLP/HTTP, gzip.
    Http,
    /// OTLP/gRPC, gzip.
    Grpc,
}

/// Runs a program against a collector that writes every file format, and hands everything on to Jaeger and to our
/// receiver; `program` makes the call that writes its directory to the folder it is given.
///
/// # Errors
/// When something does not start, or when each try lost spans.
pub fn everywhere(
    gates: &[&str],
    forwarding: Forwarding,
    program: impl Fn(&Path) -> Result<Command, String>,
) -> Result<Recorded, String> {
    until_all_arrive(|| {
        let folder = new_folder()?;
        let received = folder.join("received");
        let receiver = Receiver::start(&received, Limits::default())
            .map_err(|error| format!("failed to start a receiver: {error}"))?;
        let address = receiver.address();
        let (name, exporter) = match forwarding {
            Forwarding::Http => ("otlp_http/receiver", format!("{{endpoint: \"http://{address}\"}}")),
            Forwarding::Grpc => {
                ("otlp_grpc/receiver", format!("{{endpoint: \"{address}\", tls: {{insecure: true}}}}"))
            }
        };
        let laptop = binaries::repository().join("collector-config/laptop.yaml");
        let pipeline = |signal: &str, also: &str| {
            let files = ["json", "proto", "zstd"].map(|format| format!("file/{format}_{signal}")).join(", ");
            format!("yaml:service::pipelines::{signal}::exporters: [{files}, {name}{also}]")
        };
        let configs = [
            laptop.to_string_lossy().into_owned(),
            format!("yaml:exporters::{name}: {exporter}"),
            pipeline("traces", ", otlp_grpc/jaeger"),
            pipeline("metrics", ""),
        ];
        let mut arguments = gates.to_vec();
        arguments.extend(configs.iter().flat_map(|config| ["--config", config]));
        let mut recorded = run(Stack::start(&arguments, &[])?, Some(folder), &program)?;
        if let Some(recorded) = &mut recorded {
            recorded.receiver = Some(receiver);
            recorded.received = received;
        }
        Ok(recorded)
    })
}

fn until_all_arrive(
    mut attempt: impl FnMut() -> Result<Option<Recorded>, String>,
) -> Result<Recorded, String> {
    for _ in 0..TRIES {
        if let Some(recorded) = attempt()? {
            return Ok(recorded);
        }
    }
    Err(format!("spans were lost {TRIES} times: the machine is too busy"))
}

fn new_folder() -> Result<TempFolder, String> {
    TempFolder::new("recorded").map_err(|error| format!("failed to make a folder: {error}"))
}

/// Runs the program; `None` where spans were lost on the way.
fn run(
    stack: Stack,
    folder: Option<TempFolder>,
    program: impl Fn(&Path) -> Result<Command, String>,
) -> Result<Option<Recorded>, String> {
    let folder = folder.map_or_else(new_folder, Ok)?;
    let profiles = folder.join("profiles");
    let mut program = program(&profiles)?;
    // Gauges go to the directory as often as they are read, and to the collector as the sums do: no report is the other's.
    program.env("OTEL_METRICS_EXPORTER", "none").env("OTEL_EXPORTER_OTLP_ENDPOINT", stack.endpoint());
    let printed = output(&mut program)?;
    // The directory has the figures of the very end, which what was sent cannot have.
    let losses = &parse(&report_text(&[&profiles])?)?["losses"];
    let spans = stack.collector_count("otelcol_receiver_accepted_spans", "transport=\"http\"")?;
    if losses["dropped_total"] != 0 {
        eprintln!("spans were lost, again: {losses}");
        return Ok(None);
    }
    if losses["emitted"] != spans {
        return Err(format!("the collector took {spans} spans, against {losses}"));
    }
    let received = PathBuf::new();
    Ok(Some(Recorded { stack, profiles, printed, spans, received, receiver: None, _folder: folder }))
}

impl Recorded {
    /// Stops the collector once Jaeger has stored everything, hence flushes its files and what it still had to hand
    /// on; then the receiver.
    ///
    /// # Errors
    /// When something is missing somewhere.
    pub fn finish(&mut self) -> Result<(), String> {
        self.stack.wait_for_stored(self.spans)?;
        self.stack.change("stop", "collector")?;
        if let Some(receiver) = self.receiver.take() {
            receiver.drain(LAST);
            let counts = receiver.stop();
            if (counts.spans, counts.refused, counts.rejected) != (self.spans, 0, 0) {
                return Err(format!("the receiver should have {} spans: {counts:?}", self.spans));
            }
        }
        Ok(())
    }
}
