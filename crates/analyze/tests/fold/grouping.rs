//! Any order and grouping of the same traces and points gives the same bytes, with bounds so small that all
//! of them are met.

use std::sync::Arc;

use proptest::prelude::*;
use stepscope_analyze::{Bounds, Config, Partial};
use stepscope_core::metric::host;
use stepscope_core::{Histogram, LossReason, Mode, Phase, SectionKind, ThreadState, metric};
use stepscope_model::{
    Figure, Measured, MeasuredKind, MetricPoint, Resource, SectionValue, ThreadSample, Trace,
};

use crate::build::Build;

const TIGHT: Bounds = Bounds {
    runs: 2,
    instances: 3,
    paths: 8,
    points: 3,
    process_points: 3,
    phase_points: 3,
    memory_sections: 2,
    memory_cells: 5,
    values: 2,
    custom_phases: 2,
    threads: 2,
    loaders: 2,
    aggregates: 2,
    losses: 2,
    metric_series: 2,
};

/// Sections are told apart, and few of them are kept.
const FEW_HELD: Bounds =
    Bounds { paths: 1_000, phase_points: 3, memory_sections: 2, memory_cells: 5, points: 100, ..TIGHT };

const NAMES: [&str; 8] =
    ["forward", "data_wait", "a", "b", "c", "save_checkpoint", "epoch.started", "load_batch"];
const KINDS: [SectionKind; 8] = [
    SectionKind::Section,
    SectionKind::Section,
    SectionKind::Section,
    SectionKind::Step,
    SectionKind::Step,
    SectionKind::Batch,
    SectionKind::Epoch,
    SectionKind::Request,
];
const FIGURES: [Figure; 13] = [
    Figure::Samples,
    Figure::AllocBytes,
    Figure::LiveBytes,
    Figure::BatchProduceNs,
    Figure::BatchQueueDepth,
    Figure::BatchSlotWaitNs,
    Figure::PeakBytes,
    Figure::Step,
    Figure::TraceSpans,
    Figure::StepDeep,
    Figure::CpuNs,
    Figure::RunQueueNs,
    Figure::HostCpuNs,
];

/// What one piece of the input says.
#[derive(Debug, Clone)]
enum Item {
    Trace(Box<Trace>),
    Point(Arc<Resource>, u64, MetricPoint),
}

fn resources() -> impl Strategy<Value = Arc<Resource>> {
    (0u8..3, 0i64..3).prop_map(|(run, rank)| {
        let run_id = if run == 0 { String::new() } else { format!("run{run}") };
        Arc::new(Resource { run_id, rank: Some(rank), service_name: "service".into(), ..Resource::default() })
    })
}

fn traces() -> impl Strategy<Value = Item> {
    let span = (0u64..50, 0u64..30, any::<prop::sample::Index>(), 0usize..8, 0usize..8, any::<u16>());
    let spans = prop::collection::vec(span, 1..7);
    (resources(), any::<u64>(), spans, 0u64..4).prop_map(|(resource, number, spans, extra)| {
        let mut build = Build::of(number, &resource);
        for (index, (start, length, parent, name, kind, bits)) in spans.into_iter().enumerate() {
            let parent = if index == 0 { 0 } else { parent.index(index + 1) as u64 + 1 };
            let length = if NAMES[name].ends_with("started") { 0 } else { length };
            let mode = Mode::ALL[usize::from(bits % 3)];
            let mut span =
                build.span(parent, NAMES[name], start, start + length).kind(KINDS[kind]).mode(mode);
            for (at, &figure) in FIGURES.iter().enumerate() {
                if bits >> at & 1 == 1 {
                    span = span.figure(figure, i64::from(bits >> 4));
                }
            }
            match bits >> 8 & 3 {
                0 => _ = span.thread(i64::from(bits >> 10 & 3)),
                1 => _ = span.phase(Phase::ALL[usize::from(bits >> 10) % Phase::ALL.len()]),
                2 => build.custom(["x", "y", "z", "w"][usize::from(bits >> 10 & 3)]),
                _ => {}
            }
        }
        if number % 3 == 0 {
            let of = |at: u64| ThreadSample {
                time_ns: at * 7,
                thread: (at % 3).cast_signed(),
                state: ThreadState::ALL[((number >> at) % 3) as usize],
                address: number >> 60,
            };
            build.0.samples.extend((0..8).map(of));
        }
        if extra > 0 {
            build.value(1, ["loss", "rate", "accuracy"][extra as usize - 1], number as f64 / 3.0);
        } else {
            build.continues("step/forward");
        }
        Item::Trace(Box::new(build.trace()))
    })
}

