//! The command line: commands, options and the help that teaches them. What they do lives in `command`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::exit;

const EXAMPLES: &str = "\
First steps:
  stepscope demo                   train a small model, record it, see its report
  stepscope demo --slow loader     the same with a slow data loader: watch it being found
  stepscope record -- python t.py  run a program that speaks OpenTelemetry, and report on it
  stepscope analyze                the report of your own run in ./profiles
  stepscope explain input_bound    what a finding means and what to do about it
";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  stepscope analyze                                the latest run in ./profiles
  stepscope analyze profiles --format json         for programs
  stepscope analyze --format html --output a.html  a page with plots, for a browser
  stepscope analyze --format md --output run.md    for a comment on a pull request
  stepscope analyze --format grafana > a.json      a dashboard with its data inside
  stepscope analyze --format csv --output run      tables for a spreadsheet, into the folder run
  stepscope analyze rank0.jsonl rank1.jsonl        one file a rank, one report
  zstdcat traces.zst | stepscope analyze -         from standard input
  stepscope analyze --fail-on 20 profiles          exit code 1 if a finding has severity >= 20
  stepscope analyze --push profiles                findings to a collector, for Grafana
  stepscope analyze --partial a.part a/            the heavy half, on any machine;
  stepscope merge a.part b.part                    the other half, anywhere
  stepscope analyze --list-rules                   what is looked for; docs/rules.md at length

