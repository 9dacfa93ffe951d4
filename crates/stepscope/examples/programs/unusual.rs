//! Spans that are used in ways that are allowed and rare: on several threads at once, beyond their parents, by ids of
//! spans that are gone, and by code that runs while they are made.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stepscope::{section, step};
use tracing::{Instrument, info_span};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::say;

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

fn on_thread<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap()
}

/// A span that eight threads are in at the same time, each with children of its own and more than once.
pub(crate) fn together() {
    let _run = crate::start();
    let start = Instant::now();
    let shared = info_span!("shared", last = tracing::field::Empty);
    let (everybody_is_in, may_leave) = (Barrier::new(8), Barrier::new(8));
    std::thread::scope(|scope| {
        for number in 0..8_u64 {
            let (shared, everybody_is_in, may_leave) = (&shared, &everybody_is_in, &may_leave);
            let work = move || {
                let entered = shared.enter();
                everybody_is_in.wait();
                for _ in 0..20 {
                    let _part = section!("part", number = number);
                    std::thread::sleep(Duration::from_micros(100));
                }
                may_leave.wait();
                drop(entered);
                shared.in_scope(|| info_span!("again").in_scope(|| ()));
                shared.record("last", number);
            };
            std::thread::Builder::new().name(format!("in-{number}")).spawn_scoped(scope, work).unwrap();
        }
    });
    let inside = start.elapsed();
    std::thread::sleep(Duration::from_millis(20));
    drop(shared);
    say("inside", nanos(inside));
}

/// Children that end after what is around them: a span, a step, a section, a thread.
pub(crate) fn outlive() {
    let run = crate::start();
    let start = Instant::now();
    let child = {
        let _parent = info_span!("parent").entered();
        info_span!("child")
    };
    say("parent.outside", nanos(start.elapsed()));
    std::thread::sleep(Duration::from_millis(10));
    child.in_scope(|| info_span!("grandchild").in_scope(|| ()));
    drop(child);

    let child = {
        let _step = step!(0);
        let _section = section!("around");
        info_span!("of_the_step")
    };
    {
        let _next = step!(1);
        child.in_scope(|| drop(section!("late_part")));
    }
    drop(child);

    // Made and entered on a thread that is gone when it ends.
    let orphan = on_thread("mother", || {
        let span = info_span!("orphan", seen = tracing::field::Empty);
        span.in_scope(|| drop(section!("at_home")));
        span
    });
    assert!(run.flush(Duration::from_secs(10)).is_complete());
    orphan.record("seen", "elsewhere");
    orphan.in_scope(|| drop(section!("abroad")));
    drop(orphan);

    // A future that nobody ever polls.
    drop(async {}.instrument(info_span!("never_polled")));
}

/// Records alone, or with others that have spans, too: all of them, or only the inner ones.
fn with_others(which: &str) -> stepscope::Guard {
    let is_inner = |metadata: &tracing::Metadata<'_>| metadata.is_span() && metadata.name() == "inner";
    let log = || fmt::layer().with_writer(std::io::sink);
    match which {
        "alone" => crate::start(),
        "all" => beside_a_log("below"),
        "inner" if crate::is_root() => {
            let log = log().with_filter(filter_fn(is_inner));
            let (root, run) = stepscope::builder().subscriber(tracing_subscriber::registry().with(log));
            root.init();
            run
        }
        "inner" => {
            let (layer, run) = stepscope::builder().build();
            let log = log().with_filter(filter_fn(is_inner));
            tracing_subscriber::registry().with(log).with(layer).init();
            run
        }
        other => panic!("{other}"),
    }
}

/// Ids of spans that are gone, and that come back as other spans.
pub(crate) fn ids(rounds: u64, others: &str) {
    let run = with_others(others);
    let mut gone = None;
    let mut ids = [(); 2].map(|()| std::collections::HashSet::new());
    for number in 0..rounds {
        let outer = info_span!("outer", number);
        // What is followed has ended: there is nothing to link to, and its place may be another span's by now.
        outer.follows_from(gone.take());
        ids[0].insert(outer.id());
        outer.in_scope(|| {
            let inner = info_span!("inner", number);
            gone = inner.id();
            ids[1].insert(inner.id());
            inner.in_scope(|| tracing::warn!("inside"));
        });
        if number % 2_000 == 0 {
            let _ = run.flush(Duration::from_secs(10));
        }
    }
    // An id that is gone for good by now, as its place has been taken by many others: and one that is still known.
    let cause = info_span!("cause");
    info_span!("effect").follows_from(cause.id());
    say("ids", ids[0].len() as u64);
    say("inner_ids", ids[1].len() as u64);
}

