//! What sections hold over the steps, against figures worked out by hand.

use std::sync::Arc;

use stepscope_analyze::summary::{RetainedSeries, StepNumbers};
use stepscope_analyze::{Bounds, Config, Partial};
use stepscope_core::{Mode, SectionKind, metric};
use stepscope_model::{Figure, MetricPoint, Resource, SectionValue, Trace};

use crate::build::{Build, SpanBuild, process, summarise};

/// Says what a section allocated and freed, all inside it included.
trait Said {
    fn memory(self, alloc: i64, free: i64) -> Self;
}

impl Said for SpanBuild<'_> {
    fn memory(self, alloc: i64, free: i64) -> Self {
        self.figure(Figure::AllocBytes, alloc).figure(Figure::FreeBytes, free)
    }
}

/// A step that keeps `kept` bytes in `step/history`, and gives from `step/forward` to `step/backward` what that frees.
fn step(number: u64, kept: i64) -> Trace {
    let start = number * 1_000;
    let mut build = Build::new(number);
    build.step(number as i64, start, start + 100).memory(600 + kept, 600).thread(1);
    build.span(1, "forward", start, start + 40).memory(500, 100).thread(1);
    build.span(2, "layer", start, start + 20).memory(450, 50).thread(1);
    build.span(1, "backward", start + 40, start + 80).memory(100, 500).thread(1);
    build.span(1, "history", start + 80, start + 90).memory(kept, 0).thread(1);
    build.trace()
}

fn series(traces: &[Trace]) -> RetainedSeries {
    summarise(traces).memory.by_section.unwrap()
}

/// What a section holds at every point.
fn held(series: &RetainedSeries, path: &str) -> Option<Vec<i64>> {
    let at = series.sections.iter().position(|section| section.path == path)?;
    Some(series.points.iter().map(|point| point.sections[at]).collect())
}

fn is_sum(series: &RetainedSeries) {
    let mut before = 0;
    for point in &series.points {
        assert_eq!(point.sections.iter().sum::<i64>() + point.other_bytes, point.retained_bytes);
        assert_eq!(point.retained_bytes - before, point.net_bytes);
        before = point.retained_bytes;
    }
}

