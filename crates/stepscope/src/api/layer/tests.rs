//! The sums of every call path are those of a recorder that knows nothing of ours and reads the same clock, to the
//! nanosecond, whatever leaves as a span.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use stepscope_core::LossReason;
use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::api::figures::Figures;
use crate::config::Config;
use crate::config::filter::Filter;
use crate::context::identity::{Given, Identity};
use crate::hot::recorder;
use crate::os::clock::told;
use crate::shared::thread_registry::Tally;

/// Durations of one path, and the time in it without what was entered inside.
#[derive(Debug, Default)]
struct Path {
    durations: Vec<u64>,
    self_ns: u64,
}

#[derive(Debug, Default)]
struct Open {
    path: String,
    start_ns: u64,
    last_exit_ns: Option<u64>,
    self_ns: u64,
}

/// The other recorder: one thread, all in the order of the calls.
#[derive(Debug, Default)]
struct Own {
    paths: BTreeMap<String, Path>,
    open: HashMap<u64, Open>,
    /// What is entered: id, since when, and for how long something inside of it was.
    entered: Vec<(u64, u64, u64)>,
}

impl Own {
    fn begin(&mut self, id: u64, name: &str) {
        let around = self.entered.last().map(|(around, ..)| format!("{}/", self.open[around].path));
        let path = around.unwrap_or_default() + name;
        self.open.insert(id, Open { path, start_ns: told::ns().unwrap(), ..Open::default() });
    }

    fn enter(&mut self, id: u64) {
        self.entered.push((id, told::ns().unwrap(), 0));
    }

    fn exit(&mut self, id: u64) {
        let (last, since_ns, inside_ns) = self.entered.pop().unwrap();
        assert_eq!(last, id);
        let now_ns = told::ns().unwrap();
        if let Some((_, _, inside)) = self.entered.last_mut() {
            *inside += now_ns - since_ns;
        }
        let open = self.open.get_mut(&id).unwrap();
        open.last_exit_ns = Some(now_ns);
        open.self_ns += now_ns - since_ns - inside_ns;
    }

    fn end(&mut self, id: u64) {
        let open = self.open.remove(&id).unwrap();
        let end_ns = open.last_exit_ns.unwrap_or_else(|| told::ns().unwrap());
        let path = self.paths.entry(open.path).or_default();
        path.durations.push(end_ns - open.start_ns);
        path.self_ns += open.self_ns;
    }
}

thread_local! {
    static OWN: RefCell<Own> = RefCell::default();
}

fn own<R>(f: impl FnOnce(&mut Own) -> R) -> R {
    OWN.with_borrow_mut(f)
}

/// Tells the other recorder of spans; of sections [`Loop`] does.
struct Teller;

impl<S: Subscriber> Layer<S> for Teller {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        own(|own| own.begin(id.into_u64(), attributes.metadata().name()));
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        own(|own| own.enter(id.into_u64()));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        own(|own| own.exit(id.into_u64()));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        own(|own| own.end(id.into_u64()));
    }
}

/// A training loop of sections of random depth and length.
struct Loop {
    random: u64,
    sections: u64,
}

impl Loop {
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 33) % bound
    }

    /// Time goes by: mostly little.
    fn work(&mut self) {
        let most = if self.below(20) == 0 { 100_000 } else { 400 };
        told::set(told::ns().unwrap() + self.below(most));
    }

    fn inside(&mut self, depth: u64) {
        self.work();
        for _ in 0..self.below(6).min(depth * 6) {
            match self.below(5) {
                0 => info_span!("span").in_scope(|| self.inside(depth - 1)),
                1 => {
                    // Left and entered again, with something else in between.
                    let span = info_span!("twice", number = depth);
                    span.in_scope(|| self.inside(depth - 1));
                    self.inside(depth - 1);
                    span.in_scope(|| self.work());
                    self.work();
                }
                2 => {
                    let _never_entered = info_span!("waits");
                    self.work();
                }
                kind => {
                    self.sections += 1;
                    let id = 1 << 62 | self.sections;
                    own(|own| own.begin(id, if kind == 3 { "section" } else { "hot" }));
                    own(|own| own.enter(id));
                    let guard = if kind == 3 {
                        crate::section!("section")
                    } else {
                        crate::section!("hot", bytes = 8)
                    };
                    self.inside(depth - 1);
                    drop(guard);
                    own(|own| own.exit(id));
                    own(|own| own.end(id));
                }
            }
            self.work();
        }
    }
}

/// The value of nearest rank.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

fn compare(recorder: &Arc<Recorder>, filter: &str) {
    let figures = Figures::of(recorder);
    let paths = own(|own| std::mem::take(&mut own.paths));
    assert_eq!(figures.sections().len(), paths.len(), "{filter}");
    for (path, mut own) in paths {
        own.durations.sort_unstable();
        let sorted = own.durations;
        let of = figures.section(&path).unwrap();
        assert_eq!(of.count, sorted.len() as u64, "{filter} {path}");
        assert_eq!(of.total_ns, sorted.iter().sum::<u64>(), "{filter} {path}");
        assert_eq!(of.self_busy_ns, own.self_ns, "{filter} {path}");
        assert_eq!((of.min_ns, of.max_ns), (sorted[0], sorted[sorted.len() - 1]), "{filter} {path}");
        for (told, percent) in [(of.p50_ns, 50), (of.p95_ns, 95), (of.p99_ns, 99)] {
            let value = percentile(&sorted, percent);
            // (Both are whole nanoseconds.)
            let error = told.abs_diff(value) as f64;
            assert!(error <= value as f64 * 0.0055 + 1.0, "{filter} {path} p{percent}: {told} for {value}");
        }
    }
}

#[test]
fn sums_are_those_of_another_recorder_whatever_leaves() {
    let filters =
        ["", "sample=100", "sample=100,name=span,min=1us", "depth=3,sample:hot=100", "min=20us,rate=50"];
    for filter in filters {
        let parsed: Filter = filter.parse().unwrap();
        let config = Config { filter: parsed, ring_bytes: 0, deep_steps: false, ..Config::default() };
        told::set(1_000_000_000);
        let recorder =
            Arc::new(Recorder::new(config, Identity::resolve(Given::default(), |_| None, &mut Vec::new())));
        assert!(recorder::make_current(&recorder), "no other test makes one current");
        let layer = StepscopeLayer::new(Some(Arc::clone(&recorder)));
        let subscriber = tracing_subscriber::registry().with(Teller).with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let mut work = Loop { random: 88_172_645_463_325_252, sections: 0 };
            for number in 0..300_u64 {
                info_span!("step", stepscope.step = number).in_scope(|| work.inside(4));
            }
        });
        compare(&recorder, filter);
        let mut tally = Tally::default();
        recorder.thread_registry.read().1.iter().for_each(|thread| tally.add(thread));
        let lost = |reason: LossReason| tally.lost[reason as usize];
        // Spans were left out, and nobody took any out of the ring.
        let left_out = lost(LossReason::SampledOut) + lost(LossReason::Filtered);
        assert!(lost(LossReason::RingFull) > 0 && tally.emitted > 10_000, "{filter} {tally:?}");
        assert_eq!(left_out > tally.emitted / 2, !filter.is_empty(), "{filter} {tally:?}");
        recorder::retire(&recorder);
    }
}
