//! Spans that the subscriber inside of stepscope's own wants, and that others outlive which began inside of them and which
//! only stepscope wants.

use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use stepscope::{Builder, Filter, Guard, section, step};
use tracing::span::EnteredSpan;
use tracing::{Span, debug_span, error, info, info_span, warn};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::around::Timeless;
use crate::say;
use crate::storm::Random;

macro_rules! seen {
    ($($more:tt)*) => { info_span!(target: "seen", $($more)*) };
}

/// A log of what the inner subscriber wants, and of the ends of spans. A macro, because its type depends on what is below it.
macro_rules! log {
    ($writer:expr) => {
        fmt::layer()
            .with_writer($writer)
            .with_ansi(false)
            .with_span_events(FmtSpan::CLOSE)
            .event_format(Timeless)
            .with_filter(Targets::new().with_target("seen", LevelFilter::DEBUG))
    };
}

/// Records beside a log that nobody reads.
fn record(builder: Builder) -> Guard {
    let (root, run) = builder.subscriber(tracing_subscriber::registry().with(log!(std::io::sink)));
    root.init();
    run
}

/// `with` or `without` stepscope around the log, or the log beside a layer: spans that are given up in any order, each time
/// with a word to the log.
pub(crate) fn log(with: &str) {
    struct Nothing;
    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Nothing {}

    let inner = tracing_subscriber::registry().with(log!(std::io::stderr));
    let run = match with {
        "with" => {
            let (root, run) = stepscope::builder().subscriber(inner);
            root.init();
            Some(run)
        }
        "beside" => {
            let (layer, run) = stepscope::builder().build();
            inner.with(layer).init();
            Some(run)
        }
        "beside_nothing" => {
            inner.with(Nothing).init();
            None
        }
        _ => {
            inner.init();
            None
        }
    };
    let startup = seen!("startup").entered();
    let task = info_span!("task");
    drop(startup);
    info!(target: "seen", "started");
    say("spans", 2 + at_random(&mut Random(88_172_645_463_325_252)));
    task.in_scope(|| info!(target: "seen", "in task"));
    drop(task);
    info!(target: "seen", "ended");
    drop(run);
}

/// How many spans there were.
fn at_random(random: &mut Random) -> u64 {
    let (mut open, mut entered, mut count) = (Vec::<Span>::new(), Vec::<EnteredSpan>::new(), 0);
    for number in 0..4_000_u64 {
        let some = random.below(open.len().max(1));
        match random.below(8) {
            what @ 0..=3 => {
                let around = open.get(some).filter(|_| random.below(3) == 0);
                let span = match (what, around) {
                    (0 | 1, Some(around)) => seen!(parent: around, "seen", number),
                    (0 | 1, None) => seen!("seen", number),
                    (_, Some(around)) => info_span!(parent: around, "unseen", number),
                    (_, None) => info_span!("unseen", number),
                };
                count += 1;
                match random.below(2) {
                    0 => open.push(span),
                    _ => entered.push(span.entered()),
                }
            }
            4 => open.extend(entered.pop().map(EnteredSpan::exit)),
            5 => drop(entered.pop()),
            6 if some < open.len() => entered.push(open.swap_remove(some).entered()),
            _ if some < open.len() => drop(open.swap_remove(some)),
            _ => {}
        }
        info!(target: "seen", "at {number}");
    }
    while let Some(span) = entered.pop() {
        drop(span);
    }
    count
}

/// Spans that are all too short to leave for themselves; some of the last ones to end have failed.
pub(crate) fn small(rounds: u64) {
    let run = record(stepscope::builder().filter(Filter::new().min_duration(Duration::from_secs(3_600))));
    for round in 0..rounds {
        let _step = (round % 2 == 0).then(|| step!(round));
        let needed = seen!("needed", round).entered();
        let failed = info_span!("failed", round);
        drop(needed);
        failed.in_scope(|| error!("it has failed"));
        drop(failed);

        let hollow = seen!("hollow", round).entered();
        let (one, other) = (info_span!("small", round), info_span!("small", round));
        drop(one);
        drop(hollow);
        drop(other);

        // The end of the first comes with that of the second.
        let hollow = seen!("hollow", round);
        let small = hollow.in_scope(|| seen!("small", round));
        drop(hollow);
        drop(small);

        let first = seen!("first", round);
        let second = info_span!(parent: &first, "second", round);
        let third = seen!(parent: &second, "third", round);
        let fourth = info_span!(parent: &third, "fourth", round);
        drop(first);
        drop(second);
        drop(third);
        fourth.in_scope(|| error!("it has failed"));
    }
    drop(run);
}

