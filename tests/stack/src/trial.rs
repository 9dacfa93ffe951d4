//! A program that sends to the real collector, or to what is before it, while something is wrong with that; and the
//! account of its spans afterwards, taken from three places that know nothing of each other: what the program says it
//! made, what its own directory reports of them, and what the collector has written.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use stepscope_testkit::{TempFolder, binaries, process};

use crate::account::{Fate, ids_below};
use crate::program::{LIMIT, example, parse, report_text};
use crate::stack::Stack;

/// What the layer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP/HTTP.
    Http,
    /// OTLP/gRPC.
    Grpc,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Http, Self::Grpc];

    /// As `OTEL_EXPORTER_OTLP_PROTOCOL` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http/protobuf",
            Self::Grpc => "grpc",
        }
    }

    /// As the collector's own telemetry has it.
    #[must_use]
    pub fn transport(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
        }
    }

    /// Where the collector takes it, as `host:port`.
    #[must_use]
    pub fn address(self, stack: &Stack) -> &str {
        stack.address(match self {
            Self::Http => "COLLECTOR_OTLP_HTTP",
            Self::Grpc => "COLLECTOR_OTLP_GRPC",
        })
    }

    /// The setting that sends traces, and nothing else, to `address`.
    #[must_use]
    pub fn traces_to(self, address: &str) -> (&'static str, String) {
        let path = if self == Self::Http { "/v1/traces" } else { "" };
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("http://{address}{path}"))
    }
}

/// Starts the collector without Jaeger, with the configuration that this repository has for it, but that it writes
/// JSON lines and hands nothing on; `more` are further arguments of `scripts/stack start`.
///
/// # Errors
/// When it does not start.
pub fn collector(more: &[&str]) -> Result<Stack, String> {
    let laptop = binaries::repository().join("collector-config/laptop.yaml").to_string_lossy().into_owned();
    let arguments = [
        "collector",
        "--config",
        &laptop,
        "--config",
        "yaml:service::pipelines::traces::exporters: [file/json_traces]",
        "--config",
        "yaml:service::pipelines::metrics::exporters: [file/json_metrics]",
    ];
    Stack::start(&[&arguments, more].concat(), &[])
}

/// The spans that the collector has written, by trace and span id. It is stopped for it, hence writes what it still
/// holds.
///
/// # Errors
/// When it cannot be stopped, or what it wrote cannot be read.
pub fn written_by(stack: &Stack) -> Result<BTreeSet<(String, String)>, String> {
    stack.change("stop", "collector")?;
    let log = stack.log("collector");
    if !log.lines().last().is_some_and(|line| line.contains("Shutdown complete")) {
        return Err(format!("the collector has not ended by itself: {log}"));
    }
    ids_below(&stack.data("json"))
}

/// A program that runs.
#[derive(Debug)]
pub struct Trial {
    folder: TempFolder,
    child: Child,
}

/// What there is after its end.
#[derive(Debug)]
pub struct Ended {
    /// Spans that the program has made, as it says itself.
    pub made: u64,
    /// What became of them, as the report on its directory says.
    pub fate: Fate,
    /// Spans in its directory.
    pub recorded: BTreeSet<(String, String)>,
    /// Lines that it wrote to standard error.
    pub said: String,
}

impl Trial {
    /// Starts the example `programs` with these arguments and settings. Unless these say otherwise it waits for its
    /// receiver longer than anything takes here, so that what is lost is lost for the trouble alone.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(
        arguments: &[&str],
        protocol: Protocol,
        address: &str,
        settings: &[(&str, &str)],
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("failed to start a program: {error}");
        let folder = TempFolder::new("trial").map_err(failed)?;
        let limit_ms = LIMIT.as_millis().to_string();
        let mut command = example("programs", arguments)?;
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.name())
            .env("OTEL_EXPORTER_OTLP_TIMEOUT", &limit_ms)
            .env("STEPSCOPE_EXIT_TIMEOUT", &limit_ms)
            .env("STEPSCOPE_DIR", folder.join("profiles"))
            .env("STEPSCOPE_FORMAT", "json")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout")).map_err(failed)?)
            .stderr(File::create(folder.join("stderr")).map_err(failed)?);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { folder, child })
    }

    fn read(&self, name: &str) -> Result<String, String> {
        let path: PathBuf = self.folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))
    }

    /// Waits until it has written `text` to standard error.
    ///
    /// # Errors
    /// When it ends without, or does not within a time that is long enough for anything.
    pub fn wait_until_said(&mut self, text: &str) -> Result<(), String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            // Looked at before what it said is, which is whole then.
            let has_ended = self.child.try_wait().map_err(|error| error.to_string())?.is_some();
            let said = self.read("stderr")?;
            if said.contains(text) {
                return Ok(());
            }
            if has_ended || Instant::now() > deadline {
                return Err(format!("it has not said {text:?}, but: {said}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it fails, or its directory cannot be told.
    pub fn end(mut self) -> Result<Ended, String> {
        let (status, timed_out) =
            process::wait(&mut self.child, 2 * LIMIT).map_err(|error| error.to_string())?;
        let (printed, said) = (self.read("stdout")?, self.read("stderr")?);
        if !status.success() || timed_out {
            return Err(format!("{status}: {said}"));
        }
        let lines = printed.lines().filter_map(|line| line.strip_prefix("= ")?.split_once(' '));
        let made =
            lines.filter(|(name, _)| ["spans", "emitted"].contains(name)).map(|(_, value)| value).next();
        let made =
            made.and_then(|value| value.parse().ok()).ok_or("the program does not say what it made")?;
        let profiles = self.folder.join("profiles");
        let fate = Fate::of(&parse(&report_text(&[&profiles])?)?)?;
        Ok(Ended { made, fate, recorded: ids_below(&profiles)?, said })
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // Where a test has failed, nobody waits for the program.
        let _ = (self.child.kill(), self.child.wait());
    }
}

impl Ended {
    /// Whether all that is known of the spans fits together; `arrived` are those that the collector has.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self, arrived: &BTreeSet<(String, String)>) -> Result<(), String> {
        self.fate.check(arrived.len() as u64)?;
        if self.fate.emitted != self.made {
            return Err(format!("{} spans were made: {}", self.made, self.fate));
        }
        match arrived.difference(&self.recorded).next() {
            Some(stranger) => Err(format!("{stranger:?} arrived, and is not the program's")),
            None => Ok(()),
        }
    }
}
