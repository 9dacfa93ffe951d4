//! A program that logs by `fmt`, with and without our layer beside it: its output must not depend on that.

use tracing::level_filters::LevelFilter;
use tracing::{Level, debug, error, event, info, instrument, trace, warn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

mod net {
    #[tracing::instrument(level = "debug", skip_all, fields(width = 8))]
    pub(super) fn forward() {
        tracing::trace!("inside of forward");
        tracing::info!(loss = 0.5, "forward is done");
    }
}

#[instrument(fields(stepscope.phase = "forward"))]
fn train_step(step: u32) {
    trace!("starting");
    net::forward();
    if step == 1 {
        warn!(step, "slow");
    }
    event!(target: "elsewhere", Level::ERROR, "from another target");
}

#[instrument(level = "trace")]
fn tiny(depth: u32) {
    debug!("tiny");
    if depth > 0 {
        tiny(depth - 1);
    }
}

fn work() {
    info!("begin");
    for step in 0..2 {
        train_step(step);
    }
    tiny(2);
    let span = tracing::warn_span!("outside", answer = tracing::field::Empty);
    span.record("answer", 42);
    let guard = span.enter();
    error!("inside of outside");
    drop(guard);
    debug!(elapsed = ?std::time::Duration::from_secs(1), "end");
}

/// The user's log. A macro, because its type depends on what is below it.
macro_rules! log {
    () => {
        fmt::layer().without_time().with_ansi(false).with_writer(std::io::stdout)
    };
}

/// `filter` is `none`, `global`, `layer` (an `EnvFilter` on the log alone), `level` (a fixed one), or
/// `everything` (spans' births and ends, thread names, all levels).
pub(crate) fn run(with: &str, filter: &str) {
    let directives = || EnvFilter::new(std::env::var("RUST_LOG").unwrap_or_default());
    let (layer, guard) = match with {
        "with" if crate::is_root() => {
            let guard = around_a_root(filter, directives());
            work();
            drop(guard);
            return;
        }
        "with" => {
            let (layer, guard) = stepscope::builder().build();
            (Some(layer), Some(guard))
        }
        "without" => (None, None),
        other => panic!("{other}"),
    };
    // Two ways to put it there: `Option` where the layer may be absent, the plain layer where it is not, as
    // `tracing-subscriber` treats an absent layer as one that wants nothing.
    match (filter, layer) {
        ("none", Some(layer)) => tracing_subscriber::registry().with(log!()).with(layer).init(),
        ("none", None) => tracing_subscriber::registry().with(log!()).init(),
        ("below", Some(layer)) => tracing_subscriber::registry().with(layer).with(log!()).init(),
        ("below", None) => tracing_subscriber::registry().with(log!()).init(),
        ("global", Some(layer)) => {
            tracing_subscriber::registry().with(directives()).with(log!()).with(layer).init();
        }
        ("global", None) => tracing_subscriber::registry().with(directives()).with(log!()).init(),
        ("layer", Some(layer)) => {
            tracing_subscriber::registry().with(log!().with_filter(directives())).with(layer).init();
        }
        ("layer", None) => tracing_subscriber::registry().with(log!().with_filter(directives())).init(),
        ("level", Some(layer)) => {
            tracing_subscriber::registry().with(layer).with(log!().with_filter(LevelFilter::DEBUG)).init();
        }
        ("level", None) => tracing_subscriber::registry().with(log!().with_filter(LevelFilter::DEBUG)).init(),
        ("everything", Some(layer)) => {
            let log = log!().with_span_events(fmt::format::FmtSpan::FULL).with_thread_names(true);
            tracing_subscriber::registry().with(log).with(layer).init();
        }
        (other, _) => panic!("{other}"),
    }
    work();
    drop(guard);
}

/// As [`run`] with stepscope's own subscriber around the log.
fn around_a_root(filter: &str, directives: EnvFilter) -> stepscope::Guard {
    fn install<S>(inner: S) -> stepscope::Guard
    where
        S: tracing::Subscriber + Send + Sync + 'static,
    {
        let (root, guard) = stepscope::builder().subscriber(inner);
        root.init();
        guard
    }

    match filter {
        "none" | "below" => install(tracing_subscriber::registry().with(log!())),
        "global" => install(tracing_subscriber::registry().with(directives).with(log!())),
        "layer" => install(tracing_subscriber::registry().with(log!().with_filter(directives))),
        "level" => install(tracing_subscriber::registry().with(log!().with_filter(LevelFilter::DEBUG))),
        "everything" => {
            let log = log!().with_span_events(fmt::format::FmtSpan::FULL).with_thread_names(true);
            install(tracing_subscriber::registry().with(log))
        }
        other => panic!("{other}"),
    }
}
