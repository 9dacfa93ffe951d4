//! How a program sets stepscope up: one line for the defaults, a builder for the rest.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stepscope_core::{Level, LossReason};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::api::guard::Guard;
use crate::api::layer::StepscopeLayer;
use crate::api::root::RootSubscriber;
use crate::config::capture::Capture;
use crate::config::file::File;
use crate::config::filter::Filter;
use crate::config::on_signal::OnSignal;
use crate::config::ring::Overflow;
use crate::config::track::Track;
use crate::config::{Config, Format, MIN_BOUND_BYTES};
use crate::context::identity::{Given, Identity};
use crate::context::ids::SpanIds;
use crate::context::propagation::TraceContext;
use crate::export::OTLP;
use crate::export::directory::{self, DirectorySink, process_directory};
use crate::export::exporter::Exporter;
use crate::export::exporter_sink::{self, ExporterSink};
use crate::export::unusable_sink::UnusableSink;
use crate::hot::recorder::{self, Recorder};
use crate::os::diagnostics::print_diagnostic;
use crate::process::exit;
use crate::shared::lock::lock;
use crate::worker::background::{self, Sinks};
use crate::worker::control::{Control, Reach};

/// How long the start waits for its mark to be written, at most; it takes about a millisecond.
const START_TIMEOUT: Duration = Duration::from_millis(100);

/// Records this program with the defaults and the environment's settings; the run ends when the guard is
/// dropped.
///
/// Writes to `profiles/` below the working directory, or to the OTLP endpoint that
/// `OTEL_EXPORTER_OTLP_ENDPOINT` names. Installs itself as the global `tracing` subscriber; a program that has
/// one adds the layer of [`Builder::build`] to it instead. Never fails: what cannot be done is said once on
/// standard error, and the program goes on.
///
/// ```
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let _run = stepscope::init();
/// let _step = stepscope::step!(0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn init() -> Guard {
    builder().install()
}

/// Settings for everything that [`init`] decides by itself, beginning with those of a `stepscope.toml` in the working
/// directory (or of the file that `STEPSCOPE_CONFIG` names) and of the environment. What of them cannot be used is said on
/// standard error when recording starts.
pub fn builder() -> Builder {
    let mut warnings = Vec::new();
    let variable = |name: &str| std::env::var_os(name);
    let file = File::find(variable, &mut warnings);
    let config = Config::new(&file, variable, &mut warnings);
    let configured_name =
        file.get("OTEL_SERVICE_NAME").and_then(|said| said.value.clone().into_string().ok());
    let caller = TraceContext::from_variables(|name| std::env::var(name).ok(), &mut warnings);
    let given = Given { caller, configured_name, ..Given::default() };
    Builder { config, given, exporter: Arc::default(), warnings, has_step_spans: false, has_formatted: false }
}

/// See [`builder`]. Settings made here win over the environment's, and these over those of a `stepscope.toml`.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `install` or `build`"]
pub struct Builder {
    config: Config,
    given: Given,
    /// Of all clones the first one that records takes it.
    exporter: Arc<Mutex<Option<Box<dyn Exporter>>>>,
    warnings: Vec<String>,
    /// Whether names were given here, in the place of those of the environment.
    has_step_spans: bool,
    has_formatted: bool,
}

