//! Steps of which only the root was read: they count, but nobody knows what filled them.

use std::sync::Arc;

use stepscope_analyze::loaders::{InputShare, InputVerdict, Thresholds};
use stepscope_analyze::report::Verdict;
use stepscope_analyze::{Summary, rules};
use stepscope_core::Mode;
use stepscope_model::{Figure, Resource, Trace};

use crate::build::{Build, process, summarise};

const STEPS: u64 = 200;

/// Steps of 300 ns or 330 ns, two thirds of each a wait.
fn step(number: u64, is_whole: bool, resource: &Arc<Resource>) -> Trace {
    let start = number * 1_000;
    let unit = if number % 20 < 2 { 110 } else { 100 };
    let mut build = Build::of(number, resource);
    build.step(number as i64, start, start + 3 * unit).thread(1).figure(Figure::TraceSpans, 3);
    if is_whole {
        build.span(1, "data_wait", start, start + 2 * unit).thread(1);
        build.span(1, "forward", start + 2 * unit, start + 3 * unit).thread(1);
    }
    build.trace()
}

fn run(is_whole: impl Fn(u64) -> bool) -> Summary {
    summarise(&(0..STEPS).map(|number| step(number, is_whole(number), &process(0))).collect::<Vec<_>>())
}

fn check(rule: &str, summary: &Summary) -> Verdict {
    (rules::find(rule).unwrap().check)(summary, &rules::Config::default())
}

#[test]
fn a_thinned_run_says_what_the_whole_one_says() {
    let whole = run(|_| true);
    let thinned = run(|number| number < 20 || number % 20 < 4);
    for summary in [&whole, &thinned] {
        let mode = summary.mode(Mode::Train).unwrap();
        assert_eq!(mode.steady.count, STEPS);
        // 180 steps of 300 ns and 20 of 330 ns.
        assert_eq!(mode.steady_ns, 60_600);
        assert_eq!(
            mode.phases.iter().map(|row| row.phase.as_str()).collect::<Vec<_>>(),
            ["data_wait", "forward"]
        );
        assert!((mode.phases[0].exposed_share - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(mode.unattributed_ns, 0);
        assert_eq!(mode.quick_without_waiting_ns, Some(100));
        assert_eq!(InputShare::of(summary.input, &Thresholds::default()).verdict, InputVerdict::High);
        assert!((summary.input.share.unwrap() - 2.0 / 3.0).abs() < 1e-4);
        let Verdict::Found(findings) = check("input_bound", summary) else { panic!("not found") };
        assert_eq!(findings[0].title, "67 % of the step time is spent waiting for batches.");
        let gain = findings[0].predicted_gain.as_ref().unwrap();
        // Of the mean of 303 ns the 100 ns stay that a quick step computes: nobody tells of loaders beside it.
        assert_eq!(gain.step_time_ns, 100);
        assert!((gain.direct_share - 2.0 / 3.0).abs() < 0.002, "{gain:?}");
        let part = summary.section("step/data_wait").unwrap().in_mode(Mode::Train).unwrap();
        assert_eq!((part.calls, part.steps), (mode.whole_all.steps, mode.whole_all.steps));
        assert_eq!(part.exposed_ns * 3, mode.whole_all.total_ns * 2);
    }
    let mode = thinned.mode(Mode::Train).unwrap();
    // 20 first ones and 4 of each of nine times 20.
    assert_eq!(mode.whole.steps, 56);
    assert_eq!(whole.mode(Mode::Train).unwrap().whole.total_ns, 60_600);
}

#[test]
fn impossible_counts_are_not_believed() {
    let said = |spans: i64, dropped: i64| {
        let mut build = Build::new(1);
        let root = build.step(0, 0, 100);
        root.figure(Figure::TraceSpans, spans).figure(Figure::TraceDropped, dropped);
        let summary = summarise(&[build.trace()]);
        let mode = summary.mode(Mode::Train).unwrap();
        (summary.state.missing_spans, summary.state.dropped_spans, mode.whole.steps)
    };
    assert_eq!(said(i64::MAX, i64::MAX), (0, 0, 1));
    assert_eq!(said(-1, -1), (0, 0, 1));
    assert_eq!(said(1_000_001, 1_000_001), (0, 0, 1));
    assert_eq!(said(1_000_000, 0), (999_999, 0, 0));
    assert_eq!(said(1, 3), (0, 3, 0));
}

/// Steps of two sections of 8 samples each, of which some have lost one.
fn sampled(are_whole: impl Fn(u64) -> bool, says: Option<i64>) -> Summary {
    let traces: Vec<Trace> = (0..STEPS)
        .map(|number| {
            let start = number * 1_000;
            let mut build = Build::of(number, &process(0));
            let root = build.step(number as i64, start, start + 500).figure(Figure::TraceSpans, 3);
            if let Some(samples) = says {
                root.figure(Figure::Samples, samples);
            }
            build.span(1, "forward", start, start + 100).figure(Figure::Samples, 8);
            if are_whole(number) {
                build.span(1, "forward", start + 100, start + 200).figure(Figure::Samples, 8);
            }
            build.trace()
        })
        .collect();
    summarise(&traces)
}

#[test]
fn throughput_is_not_that_of_the_sections_that_happened_to_be_read() {
    let of = |summary: &Summary| {
        let done = summary.mode(Mode::Train).unwrap().throughput;
        (done.samples, done.samples_per_step_second, done.samples_per_second)
    };
    // 16 samples in 500 ns, and in all 3,200 from the first start to the last end.
    let elapsed_s = ((STEPS - 1) * 1_000 + 500) as f64 / 1e9;
    let exact = (Some(STEPS * 16), Some(16.0 / 500e-9), Some((STEPS * 16) as f64 / elapsed_s));
    let whole = of(&sampled(|_| true, None));
    assert_eq!(whole.0, exact.0);
    let is_close =
        |got: Option<f64>, expected: Option<f64>| (got.unwrap() / expected.unwrap() - 1.0).abs() < 1e-9;
    assert!(is_close(whole.1, exact.1) && is_close(whole.2, exact.2), "{whole:?}");
    // What steps say themselves holds, whatever was read of them.
    assert_eq!(of(&sampled(|number| number % 100 == 0, Some(16))), whole);
    assert_eq!(of(&sampled(|_| false, None)), (None, None, None));
    // Of those that were read whole the rate is known; nobody knows how much all have done.
    let some = of(&sampled(|number| number % 100 == 0, None));
    assert_eq!((some.0, some.2), (None, None));
    assert!(is_close(some.1, exact.1), "{some:?}");
    let series = &sampled(|number| number == 7, None).series[0].points;
    assert_eq!((series[6].samples, series[7].samples), (None, Some(16)));
}