static FORMATTED: AtomicU64 = AtomicU64::new(0);

/// A value whose formatting says something and opens spans by itself.
struct Talkative;

impl std::fmt::Debug for Talkative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        FORMATTED.fetch_add(1, Ordering::Relaxed);
        let span = info_span!("while_formatting");
        let _section = section!("section_while_formatting");
        span.in_scope(|| tracing::warn!("in the middle of a field"));
        f.write_str("talkative")
    }
}

/// Records beside a log that formats everything, above or below it.
fn beside_a_log(order: &str) -> stepscope::Guard {
    let log = || fmt::layer().with_writer(std::io::sink);
    if crate::is_root() {
        let (root, run) = stepscope::builder().subscriber(tracing_subscriber::registry().with(log()));
        root.init();
        return run;
    }
    let (layer, run) = stepscope::builder().build();
    match order {
        "above" => {
            tracing_subscriber::registry().with(layer).with(fmt::layer().with_writer(std::io::sink)).init()
        }
        "below" => tracing_subscriber::registry().with(log()).with(layer).init(),
        other => panic!("{other}"),
    }
    run
}

/// Spans that are not recorded between some that are, because of their level or, where `is_filtered`, of a filter.
pub(crate) fn strangers(is_filtered: bool) {
    let _run = match is_filtered && !crate::is_root() {
        false => beside_a_log("below"),
        true => {
            let (layer, run) =
                stepscope::builder().max_level(tracing::level_filters::LevelFilter::TRACE).build();
            let layer = layer.with_filter(filter_fn(|metadata| metadata.name() != "stranger"));
            tracing_subscriber::registry().with(layer).with(fmt::layer().with_writer(std::io::sink)).init();
            run
        }
    };
    let step = info_span!("outer", stepscope.step = 1_u64).entered();
    let stranger = tracing::debug_span!("stranger");
    // (Two of them.)
    let stranger = stranger.in_scope(|| tracing::debug_span!("stranger"));
    info_span!(parent: &stranger, "given").in_scope(|| ());
    stranger.in_scope(|| info_span!("same_thread").in_scope(|| ()));
    let there = stranger.clone();
    on_thread("elsewhere", move || {
        there.in_scope(|| info_span!("other_thread").in_scope(|| drop(section!("inside"))));
        info_span!(parent: None, "apart").in_scope(|| ());
        // A step is one wherever it is.
        there.in_scope(|| info_span!("step", stepscope.step = 2_u64).in_scope(|| ()));
    });
    drop(step);
    tracing::debug_span!(parent: None, "stranger").in_scope(|| info_span!("alone").in_scope(|| ()));
}

/// Errors and warnings where the innermost section leaves no span, and where none is around.
pub(crate) fn stray() {
    let _run = crate::start();
    tracing::error!("outside");
    {
        let _step = info_span!("outer", stepscope.step = 1_u64).entered();
        {
            let _quiet = section!("quiet");
            tracing::warn!("in a section");
        }
        info_span!("quiet").in_scope(|| tracing::error!("in a span"));
        let quiet = info_span!("quiet");
        on_thread("elsewhere", move || {
            tracing::warn!(parent: &quiet, "given");
            quiet.in_scope(|| tracing::warn!("on another thread"));
            tracing::warn!(parent: None, "apart");
        });
    }
    (0..40).for_each(|_| tracing::warn!("again and again"));
}