What is read: the directories that the layer writes, OTLP traces as protobuf or JSON (the
collector's file exporter, answers of Tempo and Jaeger), Jaeger JSON, and Chrome trace events
(PyTorch's profiler among others); also compressed. The kind is found from the content, never
the name.
";

const MERGE_EXAMPLES: &str = "\
Examples:
  stepscope analyze --partial a.part part-a/     on one machine,
  stepscope analyze --partial b.part part-b/     on another,
  stepscope merge a.part b.part                  the report of both

The result is the one that `analyze` gives for all inputs at once. Order does not matter, and a
partial that is named twice counts once.
";

const CONVERT_EXAMPLES: &str = "\
Examples:
  stepscope convert profiles/run run.perfetto.json     to open in ui.perfetto.dev
  stepscope convert profiles/run run.jaeger.json       to upload in Jaeger's UI
  stepscope convert traces.json run.otlp               from Jaeger's UI to OTLP
  stepscope convert --to jsonl run.otlp - | grep ...   to standard output, a message a line

Everything that the target can hold is kept; what it cannot hold is named on standard error.
";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  stepscope explain                              all rules
  stepscope explain slow_section                 one rule: what it finds, how, and what to do
";

const CONFIG_EXAMPLES: &str = "\
Examples:
  stepscope config                               the thresholds that `analyze` uses here, and what is set
                                                 of the layer, each with its place
  stepscope config > stepscope.toml              a file to begin with

The file is --config FILE, else the one that STEPSCOPE_CONFIG names, else stepscope.toml in the current
directory. Thresholds that it does not have are the defaults. `stepscope explain RULE` says what each does.
";

const RECORD_EXAMPLES: &str = "\
Examples:
  stepscope record -- ./train --epochs 3             a program with stepscope's layer
  stepscope record -- opentelemetry-instrument python train.py
                                                     any program with an OpenTelemetry SDK
  stepscope record --output report.txt -- ./train    the program's output stays apart from the report
  stepscope record --fail-on 20 -- ./train           exit code 1 if a finding has severity >= 20

Where OTEL_EXPORTER_OTLP_ENDPOINT is set, the findings are pushed there at the end.

While the program runs, spans and metrics are taken on a free port of the loopback interface, by
OTLP over HTTP (protobuf, JSON) and gRPC alike; OTEL_EXPORTER_OTLP_ENDPOINT names it. Settings of
yours stay, except for endpoints; what is replaced is told on standard error.
";

const RECORD_CODES: &str = "\
The exit code is the program's own (128 and the signal's number where one ended it). Where the
program ends with 0, it is one of these:
";

const CAPTURE_EXAMPLES: &str = "\
Examples:
  stepscope capture                              the latest run below ./profiles, all its ranks
  stepscope capture 4711 --steps 20              one process, 20 steps
  stepscope capture /data/run7 --level detailed  a run that writes elsewhere
  stepscope capture --memory --pid 4711          what is live now, by section and line

The program needs stepscope's layer, and a directory to write to; the request is a file in there,
which it looks for twice a second. After these steps it goes back to the level that it had.
";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  stepscope doctor                               settings, endpoint, clock, directory, machine
  stepscope doctor -- ./train --steps 20         the same, and what a short run really sends
  stepscope doctor profiles                      what a recorded run lacks, and why
  stepscope doctor --format json                 for programs

The program behind -- may be run twice: with the second run it is seen whether a log filter keeps
its sections from being recorded.

The exit code is 1 where something is broken.
";

const MONITOR_EXAMPLES: &str = "\
Examples:
  stepscope monitor                              a line of figures a second, until Ctrl-C
  stepscope monitor --listen 127.0.0.1:9101      the same, and Prometheus may scrape /metrics there
  stepscope monitor --otlp http://127.0.0.1:4318 the same, and a collector gets them every 10 s
  stepscope monitor --pid 4711                   with the figures of a process and its container
  stepscope monitor --once --format json         every figure once, for programs

What is published, and from where it is read, is in docs/metrics.md.
";

const DEMO_EXAMPLES: &str = "\
Examples:
  stepscope demo                                 a healthy run
  stepscope demo --slow preprocessing            the training thread prepares its data too slowly
  stepscope demo --slow loader                   the loader cannot keep up
  stepscope demo --busy-loaders                  loaders always at work, but hidden: not input bound
  stepscope demo --leak                          every step keeps some memory for ever

The model is a small convolutional network on 1,797 real handwritten digits. It is instrumented
as any program would be; the spans go to a directory, the report is made from that directory.
";

/// Where does the training time go? Analyses the spans of training programs.
#[derive(Debug, Parser)]
#[command(name = "stepscope", version, after_help = after_help(EXAMPLES), max_term_width = 100)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Global {
    /// No progress and no notes on standard error; errors stay
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// No colours (as does the environment variable NO_COLOR)
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train a small real model with the layer, record it, and show its report
    #[command(after_help = after_help(DEMO_EXAMPLES))]
    Demo(DemoArgs),
    /// Run a program, take what it sends by OTLP, and report on it
    #[command(after_help = record_help())]
    Record(RecordArgs),
    /// Have a running program record its next steps more closely, or write what is live
    #[command(after_help = after_help(CAPTURE_EXAMPLES))]
    Capture(CaptureArgs),
    /// Find out why nothing, or not everything, is recorded, and how to mend it
    #[command(after_help = after_help(DOCTOR_EXAMPLES))]
    Doctor(DoctorArgs),
    /// Show and publish what the machine, its GPUs and a process do
    #[command(after_help = after_help(MONITOR_EXAMPLES))]
    Monitor(MonitorArgs),
    /// Report on recorded runs
    #[command(after_help = after_help(ANALYZE_EXAMPLES))]
    Analyze(AnalyzeArgs),
    /// Join partial analyses made by `analyze --partial`
    #[command(after_help = after_help(MERGE_EXAMPLES))]
    Merge(MergeArgs),
    /// Write traces in another format
    #[command(after_help = after_help(CONVERT_EXAMPLES))]
    Convert(ConvertArgs),
    /// What a rule finds, how, and what to do about it
    #[command(after_help = after_help(EXPLAIN_EXAMPLES))]
    Explain(ExplainArgs),
    /// Every setting, its value, and where that came from
    #[command(after_help = after_help(CONFIG_EXAMPLES))]
    Config(ConfigArgs),
    /// Judge a series of memory from standard input
    #[command(hide = true)]
    LeakCheck,
    /// Write the completions of a shell to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Where and how the result is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// How the report is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the report to this file (csv: into this folder) instead of standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Thresholds of the rules (TOML; `stepscope explain RULE` lists them) [default: stepscope.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The run to report on where the input holds several, or one attempt of it (default: the latest)
    #[arg(long, value_name = "RUN[/ATTEMPT]")]
    pub(crate) run: Option<String>,
    /// Exit with code 1 if a finding is at least this severe (0 to 100), or no step could be judged
    #[arg(long, value_name = "SEVERITY", value_parser = severity)]
    pub(crate) fail_on: Option<f64>,
    /// Send findings and figures to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names
    #[arg(long)]
    pub(crate) push: bool,
    /// Write live memory by stack to this file, too, as a profile for `go tool pprof` and others
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// Tell what grew in live memory between these two steps, by line: of the snapshots nearest to them
    #[arg(long, num_args = 2, value_names = ["STEP", "STEP"])]
    pub(crate) memory_between: Vec<u64>,
    /// Look up lines in this binary, debug file or folder, too, as where the run's own are not on this machine
    #[arg(long, value_name = "PATH")]
    pub(crate) symbols: Vec<PathBuf>,
    /// Does so where that variable is set, and goes on where it fails.
    #[arg(skip)]
    pub(crate) pushes_where_configured: bool,
    /// Write a partial analysis to this file instead of a report
    #[arg(long, value_name = "OUT", conflicts_with_all = ["output", "format", "fail_on", "run", "config", "push", "pprof", "symbols", "memory_between"])]
    pub(crate) partial: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether nothing but pushing was asked for.
    #[must_use]
    pub(crate) const fn pushes_alone(&self) -> bool {
        self.push && self.output.is_none() && self.fail_on.is_none() && matches!(self.format, Format::Text)
    }
}

/// Arguments of `analyze`.
#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Files or directories of traces; `-` is standard input [default: profiles/]
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Threads that read [default: one a processor, 4 at most]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// List the rules that runs are judged by, and read nothing
    #[arg(long, conflicts_with_all = ["inputs", "threads", "OutputArgs"])]
    pub(crate) list_rules: bool,
    /// Where the result goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Directory in which a new one is made for what the program sends
    #[arg(long, value_name = "DIR", default_value = crate::input::DEFAULT)]
    pub(crate) out: PathBuf,
    /// Where the result goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// Id of the process, or a directory that it writes to; of a run's all processes are asked, of several runs those of
    /// the latest [default: profiles/]
    #[arg(value_name = "PID|DIRECTORY")]
    pub(crate) target: Option<OsString>,
    /// Id of the process, as PID
    #[arg(long, value_name = "PID", conflicts_with = "target")]
    pub(crate) pid: Option<u32>,
    /// Have them write what is live now instead, at once
    #[arg(long, conflicts_with_all = ["steps", "level"])]
    pub(crate) memory: bool,
    /// How many steps
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: u64,
    /// How closely
    #[arg(long, value_enum, default_value_t = CaptureLevel::Comprehensive)]
    pub(crate) level: CaptureLevel,
    /// Where the process of PID is looked for
    #[arg(long, value_name = "DIR", default_value = crate::input::DEFAULT)]
    pub(crate) profiles: PathBuf,
    /// Seconds to wait for the programs
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) timeout: u64,
}