/// Spans that both want inside of such ones, and sections between them; what is in the innermost goes on elsewhere when all
/// around has been left. One of these is inside of a span, too, that only the log wants.
pub(crate) fn between(rounds: u64) {
    let run = record(stepscope::builder().filter(Filter::new().without_name("left_out")));
    for round in 0..rounds {
        let request = seen!("request", round).entered();
        let inner = seen!("handler").entered();
        let task = info_span!("task", round);
        drop(inner);
        let left_out = seen!("left_out").entered();
        let deep_left_out = seen!("left_out");
        drop(left_out);
        let section = section!("prepare");
        let prepared = info_span!("prepared", round);
        drop(section);
        drop(request);
        let request = seen!("aside", round).entered();
        let section = section!("note");
        let verbose = debug_span!(target: "seen", "verbose").entered();
        let noted = info_span!("noted", round);
        drop(verbose);
        drop(section);
        drop(request);
        let elsewhere = move || {
            deep_left_out.in_scope(|| error!("in what is left out"));
            drop(deep_left_out);
            task.in_scope(|| info_span!("write", round).in_scope(|| ()));
            prepared.in_scope(|| info_span!("use", round).in_scope(|| ()));
            noted.in_scope(|| info_span!("reread", round).in_scope(|| ()));
        };
        std::thread::Builder::new().name("elsewhere".into()).spawn(elsewhere).unwrap().join().unwrap();
    }
    drop(run);
}

/// So many spans, one after the other, beside one that has ended and that something outlives; they have its id again.
pub(crate) fn ids(count: u64) {
    let run = record(stepscope::builder().filter(Filter::new().without_name("left_out")));
    let outlived = seen!("outlived").entered();
    let id = outlived.id();
    let (leaves, left_out) = (info_span!("leaves"), info_span!("left_out"));
    drop(outlived);
    let (mut ids, mut again) = (HashSet::new(), 0);
    for number in 0..count {
        let further = seen!("further", number).entered();
        ids.extend(further.id().map(|id| id.into_u64()));
        again += u64::from(further.id() == id);
        let _inside = info_span!("inside", number).entered();
        if number % 1_000 == 0 {
            warn!(parent: &left_out, "in what is left out");
            leaves.in_scope(|| warn!("in what leaves"));
        }
    }
    say("again", again);
    say("ids", ids.len() as u64);
    drop(left_out);
    // It may be kept by both.
    drop(seen!("in_between"));
    drop(leaves);
    drop(run);
}

/// Spans a round.
const BATCH: u64 = 50;

/// Spans that end on one thread while so many others end what has begun inside of them.
pub(crate) fn together(rounds: u64, threads: usize) {
    let run = record(stepscope::builder());
    let children: Vec<Mutex<Vec<Span>>> = (0..threads).map(|_| Mutex::default()).collect();
    let turn = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for children in &children {
            let (turn, drop_all) = (&turn, move || children.lock().unwrap().drain(..).for_each(drop));
            let work = move || {
                for _ in 0..rounds {
                    turn.wait();
                    drop_all();
                    turn.wait();
                }
            };
            std::thread::Builder::new().name("child".into()).spawn_scoped(scope, work).unwrap();
        }
        for round in 0..rounds {
            let number = |parent| round * BATCH + parent;
            let parents: Vec<Span> =
                (0..BATCH).map(|parent| seen!("parent", number = number(parent))).collect();
            for children in &children {
                let inside =
                    |(parent, span): (u64, &Span)| info_span!(parent: span, "child", number = number(parent));
                children.lock().unwrap().extend((0..).zip(&parents).map(inside));
            }
            turn.wait();
            drop(parents);
            turn.wait();
        }
    });
    say("parents", rounds * BATCH);
    drop(run);
}
