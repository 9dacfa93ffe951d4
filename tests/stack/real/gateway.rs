//! The gateway: one collector that balances by trace in front of two that sample. What dies, and what that costs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{LIMIT, parse, report_text};
use stepscope_stack_tests::recorded;
use stepscope_stack_tests::senders::{Progress, SLOW_MS, SPANS, Step, USUAL_MS, send};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::traces::{self, Traces};
use stepscope_testkit::binaries;

use crate::jaeger::open;
use crate::sampled::assert_sums;

/// Steps of each test, and their senders.
const STEPS: u64 = 10_000;
const RANKS: u64 = 3;

/// From a trace's first span to its decision. Long enough for some to wait when a sampler dies.
const DECISION_WAIT: &str = "10s";

/// The programs, each in a folder of its own.
struct Gateway {
    front: Stack,
    samplers: [Stack; 2],
    jaeger: Stack,
}

impl Gateway {
    fn start() -> Self {
        let file = |name: &str| {
            binaries::repository().join("collector-config").join(name).to_string_lossy().into_owned()
        };
        let jaeger = Stack::start(&["jaeger"], &[]).expect("Jaeger starts");
        // Besides what it does anyway, a sampler writes down what it got.
        let (sampler, also) = (
            file("sampler.yaml"),
            [
                "yaml:exporters::file/all: {path: \"${env:COLLECTOR_DATA}/all/traces.jsonl\", create_directory: true, append: true}",
                "yaml:service::pipelines::traces/all::exporters: [span_metrics, forward, file/all]",
            ],
        );
        let configuration = ["collector", "--config", &sampler, "--config", also[0], "--config", also[1]];
        let slow = ((USUAL_MS + SLOW_MS) / 2).to_string();
        let settings = [
            ("STACK_COLLECTOR", "collector-gateway"),
            // `scripts/stack` tells the collector of it as of the store.
            ("JAEGER_OTLP_GRPC", jaeger.address("JAEGER_OTLP_GRPC")),
            ("SAMPLING_DECISION_WAIT", DECISION_WAIT),
            ("SAMPLING_SLOW_MS", &slow),
            ("SPAN_METRICS_INTERVAL", "1s"),
        ];
        let samplers = [0, 1].map(|_| {
            Stack::start(&configuration, &settings)
                .expect("a sampler starts: scripts/stack build collector-gateway")
        });
        let addresses = samplers.each_ref().map(|sampler| sampler.address("COLLECTOR_OTLP_GRPC"));
        let addresses = format!("[{}]", addresses.join(", "));
        let front = Stack::start(
            &["collector", "--config", &file("gateway.yaml")],
            &[("STACK_COLLECTOR", "collector-gateway"), ("GATEWAY_SAMPLERS", &addresses)],
        )
        .expect("the front starts");
        Self { front, samplers, jaeger }
    }

    /// Sends `steps` while `accident` happens, once a quarter of them is acknowledged; at least half of each sender's are sent
    /// afterwards. Steps that were begun when it was over are the result.
    fn send(&self, steps: &[Step], accident: impl FnOnce()) -> BTreeSet<Step> {
        let progress = Progress::default();
        let address = self.front.address("COLLECTOR_OTLP_HTTP");
        std::thread::scope(|scope| {
            let senders = scope.spawn(|| send(address, steps, &progress));
            wait("a quarter is acknowledged", || 4 * progress.acknowledged() >= steps.len() as u64);
            accident();
            progress.note();
            progress.open();
            senders.join().expect("no panic").expect("all is acknowledged")
        })
    }

    /// Waits until all of these traces are whole in the store.
    fn wait_for_whole(&self, steps: impl Iterator<Item = Step>) {
        let mut missing: Vec<Step> = steps.filter(|step| step.reason().is_some()).collect();
        wait("the store has what is kept", || {
            while missing.last().is_some_and(|step| self.stored(*step) == SPANS) {
                missing.pop();
            }
            missing.is_empty()
        });
    }