/// Levels of `capture`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureLevel {
    /// A span for every section
    Detailed,
    /// With CPU time, too
    Comprehensive,
}

impl CaptureLevel {
    #[must_use]
    pub(crate) const fn level(self) -> stepscope::Level {
        match self {
            Self::Detailed => stepscope::Level::Detailed,
            Self::Comprehensive => stepscope::Level::Comprehensive,
        }
    }
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Files or directories of traces to look into instead of this machine
    #[arg(value_name = "INPUT", conflicts_with = "command")]
    pub(crate) inputs: Vec<PathBuf>,
    /// How the findings are written
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
    /// A short program to run and look into, and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Formats of `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For people: fits a terminal of 80 columns
    Text,
    /// For programs: one object
    Json,
}

/// Arguments of `monitor`.
#[derive(Debug, Args)]
pub(crate) struct MonitorArgs {
    /// Answer Prometheus' scrapes of /metrics at this address; port 0 is any free one
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listen_address)]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Push to the collector at this URL by OTLP over HTTP, every 10 s (or OTEL_METRIC_EXPORT_INTERVAL, in ms)
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Allow an address that other machines can reach: whoever can connect sees everything
    #[arg(long, requires = "listen")]
    pub(crate) allow_remote: bool,
    /// Seconds from one reading to the next, 0.1 to 300
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    pub(crate) interval: f64,
    /// Follow this process and the container around it; ends when it does
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Follow this container: its id, or the path of its control group; ends when it does
    #[arg(long, value_name = "ID|PATH")]
    pub(crate) container: Option<String>,
    /// Write the figures once and end
    #[arg(long, conflicts_with_all = ["listen", "otlp"])]
    pub(crate) once: bool,
    /// How figures are written; `json` is one object a reading
    #[arg(long, value_enum, default_value_t = MonitorFormat::Text)]
    pub(crate) format: MonitorFormat,
    /// Most series that are published
    #[arg(long, value_name = "SERIES", default_value_t = stepscope_metrics::DEFAULT_BUDGET)]
    pub(crate) budget: usize,
    /// Do not look for GPUs
    #[arg(long)]
    pub(crate) no_gpu: bool,
    /// The driver's library, if it is not where the system looks
    #[arg(long, value_name = "FILE", conflicts_with = "no_gpu")]
    pub(crate) nvml: Option<PathBuf>,
}

