//! What sections hold over the steps, against figures worked out by hand.

use stepscope_analyze::summary::{RetainedSeries, StepNumbers};
use stepscope_analyze::{Bounds, Config, Partial};
use stepscope_core::{Mode, SectionKind};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, SpanBuild, summarise};

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
fn runs_and_epochs_hold_what_their_steps_do_and_count_for_nothing() {
    let mut run = Build::new(5);
    run.span(0, "run", 0, 10_000).kind(SectionKind::Run).memory(9_999, 0).thread(1);
    run.span(1, "epoch", 0, 10_000).kind(SectionKind::Epoch).memory(8_888, 0).thread(1);
    let series = series(&[run.trace(), step(0, 4_000)]);
    assert_eq!(series.total.last_bytes, 4_000);
    assert!(series.excluded.is_empty());
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
