//! A subscriber inside of stepscope's own that wants some spans and not others, and a program that mixes them in all
//! ways; the same program with that subscriber alone.

use std::collections::HashMap;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing::{Id, Span, Subscriber, dispatcher, info, info_span, warn};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt};

use crate::say;

macro_rules! seen {
    ($($more:tt)*) => { info_span!(target: "seen", $($more)*) };
}

/// What is more verbose than what is recorded.
macro_rules! stranger {
    ($($more:tt)*) => { tracing::debug_span!(target: "seen", $($more)*) };
}

fn name() -> &'static str {
    Span::current().metadata().map_or("none", tracing::Metadata::name)
}

/// Counts by what name spans are the current one.
fn look(found: &mut HashMap<&'static str, u64>) {
    *found.entry(name()).or_default() += 1;
}

fn work(round: u64, found: &mut HashMap<&'static str, u64>) {
    look(found);
    let outer = seen!("outer", round, later = tracing::field::Empty);
    let _outer = outer.enter();
    info!(target: "seen", "in outer");
    let between = info_span!("between", round, later = tracing::field::Empty);
    between.in_scope(|| {
        look(found);
        warn!(target: "seen", "in between");
        warn!("in between, for nobody but stepscope");
        // Its parent is one that the inner subscriber does not have, and a context in which that one has one.
        let inner = seen!("inner", round);
        inner.in_scope(|| {
            look(found);
            let _section = stepscope::section!("section");
            look(found);
            stranger!("stranger").in_scope(|| {
                look(found);
                info_span!("deep").in_scope(|| look(found));
                look(found);
            });
            look(found);
        });
        look(found);
        inner.follows_from(&between);
        between.follows_from(&outer);
        inner.follows_from(&outer);
    });
    between.record("later", 1);
    outer.record("later", 2);
    seen!(parent: &between, "chosen").in_scope(|| info!(target: "seen", "in chosen"));
    info_span!(parent: &outer, "chosen_unseen").in_scope(|| info!(target: "seen", "in chosen_unseen"));
    seen!(parent: None, "root").in_scope(|| info!(target: "seen", "in root"));
    info!(target: "seen", parent: &outer, "for outer");
    warn!(target: "seen", parent: &between, "for between");
    // Handles that go elsewhere, and come back.
    let (there, also) = (between.clone(), outer.clone());
    let elsewhere = move || {
        also.in_scope(|| info!(target: "seen", "in outer elsewhere"));
        there.in_scope(|| info_span!("elsewhere").in_scope(name));
    };
    std::thread::Builder::new().name("elsewhere".into()).spawn(elsewhere).unwrap().join().unwrap();
    drop(between);
    look(found);
}

/// A log of events and of what happens to spans. A macro, because its type depends on what is below it.
macro_rules! log {
    () => {
        fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .with_span_events(FmtSpan::FULL)
            .event_format(Timeless)
    };
}

/// `with` or `without` stepscope; the filter on everything or on the log alone.
pub(crate) fn run(with: &str, filter: &str) {
    let directives = || EnvFilter::new("off,seen=trace");
    let inner: Box<dyn Subscriber + Send + Sync> = match filter {
        "global" => Box::new(tracing_subscriber::registry().with(directives()).with(log!())),
        "layer" => Box::new(tracing_subscriber::registry().with(log!().with_filter(directives()))),
        other => panic!("{other}"),
    };
    let run = if with == "with" {
        let (root, run) = stepscope::builder().subscriber(inner);
        root.init();
        Some(run)
    } else {
        inner.init();
        None
    };
    let mut found = HashMap::new();
    (0..10).for_each(|round| work(round, &mut found));
    for (name, count) in found {
        say(&format!("current.{name}"), count);
    }
    drop(run);
}

/// Spans with children, around a registry of that form.
pub(crate) fn nested(form: &str) {
    let registry = tracing_subscriber::registry();
    let builder = stepscope::builder();
    let run = match form {
        "bare" => with(builder.subscriber(registry)),
        "boxed" => with(builder.subscriber::<Box<dyn Subscriber + Send + Sync>>(Box::new(registry))),
        "shared" => with(builder.subscriber::<Arc<dyn Subscriber + Send + Sync>>(Arc::new(registry))),
        "no_layer" => with(builder.subscriber(registry.with(tracing_subscriber::layer::Identity::new()))),
        "boxed_no_layer" => {
            let registry = registry.with(tracing_subscriber::layer::Identity::new());
            with(builder.subscriber::<Box<dyn Subscriber + Send + Sync>>(Box::new(registry)))
        }
        other => panic!("{other}"),
    };
    for _ in 0..10 {
        let _parent = info_span!("parent").entered();
        let _child = info_span!("child").entered();
    }
    dispatcher::get_default(|dispatch| say("inner_has_spans", u64::from(dispatch.is::<Registry>())));
    drop(run);
}

fn with<S>((root, run): (stepscope::RootSubscriber<S>, stepscope::Guard)) -> stepscope::Guard
where
    stepscope::RootSubscriber<S>: Into<dispatcher::Dispatch>,
{
    root.init();
    run
}

/// The events of a log without what takes time.
pub(crate) struct Timeless;

impl<S, N> fmt::FormatEvent<S, N> for Timeless
where
    S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    N: for<'a> fmt::FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &fmt::FmtContext<'_, S, N>,
        mut writer: fmt::format::Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> std::fmt::Result {
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            write!(writer, "{}:", span.name())?;
        }
        let mut message = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            if field.name() == "message" {
                message = format!("{value:?}");
            }
        });
        writeln!(writer, " {message}")
    }
}

/// Calls of somebody who has ids that are nobody's any more, or never were; and of somebody who looks inside.
pub(crate) fn strays() {
    let inner = tracing_subscriber::registry().with(LevelFilter::OFF);
    let (root, run) = stepscope::builder().subscriber(inner);
    root.init();
    let finds = || dispatcher::get_default(|dispatch| dispatch.is::<Registry>());
    say("found.before", u64::from(finds()));
    let gone = (0..5).filter_map(|_| info_span!("gone").id());
    // In the form of the root subscriber's own.
    let made_up = [0, 1, 1 << 16, (1 << 16) | 1, 1 << 51, u64::MAX];
    let made_up = made_up.map(|bits| Id::from_u64(bits & !(0xfff << 38) | 1 << 50));
    let strays: Vec<Id> = gone.chain(made_up).collect();
    let mut witnesses = 0;
    dispatcher::get_default(|dispatch| {
        for id in &strays {
            let witness = info_span!("witness", later = tracing::field::Empty).entered();
            dispatch.enter(id);
            let _same = dispatch.clone_span(id);
            drop(info_span!(parent: id, "child"));
            witness.follows_from(id);
            witness.record("later", 1);
            warn!(parent: id, "to nobody");
            dispatch.exit(id);
            assert!(!dispatch.try_close(id.clone()));
            witnesses += 1;
        }
    });
    say("witnesses", witnesses);
    say("found.after", u64::from(finds()) + u64::from(finds()));
    drop(run);
}