impl Builder {
    /// Name of the program (`service.name`).
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.given.service_name = Some(name.into());
        self
    }

    /// Version of the program (`service.version`).
    pub fn service_version(mut self, version: impl Into<String>) -> Self {
        self.given.service_version = Some(version.into());
        self
    }

    /// Id of the run, equal on all its ranks. Default: `STEPSCOPE_RUN_ID`, the id of the [caller](Self::caller)'s trace, the
    /// launcher's, or a fresh one.
    pub fn run_id(mut self, id: impl Into<String>) -> Self {
        self.given.run_id = Some(id.into());
        self
    }

    /// Where the run was started from, in another process: its spans link there. Default: what `TRACEPARENT`, `TRACESTATE`
    /// and `BAGGAGE` say.
    pub fn caller(mut self, context: TraceContext) -> Self {
        self.given.caller = context;
        self
    }

    /// How often the run was started before.
    pub fn attempt(mut self, attempt: u64) -> Self {
        self.given.attempt = Some(attempt);
        self
    }

    /// Rank of this process. Default: `STEPSCOPE_RANK`, the launcher's, or 0.
    pub fn rank(mut self, rank: u64) -> Self {
        self.given.rank = Some(rank);
        self
    }

    /// Number of ranks.
    pub fn world_size(mut self, ranks: u64) -> Self {
        self.given.world_size = Some(ranks);
        self
    }

    /// How much is recorded (`STEPSCOPE_LEVEL`; default: detailed).
    pub fn level(mut self, level: Level) -> Self {
        self.config.level = level;
        self
    }

    /// Most verbose `tracing` level whose spans become sections (`STEPSCOPE_MAX_LEVEL`; default: INFO).
    pub fn max_level(mut self, level: LevelFilter) -> Self {
        self.config.max_level = level;
        self
    }

    /// A span of this name is a step (in the place of those of `STEPSCOPE_STEP_SPAN`); may be given several times.
    pub fn step_span(mut self, name: impl Into<String>) -> Self {
        if !std::mem::replace(&mut self.has_step_spans, true) {
            self.config.step_spans.clear();
        }
        self.config.step_spans.push(name.into());
        self
    }

    /// The `Debug` or `Display` value of this field may be formatted; others never are. May be given several times, in the place
    /// of those of `STEPSCOPE_FORMAT_FIELDS`.
    pub fn format_field(mut self, name: impl Into<String>) -> Self {
        if !std::mem::replace(&mut self.has_formatted, true) {
            self.config.formatted_fields.clear();
        }
        self.config.formatted_fields.push(name.into());
        self
    }

    /// Which sections leave no span of their own, though they count in the sums (`STEPSCOPE_FILTER`; default: none).
    pub fn filter(mut self, filter: Filter) -> Self {
        self.config.filter = filter;
        self
    }

    /// What is recorded of sections beside their times, and of which phases there are spans (`STEPSCOPE_TRACK`; default: all).
    pub fn track(mut self, track: Track) -> Self {
        self.config.track = track;
        self
    }

    /// Whether sections are summed up by call path on the thread that ends them (`STEPSCOPE_SUMS`: `on`, `off`; default: yes).
    ///
    /// Without, a section is recorded by its span alone: its times, and nothing beside them. Then reports know of sections
    /// what spans tell, so that nothing is known of those that a level, a filter or a loss leaves without one, and
    /// [`Figures`](crate::Figures) has no sections.
    pub fn sums(mut self, yes: bool) -> Self {
        self.config.sums = yes;
        self
    }

    /// Which steps are recorded at a higher level (`STEPSCOPE_CAPTURE`; default: none but those demanded from outside).
    pub fn capture(mut self, capture: Capture) -> Self {
        self.config.capture = Some(capture);
        self
    }

    /// Whether some steps are deep ones (`STEPSCOPE_DEEP_STEPS`: `on`, `off`; default: yes): recorded at `comprehensive` by
    /// themselves, while a thread of ours looks at what the threads with sections do. Steps 4, 8, 16 and 32 are, then one in 64
    /// or fewer, so that they take no more than 0.1 % of the time of steps. None are at `comprehensive`.
    pub fn deep_steps(mut self, yes: bool) -> Self {
        self.config.deep_steps = yes;
        self
    }

    /// What SIGUSR2 does (`STEPSCOPE_SIGUSR2`: `level`, `capture`; default: what it does without stepscope). Where the
    /// program handles that signal itself, its handler stays, and a line on standard error says so.
    pub fn on_sigusr2(mut self, what: OnSignal) -> Self {
        self.config.on_sigusr2 = Some(what);
        self
    }

    /// Whether spans carry their place in the source (`STEPSCOPE_LOCATIONS`: `on`, `off`; default: yes).
    pub fn locations(mut self, yes: bool) -> Self {
        self.config.locations = yes;
        self
    }

    /// Room for ended sections, in bytes per thread, from 16 KiB to 2 GiB (`STEPSCOPE_RING_BYTES`; default: 1 MiB).
    pub fn ring_bytes(mut self, bytes: usize) -> Self {
        self.config.ring_bytes = bytes;
        self
    }

    /// Of how many allocated bytes one is chosen, so that its block is known by section and line while it is live
    /// (`STEPSCOPE_MEMORY_SAMPLE_BYTES`; default: 512 KiB, at level `comprehensive` 64 KiB; 0: none). Needs [`Alloc`](crate::Alloc).
    pub fn memory_sample_bytes(mut self, bytes: u64) -> Self {
        self.config.memory_sample_bytes = Some(bytes);
        self
    }

    /// What a thread leaves out when that is full (`STEPSCOPE_OVERFLOW`: `newest`, `oldest`, `steps`; default: newest).
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.config.overflow = overflow;
        self
    }

    /// Writes files below this directory (`STEPSCOPE_DIR`); the default, `profiles`, without an endpoint.
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.directory = Some(path.into());
        self
    }

    /// Bound of this process's files in bytes (`STEPSCOPE_DIR_BYTES`; default: 1 GiB). Less than 1 MB
    /// cannot be held: 1,000,000 is taken instead, and said on standard error.
    pub fn directory_bytes(mut self, bytes: u64) -> Self {
        self.config.directory_bytes = bytes;
        self
    }

    /// Encoding of the files (`STEPSCOPE_FORMAT`: `protobuf`, `json`; default: protobuf).
    pub fn format(mut self, format: Format) -> Self {
        self.config.format = format;
        self
    }

    /// Sends to this OTLP/HTTP endpoint (`OTEL_EXPORTER_OTLP_ENDPOINT`), for example `http://localhost:4318`; `https://`
    /// needs the feature `tls`.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.config.otlp.set_endpoint(url.into());
        self
    }

    /// Hands what leaves as spans to `exporter`, too, on a thread of its own: beside the directory or the endpoint, which
    /// have the sums of sections as well.
    pub fn exporter(mut self, exporter: impl Exporter) -> Self {
        self.exporter = Arc::new(Mutex::new(Some(Box::new(exporter))));
        self
    }

    /// Links each step, and each section outside of steps, to the span that `around` names at its start: that of another
    /// tracer, say. Steps are traces of their own, so none becomes a child of it.
    ///
    /// Called on the thread that begins the section, where nothing is recorded meanwhile; a span of this run is no
    /// answer.
    pub fn link_roots(mut self, around: fn() -> Option<SpanIds>) -> Self {
        self.config.link_roots = Some(around);
        self
    }

    /// How often aggregates are published (default: 10 s, and at the end of each epoch).
    pub fn aggregate_interval(mut self, interval: Duration) -> Self {
        self.config.aggregate_interval = interval;
        self
    }

    /// How long the final flush may take (`STEPSCOPE_EXIT_TIMEOUT`, milliseconds; default: 2 s).
    pub fn exit_timeout(mut self, timeout: Duration) -> Self {
        self.config.exit_timeout = timeout;
        self
    }

    /// Whether SIGINT and SIGTERM flush before they end the program (`STEPSCOPE_HANDLE_SIGNALS`; default: yes, unless it handles them).
    pub fn handle_signals(mut self, yes: bool) -> Self {
        self.config.handle_signals = yes;
        self
    }

    /// A report that `stepscope-report` writes to this file when it ends the run (`STEPSCOPE_REPORT`; default: none): in the format
    /// that its extension names. May be given several times.
    ///
    /// The crate `stepscope-report` reads it, by `write_reports`; where a program ends its run otherwise, no report is
    /// written, and a line on standard error says how to have it from the files.
    pub fn report(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.reports.push(path.into());
        self
    }

    /// Whether a panic flushes (`STEPSCOPE_HOOK_PANICS`; default: yes).
    pub fn hook_panics(mut self, yes: bool) -> Self {
        self.config.hook_panics = yes;
        self
    }

    /// Whether `exit` flushes (`STEPSCOPE_HOOK_EXIT`; default: yes).
    pub fn hook_exit(mut self, yes: bool) -> Self {
        self.config.hook_exit = yes;
        self
    }

    /// Starts recording and gives the layer, to be added to a subscriber of the program's own:
    /// `tracing_subscriber::registry().with(layer)`.
    ///
    /// When another recorder is at work in this process, or the level is off, the layer and the guard do
    /// nothing.
    pub fn build(self) -> (StepscopeLayer, Guard) {
        let (recorder, guard) = self.start();
        (StepscopeLayer::new(recorder), guard)
    }

    /// Starts recording and gives a subscriber around `inner`, the program's own: cheaper than the layer of
    /// [`build`](Self::build) for spans that `inner` does not want. When to use which, and its limits:
    /// [`RootSubscriber`].
    ///
    /// When another recorder is at work in this process, or the level is off, what comes back does what `inner` does,
    /// and nothing else.
    pub fn subscriber<S: Subscriber>(self, inner: S) -> (RootSubscriber<S>, Guard) {
        let (recorder, guard) = self.start();
        (RootSubscriber::new(recorder, inner), guard)
    }

    fn start(mut self) -> (Option<Arc<Recorder>>, Guard) {
        let _own = crate::os::memory::own_call();
        for warning in &self.warnings {
            print_diagnostic(warning);
        }
        if self.config.on_sigusr2.is_some() {
            // Whatever becomes of the recording: it would end the process, and who sends it may not know that nothing is recorded.
            crate::os::sys::count_user_signals();
        }
        if self.config.is_disabled || self.config.level == Level::Off {
            return (None, Guard::idle());
        }
        if !self.config.otlp.is_set() && self.config.directory.is_none() {
            self.config.directory = Some(PathBuf::from("profiles"));
        }
        let mut unusable = Vec::new();
        let identity = Identity::resolve(self.given, |name| std::env::var(name).ok(), &mut unusable);
        unusable.iter().for_each(print_diagnostic);
        let recorder = Arc::new(Recorder::new(self.config, identity));
        if !recorder::make_current(&recorder) {
            print_diagnostic("already recording in this process; this second set-up does nothing");
            return (None, Guard::idle());
        }
        let exporter = lock(&self.exporter).take();
        #[cfg(feature = "mem")]
        crate::hot::live_context::start(&recorder.config);
        let (sinks, directory) = open_sinks(&recorder, exporter);
        let control = Arc::new(Control::default());
        exit::hook_panics(&recorder);
        if let Err(error) = background::start(Arc::clone(&recorder), sinks, Arc::clone(&control)) {
            print_diagnostic(format!("could not start the background thread: {error}; nothing is recorded"));
            recorder::retire(&recorder);
            return (None, Guard::failed());
        }
        crate::hot::thread::with(&recorder, crate::hot::state::ThreadState::mark_run);
        // Whatever happens from here on, the run is known to have started.
        let _ = control.flush(START_TIMEOUT, Reach::Written);
        let guard = Guard::new(Arc::clone(&recorder), control, directory);
        (Some(recorder), guard)
    }

    /// Starts recording and installs the layer as the program's only subscriber.
    ///
    /// Where the program has one already, `section!`, `step!` and loaders are recorded all the same; `tracing`
    /// spans are not, and a line on standard error says so.
    pub fn install(self) -> Guard {
        let (layer, guard) = self.build();
        install(tracing_subscriber::registry().with(layer.alone()), &guard);
        guard
    }

    /// As [`install`](Self::install), without a registry: at about half the cost a span ([`RootSubscriber`]). For a
    /// program that has no other layers and adds none.
    pub fn install_root(self) -> Guard {
        let (subscriber, guard): (crate::api::root::Alone, _) = self.subscriber(NoSubscriber::default());
        install(subscriber, &guard);
        guard
    }
}

