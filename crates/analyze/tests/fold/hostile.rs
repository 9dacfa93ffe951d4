//! Numbers at every limit, cycles, duplicate ids, unsorted spans: no panic, and the partial stays readable.

use proptest::prelude::*;
use stepscope_analyze::{Config, Partial};
use stepscope_core::{Mode, SectionKind, metric};
use stepscope_model::{Figure, MetricPoint, SectionValue, Trace};

use crate::build::{Build, fold, process, summarise};

const TIMES: [u64; 8] = [0, 1, 1_000, 1 << 40, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX];
const VALUES: [i64; 7] = [i64::MIN, -1, 0, 1, 1 << 40, i64::MAX - 1, i64::MAX];

fn traces() -> impl Strategy<Value = Trace> {
    let span = (0usize..8, 0usize..8, 0u64..6, 0u64..7, any::<u32>(), 0usize..7);
    prop::collection::vec(span, 1..9).prop_map(|spans| {
        let mut build = Build::new(1);
        for (start, end, id, parent, bits, value) in spans {
            let (start_ns, end_ns) = (TIMES[start], TIMES[end]);
            let name = if bits & 1 == 0 { "a".repeat((bits % 600) as usize) } else { "é/\\\u{0}".into() };
            let mut span = build.span(parent, &name, start_ns, end_ns.max(start_ns));
            for (at, &figure) in Figure::ALL.iter().enumerate() {
                // More figures than bits: some go together.
                if bits >> (at % 32) & 1 == 1 {
                    span = span.figure(figure, VALUES[(value + at) % VALUES.len()]);
                }
            }
            let kind = SectionKind::ALL[(bits >> 25) as usize % SectionKind::ALL.len()];
            let _ = span.kind(kind).mode(Mode::ALL[(bits >> 28) as usize % 3]);
            if let Some(last) = build.0.spans.last_mut() {
                // Duplicates, and spans that are their own ancestors.
                last.id = id;
            }
            build.value(id, "v", f64::from_bits(u64::from(bits) << 32));
        }
        build.0
    })
}

proptest! {
    #[test]
    fn limits_are_survived(traces in prop::collection::vec(traces(), 1..6)) {
        let partial = fold(&traces);
        let bytes = partial.to_bytes().unwrap();
        let mut read = Partial::from_bytes(&bytes, Config::default()).unwrap();
        prop_assert_eq!(read.to_bytes().unwrap(), bytes);
        read.merge(&partial);
        for summary in [partial.finish(None), read.finish(None)] {
            prop_assert!(serde_json::to_string(&summary).is_ok());
            for mode in &summary.modes {
                let exposed: u128 = mode.phases.iter().map(|row| u128::from(row.exposed_ns)).sum();
                // Sums beyond 64 bits are shown as the largest number.
                if mode.whole.total_ns < u64::MAX {
                    prop_assert_eq!(exposed + u128::from(mode.unattributed_ns), u128::from(mode.whole.total_ns));
                }
            }
        }
    }
}

#[test]
fn spans_in_any_order_are_one_trace() {
    let mut build = Build::new(1);
    build.step(0, 0, 100);
    build.span(1, "forward", 10, 60);
    build.span(2, "linear", 20, 30);
    let sorted = summarise([&build.0]);
    build.0.spans.reverse();
    assert_eq!(summarise([&build.0]), sorted);
}

#[test]
fn aggregates_at_the_limit_are_survived() {
    let mut partial = fold([]);
    for name in [metric::SECTION_COUNT, metric::SECTION_TOTAL, metric::SECTION_MIN, metric::SECTION_MAX] {
        for rank in 0..3 {
            let value = SectionValue::Integer(name, i64::MAX);
            let point =
                MetricPoint::Section { path: "a".into(), phase: "x".into(), kind: "step".into(), value };
            partial.metric(&process(rank), 0, u64::MAX, &point);
        }
    }
    let value =
        SectionValue::Durations { count: u64::MAX, zeros: u64::MAX, buckets: vec![(4_095, u64::MAX)] };
    let point = MetricPoint::Section { path: "a".into(), phase: String::new(), kind: String::new(), value };
    partial.metric(&process(0), 0, u64::MAX, &point);
    let summary = partial.finish(None);
    assert_eq!(summary.section("a").unwrap().stats.count, u64::MAX);
    let bytes = partial.to_bytes().unwrap();
    assert!(Partial::from_bytes(&bytes, Config::default()).is_ok());
}
