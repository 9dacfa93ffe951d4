//! Phases over the steps, and the time that steps wait for their data.

use stepscope_core::Phase;

use super::cell::keyed;
use super::palette::{NO_PHASE as PLAIN, STEP};
use super::plot::{Bucket, DURATION, Drawing, Line, Plot, buckets, buckets_within};
use super::series::{exposed_ns, mean, numbers, phase_series, series, steps_shown, together};
use super::{Cell, Document, Palette, Shown, cells};
use crate::report::Report;
use crate::summary::{PhasePoint, PhaseSeries, SeriesPoint};

/// Buckets of areas, of which there are as many as phases. The script draws as many.
const AREA_BUCKETS: usize = 200;

pub(super) fn tell(report: &Report, doc: &mut Document) {
    if !report.has_steps() {
        return;
    }
    doc.part("waiting", "", "Phases over the steps");
    match phase_series(report) {
        Some((series, phases)) => doc.plot(areas(report, series, &phases)),
        None => doc.say(Shown::HTML, "No step that has a number was read with all its sections."),
    }
    let Some((_, series)) = series(report) else {
        return doc.say(Shown::HTML, "No step has a number.");
    };
    if series.points.iter().all(|point| point.wait_ns == 0) {
        return;
    }
    let width = numbers(series.shift, &series.points, |point| point.step);
    let of = |figure: fn(&SeriesPoint) -> f64| {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .map(|point| (Bucket::of(point.step, width, [0.0, figure(point), figure(point)]), point.count))
            .collect();
        means(buckets(&points))
    };
    let waiting = Palette::of(report).class(Phase::DataWait.as_str());
    let lines = vec![
        Line { label: "Step time".into(), class: STEP.into(), buckets: of(mean) },
        Line {
            label: "Waiting for data".into(),
            class: waiting.clone(),
            buckets: of(|point| point.wait_ns as f64 / point.count.max(1) as f64),
        },
    ];
    let title = "Mean step time, and mean time waiting for data, over step numbers".into();
    let steps = steps_shown(report);
    doc.plot(Plot {
        id: "plot-waiting".into(),
        data: "waiting".into(),
        heading: "Waiting for data".into(),
        caption: cells![
            Cell::Swatch(STEP.into()),
            "Mean step time, and before it ",
            Cell::Swatch(waiting),
            "the mean time that a step waits for its data (phase `data_wait`)."
        ],
        drawing: Drawing::Bands { title, steps, lines, scale: DURATION, marks: None },
    });
}

/// Areas of means, one before the other.
fn means(mut buckets: Vec<Bucket>) -> Vec<Bucket> {
    buckets.iter_mut().for_each(|bucket| bucket.max = bucket.mean);
    buckets
}

/// Areas of the mean exposed time of phases, one on the other.
fn areas(report: &Report, series: &PhaseSeries, phases: &[&str]) -> Plot {
    let palette = Palette::of(report);
    let width = numbers(series.shift, &series.points, |point| point.step);
    let mut below: Vec<u64> = vec![0; series.points.len()];
    let mut layers: Vec<Line> = Vec::new();
    let mut used: Vec<Cell> = Vec::new();
    let mut add = |label: &str, class: String, of: &dyn Fn(&PhasePoint) -> u64| {
        let points = series.points.iter().zip(&mut below).map(|(point, below)| {
            *below = below.saturating_add(of(point));
            let mean = *below as f64 / point.steps.max(1) as f64;
            (Bucket::of(point.step, width, [0.0, mean, mean]), point.steps)
        });
        let buckets = means(buckets_within(AREA_BUCKETS, &points.collect::<Vec<_>>()));
        if series.points.iter().any(|point| of(point) > 0) {
            used.push(keyed(class.clone(), Cell::Plain(label.into())));
        }
        layers.push(Line { label: label.into(), class, buckets });
    };
    for &phase in phases {
        add(phase, palette.class(phase), &|point| exposed_ns(point, phase));
    }
    add("(no phase)", PLAIN.into(), &|point| point.unattributed_ns);
    // What is on top is drawn first, down to the axis, and covered by what is below it.
    layers.reverse();
    Plot {
        id: "plot-phases".into(),
        data: "phases".into(),
        heading: "By phase".into(),
        caption: cells![
            "Where the time of the steps goes, from the axis up: ",
            Cell::joined(used, ", "),
            ". Means of steps read with all their sections.",
            together(series.shift)
        ],
        drawing: Drawing::Areas {
            title: "Mean exposed time by phase over step numbers".into(),
            steps: steps_shown(report),
            lines: layers,
            scale: DURATION,
        },
    }
}
