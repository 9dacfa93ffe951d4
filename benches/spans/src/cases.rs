//! The peers, and the work that each of them does: spans without and with three fields (integer, double, text).

macro_rules! cases {
    ($($name:literal, $set_up:path, $chunk:path, $about:literal;)*) => {
        &[$(Case { name: $name, about: $about, set_up: $set_up, chunk: $chunk }),*]
    };
}

#[cfg(feature = "peers")]
mod exporters;
#[cfg(feature = "peers")]
mod peers;
mod senders;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt as _;

pub(crate) use senders::Sender;

/// Spans of one chunk, all inside one step.
pub(crate) const SPANS: usize = 1_000;

/// One way to make spans.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) set_up: fn(Option<&Path>) -> SetUp,
    pub(crate) chunk: fn(u64),
}

/// What has to live while the work is done.
pub(crate) enum SetUp {
    Nothing,
    Recording(stepscope::Guard),
    /// Lets everything recorded leave.
    #[cfg(feature = "peers")]
    Flush(Box<dyn Fn()>),
}

impl SetUp {
    /// Lets everything recorded leave.
    pub(crate) fn rest(&self, timeout: Duration) {
        match self {
            Self::Nothing => {}
            Self::Recording(guard) => drop(guard.flush(timeout)),
            #[cfg(feature = "peers")]
            Self::Flush(flush) => flush(),
        }
    }

    /// What has become of all spans so far, as their library tells; of the others none does, but in a log.
    pub(crate) fn spans(&self) -> Option<stepscope::SpanFigures> {
        match self {
            Self::Recording(guard) => Some(guard.handle().figures().spans().clone()),
            _ => None,
        }
    }
}

/// A layer that does nothing: what a layer cannot go below.
struct Nothing;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Nothing {}

fn bare(_: Option<&Path>) -> SetUp {
    SetUp::Nothing
}

fn registry(_: Option<&Path>) -> SetUp {
    let subscriber = tracing_subscriber::registry().with(Nothing);
    drop(tracing::subscriber::set_global_default(subscriber));
    SetUp::Nothing
}

fn stepscope(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().ring_bytes(4 << 20);
    SetUp::Recording(directory.map_or(builder.clone(), |path| builder.directory(path)).install())
}

fn root(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().ring_bytes(4 << 20);
    SetUp::Recording(directory.map_or(builder.clone(), |path| builder.directory(path)).install_root())
}

/// A log of warnings, with a filter of its own.
fn log<S>() -> impl tracing_subscriber::Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    use tracing_subscriber::Layer as _;
    tracing_subscriber::fmt::layer().with_filter(tracing_subscriber::EnvFilter::new("warn"))
}

fn root_beside_log(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().ring_bytes(4 << 20);
    let builder = directory.map_or(builder.clone(), |path| builder.directory(path));
    let (root, guard) = builder.subscriber(tracing_subscriber::registry().with(log()));
    drop(tracing::subscriber::set_global_default(root));
    SetUp::Recording(guard)
}

fn layer_beside_log(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().ring_bytes(4 << 20);
    let (layer, guard) = directory.map_or(builder.clone(), |path| builder.directory(path)).build();
    drop(tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log()).with(layer)));
    SetUp::Recording(guard)
}

fn spans_0(number: u64) {
    let _step = info_span!("step", stepscope.step = number).entered();
    for _ in 0..SPANS {
        let _span = info_span!("work").entered();
    }
}

fn spans_3(number: u64) {
    let _step = info_span!("step", stepscope.step = number).entered();
    for index in 0..SPANS {
        let _span = info_span!("work", index, ratio = 0.5, name = black_box("text")).entered();
    }
}

/// What no section does without: where it begins and where it ends, read as the recorder reads it.
#[cfg(target_arch = "x86_64")]
fn clocks(_: u64) {
    for _ in 0..2 * SPANS {
        // SAFETY: every processor of this architecture has the instruction; it has no other effect.
        black_box(unsafe { std::arch::x86_64::_rdtsc() });
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn clocks(_: u64) {
    for _ in 0..2 * SPANS {
        black_box(std::time::Instant::now());
    }
}

fn sections_0(number: u64) {
    let _step = stepscope::step!(number);
    for _ in 0..SPANS {
        let _section = stepscope::section!("work");
    }
}

fn sections_3(number: u64) {
    let _step = stepscope::step!(number);
    for index in 0..SPANS {
        let _section = stepscope::section!("work", index = index, ratio = 0.5, name = black_box("text"));
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    #[cfg(feature = "peers")]
    let peers = peers::PEERS;
    #[cfg(not(feature = "peers"))]
    let peers = &[];
    [OURS, peers].concat()
}

/// All that send.
pub(crate) fn senders() -> Vec<Sender> {
    #[cfg(feature = "peers")]
    let peers = exporters::PEERS;
    #[cfg(not(feature = "peers"))]
    let peers = &[];
    [senders::OURS, peers].concat()
}

const OURS: &[Case] = cases! {
    "clock_0", bare, clocks, "two readings of the processor's tick counter, and nothing else";
    "bare_0", bare, spans_0, "tracing without a subscriber, no fields";
    "bare_3", bare, spans_3, "tracing without a subscriber, 3 fields";
    "registry_0", registry, spans_0, "Registry and a layer that does nothing, no fields";
    "registry_3", registry, spans_3, "Registry and a layer that does nothing, 3 fields";
    "layer_0", stepscope, spans_0, "stepscope's layer on Registry, aggregates and files, no fields";
    "layer_3", stepscope, spans_3, "stepscope's layer on Registry, aggregates and files, 3 fields";
    "layer_log_3", layer_beside_log, spans_3, "as layer_3 beside fmt with an EnvFilter for warnings, 3 fields";
    "root_0", root, spans_0, "stepscope's root subscriber, aggregates and files, no fields";
    "root_3", root, spans_3, "stepscope's root subscriber, aggregates and files, 3 fields";
    "root_log_3", root_beside_log, spans_3, "as root_3 around fmt with an EnvFilter for warnings, 3 fields";
    "section_0", stepscope, sections_0, "section!, aggregates and files, no fields";
    "section_3", stepscope, sections_3, "section!, aggregates and files, 3 fields";
    "times_0", times, sections_0, "section! without sums: its span in files only, no fields";
    "times_3", times, sections_3, "section! without sums: its span in files only, 3 fields";
    "sums_0", sums, sections_0, "section! at level basic: its time, in aggregates only, no fields";
    "sums_3", sums, sections_3, "section! at level basic: its time, in aggregates only, 3 fields";
};

fn times(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().sums(false).ring_bytes(4 << 20);
    SetUp::Recording(directory.map_or(builder.clone(), |path| builder.directory(path)).install())
}

fn sums(directory: Option<&Path>) -> SetUp {
    let builder = stepscope::builder().level(stepscope::Level::Basic);
    SetUp::Recording(directory.map_or(builder.clone(), |path| builder.directory(path)).install())
}