fn points() -> impl Strategy<Value = Item> {
    (resources(), 0u64..4, 0usize..10, 0u64..4).prop_map(|(resource, time, kind, value)| {
        let path = ["step", "step/a", "step/b"][(value % 3) as usize].to_owned();
        let section = |value| MetricPoint::Section {
            path: path.clone(),
            phase: ["", "forward"][(time % 2) as usize].to_owned(),
            kind: String::new(),
            value,
        };
        let mut histogram = Histogram::default();
        histogram.record(value);
        let point = match kind {
            0 => section(SectionValue::Integer(metric::SECTION_COUNT, value as i64)),
            1 => section(SectionValue::Integer(metric::SECTION_TOTAL, value as i64)),
            2 => section(SectionValue::Durations {
                count: value,
                zeros: histogram.zeros(),
                buckets: histogram.buckets().collect(),
            }),
            3 => MetricPoint::SpansEmitted(value),
            4 => MetricPoint::SpansDropped {
                sink: format!("sink{}", value % 2),
                reason: LossReason::ALL.get(value as usize).copied(),
                count: value,
            },
            5 => MetricPoint::RssBytes(value),
            kind => MetricPoint::Measured(Measured {
                name: [host::CPU_TIME, host::DISK_IO, host::PROCESS_CPU_TIME, "queue.depth"][kind - 6].into(),
                labels: ["user\n0\n", "idle\n0\n", "idle\n1\n"][(time % 3) as usize].into(),
                others: value % 2,
                kind: [MeasuredKind::Total, MeasuredKind::Gauge, MeasuredKind::Increment]
                    [(time % 3) as usize],
                millionths: i128::from(value) * 1_000_000,
            }),
        };
        Item::Point(resource, time, point)
    })
}

fn feed(partial: &mut Partial, item: &Item) {
    match item {
        Item::Trace(trace) => partial.add(trace),
        Item::Point(resource, time, point) => partial.metric(resource, 0, *time, point),
    }
}

/// Cuts the items into pieces, folds each, and merges neighbours at random until one is left; every other
/// piece goes through its bytes.
fn merged(items: &[Item], cuts: &[prop::sample::Index], config: Config) -> Partial {
    let mut pieces: Vec<Partial> = Vec::new();
    let size = (items.len() / 4).max(1);
    for piece in items.chunks(size) {
        let mut partial = Partial::new(config);
        piece.iter().for_each(|item| feed(&mut partial, item));
        pieces.push(partial);
    }
    let mut turn = 0;
    while pieces.len() > 1 {
        let at = cuts[turn % cuts.len()].index(pieces.len() - 1);
        let right = pieces.remove(at + 1);
        let right = Partial::from_bytes(&right.to_bytes().unwrap(), config).unwrap();
        pieces[at].merge(&right);
        turn += 1;
    }
    pieces.pop().unwrap_or_else(|| Partial::new(config))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_order_and_grouping_gives_the_same_bytes(
        items in prop::collection::vec(prop_oneof![3 => traces(), 1 => points()], 1..40),
        seed in any::<u64>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 8),
        bounds in prop::sample::select(vec![TIGHT, FEW_HELD, Bounds::default()]),
    ) {
        let config = Config { bounds, ..Config::default() };
        let mut straight = Partial::new(config);
        items.iter().for_each(|item| feed(&mut straight, item));
        let expected = straight.to_bytes().unwrap();
        let mut shuffled = items;
        let mut state = seed | 1;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(at, (state >> 33) as usize % (at + 1));
        }
        let other = merged(&shuffled, &cuts, config);
        prop_assert!(other.to_bytes().unwrap() == expected, "{:?}\n{:?}", straight.finish(None), other.finish(None));
        prop_assert_eq!(other.finish(None), straight.finish(None));
    }
}

#[test]
fn more_than_is_kept_singly_is_the_same_in_any_order() {
    let mut items = Vec::new();
    for i in 0..1_500u64 {
        let start = i * 1_000;
        let mut wait = Build::new(2 * i);
        wait.span(0, "data_wait", start, start + i * 37 % 101).thread(1);
        let mut step = Build::new(2 * i + 1);
        step.step((i * 7 % 1_500) as i64, start + 200, start + 300 + i * 53 % 211).thread(1);
        step.span(1, "forward", start + 210, start + 250).thread(1);
        items.extend([wait.trace(), step.trace()].map(|trace| Item::Trace(Box::new(trace))));
    }
    let straight = {
        let mut partial = Partial::new(Config::default());
        items.iter().for_each(|item| feed(&mut partial, item));
        partial.to_bytes().unwrap()
    };
    for stride in [7, 1_511, 2_999] {
        let mut partial = Partial::new(Config::default());
        for piece in 0..5 {
            let mut part = Partial::new(Config::default());
            (0..items.len())
                .filter(|i| i % 5 == piece)
                .for_each(|i| feed(&mut part, &items[i * stride % items.len()]));
            part.merge(&partial);
            partial = part;
        }
        assert!(partial.to_bytes().unwrap() == straight, "{stride}");
    }
}