/// Beside a log that formats everything, above or below the layer.
pub(crate) fn reentrant(order: &str) {
    let run = beside_a_log(order);

    for number in 0..10_u64 {
        let _step = step!(number);
        // (A value that is recorded later may not log beside `fmt`: that one formats it with the span locked.)
        info_span!("outer", field = ?Talkative).in_scope(|| {
            tracing::error!(field = ?Talkative, "with a field");
            tracing::warn!("{:?}", Talkative);
        });
    }
    drop(run);
    say("formatted", FORMATTED.load(Ordering::Relaxed));
}

/// Epochs inside of each other, on two threads at once, and steps in one that is entered elsewhere or only given.
pub(crate) fn epochs() {
    let _run = crate::start();
    let steps = |job: u64| (0..2).for_each(|number| drop(step!(number, job = job)));
    for number in 0..2_u64 {
        let _epoch = stepscope::epoch!(number);
        steps(10 + number);
        {
            let _validation = stepscope::epoch!(100);
            steps(100);
        }
        steps(10 + number);
        on_thread("helper", move || steps(10 + number));
    }
    let turn = Barrier::new(2);
    std::thread::scope(|scope| {
        for number in [30, 31_u64] {
            let turn = &turn;
            let work = move || {
                let epoch = stepscope::epoch!(number - 10);
                turn.wait();
                steps(number);
                turn.wait();
                if number == 31 {
                    // The other one has ended.
                    turn.wait();
                    steps(number);
                    return;
                }
                drop(epoch);
                turn.wait();
            };
            std::thread::Builder::new().name(format!("job-{number}")).spawn_scoped(scope, work).unwrap();
        }
    });
    let epoch = info_span!("pass", stepscope.section.kind = "epoch", stepscope.epoch = 30_u64);
    let _later = stepscope::epoch!(99);
    epoch.in_scope(|| steps(40));
    let given = epoch.clone();
    on_thread("given", move || {
        info_span!(parent: &given, "given_step", stepscope.step = 0_u64, job = 40_u64).in_scope(|| ());
        info_span!(parent: &given, "given_span", job = 40_u64).in_scope(|| ());
    });
    drop(epoch);
    steps(109);
}

/// Fields that have the names of others, of ours, or of nothing that they could be.
pub(crate) fn namesakes() {
    let _run = crate::start();
    {
        let mut step = step!(7, samples = 3);
        step.record("samples", 50);
        step.record("stepscope.samples", 51);
        step.record("stepscope.value.loss", 0.5);
        stepscope::value!("loss", 0.25);
        stepscope::value!("gain", 1.0);
        step.record("stepscope.value.gain", 2.0);
    }
    info_span!("taken", thread.id = 3, thread.name = "me", stepscope.cpu_ns = 78, own = 1).in_scope(|| ());
    info_span!("negative", stepscope.step = -4).in_scope(|| ());
    info_span!("named", stepscope.step = "nine", stepscope.mode = "none", stepscope.section.kind = "no")
        .in_scope(|| ());
    info_span!("unnumbered", stepscope.section.kind = "step").in_scope(|| ());
}

/// Runs one after the other in one process, and how the later ones have spans of `tracing`, too.
pub(crate) fn runs() {
    let begin = |run: &str| stepscope::builder().run_id(run).build();
    let work = || {
        let _step = step!(0);
        info_span!("traced").in_scope(|| ());
    };
    let (layer, run) = begin("first");
    let (layer, handle) = tracing_subscriber::reload::Layer::new(layer);
    tracing_subscriber::registry().with(layer).init();
    work();
    drop(run);
    let (layer, run) = begin("replaced");
    handle.reload(layer).unwrap();
    work();
    drop(run);
    // Its subscriber comes too late.
    let run = stepscope::builder().run_id("installed").install();
    work();
    drop(run);
    let (layer, run) = begin("on_its_thread");
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    drop(run);
}

/// Threads that leave more behind at once than their rings hold.
pub(crate) fn overfull(threads: u64, sections: u64) {
    let _run = crate::start();
    for thread in 0..threads {
        on_thread(&format!("hasty-{thread}"), move || {
            for number in 0..sections {
                // A part of a step, in the end; and the step itself, which is worth more.
                let _step = (number % 10 == 0).then(|| step!(number));
                let _section = section!("hasty", number = number, of = thread);
            }
        });
    }
    say("emitted", threads * (sections + sections.div_ceil(10)) + 2);
}