#[test]
fn what_is_kept_rises_and_what_another_section_frees_is_told() {
    let traces: Vec<Trace> = (0..4).map(|number| step(number, 1_000)).collect();
    let series = series(&traces);
    is_sum(&series);
    assert_eq!((series.mode, series.shift), (Mode::Train, 0));
    assert_eq!(series.points.iter().map(|point| point.step).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(held(&series, "step/history").unwrap(), [1_000, 2_000, 3_000, 4_000]);
    // The layer keeps 400 of the 400 that `forward` keeps in all: itself it keeps nothing.
    assert_eq!(held(&series, "step/forward/layer").unwrap(), [400, 800, 1_200, 1_600]);
    assert_eq!(held(&series, "step/backward").unwrap(), [-400, -800, -1_200, -1_600]);
    assert_eq!(series.sections.len(), 3);
    assert_eq!(series.total.last_bytes, 4_000);
    let history = &series.sections[0];
    assert_eq!((history.path.as_str(), history.includes_nested), ("step/history", false));
    assert_eq!((history.figures.first_bytes, history.figures.last_bytes), (1_000, 4_000));
    assert_eq!((history.figures.peak_bytes, history.figures.peak_step), (4_000, 3));
    assert_eq!((series.other.last_bytes, series.other.peak_bytes), (0, 0));
}

#[test]
fn sections_that_make_up_for_each_other_are_one() {
    // 10 of the 400 that the two give each other stay: parts of 810 are more than three times what they hold together.
    let traces: Vec<Trace> = (0..3).map(|number| step(number, 10)).collect();
    let series = series(&traces);
    is_sum(&series);
    let sections: Vec<_> =
        series.sections.iter().map(|row| (row.path.as_str(), row.includes_nested)).collect();
    assert_eq!(sections, [("step", true)]);
    assert_eq!(held(&series, "step").unwrap(), [10, 20, 30]);
}

#[test]
fn other_threads_count_at_the_step_in_which_they_ended() {
    let mut traces: Vec<Trace> = (0..3).map(|number| step(number, 5_000)).collect();
    // Steps end at 100, 1100 and 2100.
    for (number, end_ns, kept) in [(10, 50, 100), (11, 100, 200), (12, 101, 400), (13, 9_000, 800)] {
        let mut batch = Build::new(number);
        batch.span(0, "batch", end_ns - 10, end_ns).kind(SectionKind::Batch).memory(kept, 0).thread(2);
        traces.push(batch.trace());
    }
    // A step of another mode, and one without a number.
    let mut eval = Build::new(20);
    eval.step(0, 1_500, 1_600).mode(Mode::Eval).memory(0, 7).thread(1);
    traces.push(eval.trace());
    let mut unnumbered = Build::new(21);
    unnumbered.span(0, "step", 900, 950).kind(SectionKind::Step).memory(11, 0).thread(1);
    traces.push(unnumbered.trace());
    let series = series(&traces);
    is_sum(&series);
    assert_eq!(held(&series, "batch").unwrap(), [300, 700, 1_500]);
    let sums: Vec<i64> = series.points.iter().map(|point| point.net_bytes).collect();
    assert_eq!(sums, [5_000 + 300, 5_000 + 400 + 11, 5_000 + 800 - 7]);
}

#[test]
fn a_section_on_another_thread_is_no_part_of_the_one_around_it() {
    let mut build = Build::new(0);
    build.step(0, 0, 100).memory(30, 0).thread(1);
    build.span(1, "writer", 10, 50).memory(500, 100).thread(2);
    let series = series(&[build.trace()]);
    is_sum(&series);
    assert_eq!(held(&series, "step").unwrap(), [30]);
    assert_eq!(held(&series, "step/writer").unwrap(), [400]);
}

#[test]
fn runs_and_epochs_hold_what_their_steps_do_and_count_for_nothing() {
    let mut run = Build::new(5);
    run.span(0, "run", 0, 10_000).kind(SectionKind::Run).memory(9_999, 0).thread(1);
    run.span(1, "epoch", 0, 10_000).kind(SectionKind::Epoch).memory(8_888, 0).thread(1);
    let series = series(&[run.trace(), step(0, 4_000)]);
    assert_eq!(series.total.last_bytes, 4_000);
    assert!(series.excluded.is_empty());
}

/// A section outside of steps around two of them, with sums of the process or without.
fn around(said: Option<(i64, i64)>) -> RetainedSeries {
    let resource = process(0);
    let mut partial = Partial::new(Config::default());
    let mut fit = Build::of(9, &resource);
    fit.span(0, "fit", 0, 3_000).memory(8_050, 1_200).thread(1);
    partial.add(&fit.trace());
    [step(0, 3_400), step(1, 3_400)].iter().for_each(|trace| partial.add(trace));
    if let Some((alloc, free)) = said {
        let figures = [
            (metric::SECTION_COUNT, 1),
            (metric::SECTION_TOTAL, 3_000),
            (metric::SECTION_MIN, 3_000),
            (metric::SECTION_MAX, 3_000),
            (metric::SECTION_ALLOC, 8_050),
            (metric::SECTION_FREE, 1_200),
            (metric::SECTION_ALLOC_COUNT, 1),
            (metric::SECTION_SELF_ALLOC, alloc),
            (metric::SECTION_SELF_FREE, free),
        ];
        for (name, value) in figures {
            let value = SectionValue::Integer(name, value);
            let (phase, kind) = (String::new(), String::new());
            partial.metric(&resource, 0, 1, &MetricPoint::Section { path: "fit".into(), phase, kind, value });
        }
    }
    partial.finish(None).memory.by_section.unwrap()
}

#[test]
fn a_section_around_steps_is_told_only_where_the_sums_agree() {
    for said in [None, Some((50, 0))] {
        let series = around(said);
        assert_eq!(series.excluded, ["fit"], "{said:?}");
        assert_eq!(series.total.last_bytes, 6_800);
    }
    // Nothing of the steps was in its figures.
    let series = around(Some((8_050, 1_200)));
    assert!(series.excluded.is_empty());
    assert_eq!(series.total.last_bytes, 6_800 + 6_850);
}

#[test]
fn a_part_in_a_further_trace_is_counted_once() {
    let mut first = Build::new(0);
    first.step(0, 0, 100).memory(700, 0).thread(1);
    let mut rest = Build::new(1);
    rest.span(0, "late", 80, 90).memory(600, 0).thread(1);
    rest.continues("step");
    let series = series(&[first.trace(), rest.trace()]);
    assert_eq!(held(&series, "step").unwrap(), [100]);
    assert_eq!(held(&series, "step/late").unwrap(), [600]);
}

#[test]
fn a_section_without_its_beginning_is_one_of_the_others() {
    let mut lost = Build::new(7);
    lost.span(0, "inner", 10, 20).memory(64, 0).thread(1);
    lost.0.spans[0].parent = Some(99);
    let series = series(&[step(0, 4_000), lost.trace()]);
    is_sum(&series);
    assert_eq!((series.other.last_bytes, series.total.last_bytes), (64, 4_064));
}

#[test]
fn nothing_is_told_where_it_is_not_known() {
    let plain = |number: u64| {
        let mut build = Build::new(number);
        build.step(number as i64, number * 100, number * 100 + 50).figure(Figure::LiveBytes, 5);
        build.trace()
    };
    let summary = summarise(&[plain(0), plain(1)]);
    assert!(summary.memory.live.is_some());
    assert_eq!(summary.memory.by_section, None);
    // Twice the same numbers.
    let mut again = step(0, 10);
    again.id[0] = 1;
    let summary = summarise(&[step(0, 10), again]);
    assert_eq!(summary.modes[0].numbers, StepNumbers::Repeated);
    assert_eq!(summary.memory.by_section, None);
    let config = Config { bounds: Bounds { paths: 2, ..Bounds::default() }, ..Config::default() };
    let mut cut = Partial::new(config);
    cut.add(&step(0, 10));
    assert_eq!(cut.finish(None).memory.by_section, None);
}

#[test]
fn processes_are_added_up() {
    let of = |rank: i64| {
        let resource: Arc<Resource> = process(rank);
        let mut build = Build::of(rank as u64, &resource);
        build.step(3, 0, 100).memory(1_000 + rank, 0);
        build.trace()
    };
    let series = series(&[of(0), of(1), of(2)]);
    assert_eq!(held(&series, "step").unwrap(), [3_003]);
}

#[test]
fn steps_that_keep_nothing_have_points_too() {
    let series = series(&[step(0, 0), step(1, 50), step(2, 0)]);
    let all: Vec<(u64, i64)> = series.points.iter().map(|point| (point.step, point.retained_bytes)).collect();
    assert_eq!(all, [(0, 0), (1, 50), (2, 50)]);
}