    /// Distinct spans of a step in the store.
    fn stored(&self, step: Step) -> usize {
        let trace = step.trace();
        open(&self.jaeger, &trace).ok().and_then(|found| Some(found.get(&trace)?.len())).unwrap_or(0)
    }

    /// What this sampler has got since its start, by trace.
    fn received(&self, sampler: usize) -> Traces {
        let sampler = &self.samplers[sampler];
        let count = || {
            sampler.collector_count("otelcol_receiver_accepted_spans", "transport=\"grpc\"").expect("a count")
        };
        let queued =
            || self.front.collector_count("otelcol_exporter_queue_size", "load_balancing").expect("a size");
        wait("the front has handed on everything", || queued() == 0);
        let before = count();
        sampler.change("stop", "collector").expect("stops, hence writes its file");
        let mut received = Traces::new();
        traces::of_json_lines(&sampler.data("all/traces.jsonl"), &mut received).expect("a file");
        let distinct: usize = received.values().map(BTreeMap::len).sum();
        println!("a sampler took {before} spans, {distinct} of them distinct");
        received
    }
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_front_that_is_killed_loses_nothing_that_it_acknowledged() {
    let gateway = Gateway::start();
    let steps = Step::of_ranks(RANKS, STEPS);
    let late = gateway.send(&steps, || {
        gateway.front.change("kill", "collector").expect("killed");
        gateway.front.change("start", "collector").expect("starts again");
    });
    assert!(late.len() as u64 >= STEPS / 3 && late.len() < steps.len(), "{} behind the accident", late.len());

    gateway.wait_for_whole(steps.iter().copied());
    let kept = |reason: &str| steps.iter().filter(|step| step.reason() == Some(reason)).count();
    println!(
        "{STEPS} steps, {} begun after the restart; whole in Jaeger: {} slow (100 %), {} first, {} by chance",
        late.len(),
        kept("slow"),
        kept("first step"),
        kept("one in twenty")
    );
    let sums: u64 = gateway.samplers.iter().map(counted_steps).sum();
    println!("the sums of spans have {sums} steps");
    assert!(sums >= STEPS, "{sums} steps in the sums");

    let received = [gateway.received(0), gateway.received(1)];
    for step in &steps {
        let trace = step.trace();
        let places: Vec<_> = received.iter().filter_map(|traces| traces.get(&trace)).collect();
        assert_eq!(places.len(), 1, "the spans of {step:?} meet on one sampler");
        let missing = step.spans().iter().filter(|id| !places[0].contains_key(*id)).count();
        assert_eq!(missing, 0, "of {step:?}");
        if step.reason().is_none() {
            assert_eq!(gateway.stored(*step), 0, "{step:?} is not kept");
        }
    }
    let shares = received.map(|traces| traces.len());
    assert!(shares.iter().all(|share| *share as u64 > STEPS / 4), "both have a share: {shares:?}");
}

/// The steps in a sampler's sums of spans.
fn counted_steps(sampler: &Stack) -> u64 {
    let page = || http::get(sampler.address("COLLECTOR_PROMETHEUS"), "/metrics").expect("it answers");
    let steps = |page: &str| -> u64 {
        let is_step = |line: &&str| {
            line.starts_with("stepscope_spans_calls_total{")
                && line.contains("stepscope_section_kind=\"step\"")
        };
        let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
        page.lines().filter(is_step).filter_map(value).sum::<f64>() as u64
    };
    let mut before = 0;
    wait("the sums stand still", || {
        let now = steps(&page());
        now > 0 && std::mem::replace(&mut before, now) == now
    });
    let page = page();
    for rank in 0..RANKS {
        let label = format!("stepscope_rank=\"{rank}\"");
        assert!(
            page.lines().any(|line| line.contains(&label) && line.contains("stepscope_phase=\"forward\""))
        );
    }
    assert!(!page.contains("run_id"), "no series a run");
    before
}

#[test]
fn a_sampler_that_is_killed_loses_what_waited_for_its_decision() {
    let gateway = Gateway::start();
    let steps = Step::of_ranks(RANKS, STEPS);
    let (first, second) = steps.split_at(steps.len() / 2);
    gateway.send(first, || ());
    // Decided and stored: older than the wait.
    gateway.wait_for_whole(first.iter().copied());
    let [_, dies] = &gateway.samplers;
    let late = gateway.send(second, || {
        dies.change("kill", "collector").expect("killed");
        dies.change("start", "collector").expect("starts again");
    });
    gateway.wait_for_whole(late.iter().copied());
    let survivor = gateway.received(0);
    let at_risk: Vec<Step> = second.iter().copied().filter(|step| !late.contains(step)).collect();
    let (safe, waited): (Vec<Step>, Vec<Step>) =
        at_risk.into_iter().partition(|step| survivor.contains_key(&step.trace()));
    // It has decided on them when it stopped, and what it has not stored yet, it has on disk.
    gateway.samplers[0].change("start", "collector").expect("starts again");
    gateway.wait_for_whole(safe.iter().copied());
    gateway.wait_for_whole(first.iter().copied());

    let kept: Vec<Step> = waited.iter().copied().filter(|step| step.reason().is_some()).collect();
    let lost = kept.iter().filter(|step| gateway.stored(**step) != SPANS).count();
    println!(
        "{} traces waited {DECISION_WAIT} or less at the sampler that died: {lost} of the {} to be kept are lost; none of {} others",
        waited.len(),
        kept.len(),
        steps.len() - waited.len()
    );
    assert!(lost > 0, "some wait at any time");
}

#[test]
fn a_program_with_the_layer_is_stored_and_counted() {
    let gateway = Gateway::start();
    let folder = stepscope_testkit::TempFolder::new("gateway").expect("a folder");
    let profiles = folder.join("profiles");
    let mut demo = recorded::demo_command(&profiles, &["--steps", "60"], "json").expect("built");
    demo.env("OTEL_EXPORTER_OTLP_ENDPOINT", gateway.front.endpoint());
    stepscope_stack_tests::program::output(&mut demo).expect("a run");
    let report = parse(&report_text(&[&profiles]).expect("a report")).expect("JSON");
    assert_eq!(report["losses"]["dropped_total"], 0);
    // Before anything is sampled.
    assert_sums(&gateway.front, &report);
    let mut sent = Traces::new();
    for file in stepscope_testkit::folder::files_below(&profiles).expect("files") {
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            traces::of_json_lines(&file, &mut sent).expect("JSON lines");
        }
    }
    let first = sent.iter().filter(|(_, spans)| {
        spans.values().any(|span| traces::integer(span, "stepscope.step").is_some_and(|step| step <= 20))
    });
    let first: Vec<_> = first.collect();
    assert!(first.len() > 20, "{} first steps", first.len());
    for (trace, spans) in &first {
        wait("a first step is stored", || {
            open(&gateway.jaeger, trace)
                .is_ok_and(|found| found.get(*trace).is_some_and(|found| found.len() == spans.len()))
        });
        // As it was sent: the same names, times, attributes.
        assert_eq!(&open(&gateway.jaeger, trace).expect("it opens")[*trace], *spans);
    }
    // And the file that `analyze` reads has what the store has.
    gateway.samplers.iter().for_each(|sampler| sampler.change("stop", "collector").expect("stops"));
    let files = gateway.samplers.each_ref().map(|sampler| sampler.data("kept"));
    let kept = parse(&report_text(&[&files[0], &files[1]]).expect("a report")).expect("JSON");
    println!(
        "the demo through the gateway: {} first steps, {} spans in the samplers' files",
        first.len(),
        kept["run"]["spans"]
    );
    assert!(kept["run"]["spans"].as_u64() >= Some(first.iter().map(|(_, spans)| spans.len() as u64).sum()));
    assert_eq!(kept["run"]["id"], report["run"]["id"]);
}