/// Formats of `monitor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MonitorFormat {
    /// For people: a line of the most important figures
    Text,
    /// For programs: one object a line
    Json,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files written by `analyze --partial` or `merge --partial`; `-` is standard input
    #[arg(value_name = "PARTIAL", required = true)]
    pub(crate) partials: Vec<PathBuf>,
    /// Where the result goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// File or directory of traces in any format that is read; `-` is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// File to write; `-` is standard output
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// What to write [default: by the ending of OUT]
    #[arg(long, value_name = "FORMAT", value_parser = ["otlp", "jsonl", "jaeger", "chrome"])]
    pub(crate) to: Option<String>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The rule; all are listed without one
    pub(crate) rule: Option<String>,
}

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The file to read [default: stepscope.toml, where there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Plant a slow stage
    #[arg(long, value_enum)]
    pub(crate) slow: Option<SlowStage>,
    /// Keep the loader threads at work all the time, without making the trainer wait
    #[arg(long)]
    pub(crate) busy_loaders: bool,
    /// Plant a leak: every step keeps some memory for ever
    #[arg(long)]
    pub(crate) leak: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Stop after this many steps
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Passes over the training data
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) epochs: Option<u32>,
    /// Directory of the profile
    #[arg(long, value_name = "DIR", default_value = crate::input::DEFAULT)]
    pub(crate) out: PathBuf,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the report to this file (csv: into this folder) instead of standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// A stage that `demo` can slow down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SlowStage {
    /// Normalising the images, on the training thread
    Preprocessing,
    /// Reading the images, on the loader thread
    Loader,
}

/// Formats of reports; the names are those of the renderers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: fits a terminal of 80 columns
    Text,
    /// For programs: one object, described by a JSON Schema
    Json,
    /// Markdown, for comments on pull requests
    #[value(alias = "markdown")]
    Md,
    /// A folder of tables, for spreadsheets: needs --output FOLDER
    Csv,
    /// One page for a browser, with plots and tables, that works offline
    Html,
    /// One dashboard with its data inside, to import into Grafana
    Grafana,
}

impl Format {
    /// The name of its renderer.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Md => "md",
            Self::Csv => "csv",
            Self::Html => "html",
            Self::Grafana => "grafana",
        }
    }
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "at least one thread reads".into())
}

fn listen_address(text: &str) -> Result<std::net::SocketAddr, String> {
    text.parse().map_err(|_| "an address is numbers and a port, as 127.0.0.1:9101".into())
}

fn interval(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=300.0).contains(&seconds) => Ok(seconds),
        _ => Err("an interval is from 0.1 to 300 seconds".into()),
    }
}

fn severity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("a severity is a number from 0 to 100".into()),
    }
}

fn record_help() -> String {
    let codes = format!(
        "  {}  the program could not be started\n  {}  there is no such program\n",
        exit::NOT_STARTED,
        exit::NO_PROGRAM
    );
    format!("{RECORD_EXAMPLES}\n{RECORD_CODES}{}{codes}", exit::help())
}

fn after_help(examples: &str) -> String {
    format!("{examples}\n{}", exit::help())
}