/// Makes it the program's subscriber, if anything is recorded.
fn install(subscriber: impl Subscriber + Send + Sync + 'static, guard: &Guard) {
    if guard.is_recording() && tracing::subscriber::set_global_default(subscriber).is_err() {
        print_diagnostic(
            "the program has a tracing subscriber already, so #[instrument] spans are not \
             recorded; add the layer of stepscope::builder().build() to it",
        );
    }
}

fn open_sinks(recorder: &Recorder, exporter: Option<Box<dyn Exporter>>) -> (Sinks, Option<PathBuf>) {
    let config = &recorder.config;
    let mut sinks = Sinks {
        directory: None,
        #[cfg(feature = "http")]
        http: None,
        handover: None,
        unusable: Vec::new(),
    };
    let mut path = None;
    if let Some(base) = &config.directory {
        // The program may change its working directory later.
        let base = std::path::absolute(base).unwrap_or_else(|_| base.clone());
        let directory = process_directory(&base, &recorder.identity);
        let bound_bytes = config.directory_bytes.max(MIN_BOUND_BYTES);
        if bound_bytes > config.directory_bytes {
            print_diagnostic(format!(
                "a directory of {} bytes is too small (STEPSCOPE_DIR_BYTES): {bound_bytes} are taken",
                config.directory_bytes
            ));
        }
        match DirectorySink::create(&directory, config.format, bound_bytes) {
            Ok(sink) => {
                path = Some(sink.path().to_owned());
                let sink = sinks.directory.insert(sink);
                #[cfg(feature = "metrics")]
                if config.gauges.keeps {
                    sink.keep_gauges();
                }
                #[cfg(feature = "mem")]
                if crate::os::memory::live::period_bytes() > 0 {
                    sink.keep_live_memory();
                }
                #[cfg(not(any(feature = "metrics", feature = "mem")))]
                let _ = sink;
            }
            Err(error) => {
                print_diagnostic(format!(
                    "cannot write to {}: {error}; nothing is stored there (choose another with \
                     STEPSCOPE_DIR)",
                    directory.display()
                ));
                sinks.unusable.push(Box::new(UnusableSink::new(directory::NAME, LossReason::WriteFailed)));
            }
        }
    }
    if config.otlp.is_set() {
        #[cfg(feature = "http")]
        let opened = crate::export::http::Targets::parse(&config.otlp).and_then(|targets| {
            let sink = crate::export::http::HttpSink::create(targets);
            sink.map(|sink| sinks.http = Some(sink)).map_err(|error| format!("cannot send: {error}"))
        });
        #[cfg(not(feature = "http"))]
        let opened = Err::<(), _>("built without the feature `http`".to_owned());
        if let Err(why) = opened {
            let instead = if config.directory.is_some() {
                ""
            } else {
                ", and nothing is stored: set OTEL_EXPORTER_OTLP_ENDPOINT right, as in http://localhost:4318, or STEPSCOPE_DIR"
            };
            print_diagnostic(format!("{why}; nothing is sent{instead}"));
            sinks.unusable.push(Box::new(UnusableSink::new(OTLP, LossReason::ExportFailed)));
        }
    }
    if let Some(exporter) = exporter {
        match ExporterSink::create(exporter) {
            Ok(sink) => sinks.handover = Some(sink),
            Err(error) => {
                print_diagnostic(format!("could not start the exporter's thread: {error}; it gets nothing"));
                sinks
                    .unusable
                    .push(Box::new(UnusableSink::new(exporter_sink::NAME, LossReason::ExportFailed)));
            }
        }
    }
    (sinks, path)
}
