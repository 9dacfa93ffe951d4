//! Figures over step numbers, drawn small: step times, waiting, memory, the user's own values; and the distribution of
//! step times. The script draws the same data again, with zoom. Which columns belong to which plot is said in
//! `data-plot`, which names a plot of the data.

use std::collections::BTreeSet;

use super::page::{close, count, escape, ns, open, paragraph};
use super::svg::{self, Bucket, Line, bands, buckets, buckets_within};
use super::{changes, periods};
use crate::report::Report;
use crate::report::units::{bytes, count as count_words, duration};
use crate::summary::{Gauge, PhasePoint, PhaseSeries, SeriesPoint, StepSeries};

/// Bins of the distribution.
const BINS: usize = 48;

/// Buckets of areas, of which there are as many as phases.
const AREA_BUCKETS: usize = 200;

/// The colour of what no phase covers: grey.
pub(super) const NO_PHASE: usize = 7;

/// The series of the report's mode, and its place.
pub(super) fn series(report: &Report) -> Option<(usize, &StepSeries)> {
    let all = report.detailed_metrics.series.iter().enumerate();
    all.into_iter().find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode && !row.points.is_empty())
}

fn mean(point: &SeriesPoint) -> f64 {
    point.duration_sum_ns as f64 / point.count.max(1) as f64
}

fn figure(id: &str, plot: &str, caption: &str, drawing: &str, out: &mut String) {
    out.push_str(&format!(
        "<figure id=\"{id}\" class=\"plot\" data-plot=\"{plot}\">\n<div class=\"tools\" hidden></div>\n\
         <div class=\"drawing\">{drawing}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"
    ));
}

pub(super) fn timeline(report: &Report, out: &mut String) {
    open("timeline", "Steps", out);
    let Some((_, series)) = series(report) else {
        paragraph("No step has a number, so nothing can be drawn over them.", out);
        return close(out);
    };
    let durations: Vec<(Bucket, u64)> = series
        .points
        .iter()
        .map(|point| {
            let (min, max) = (point.duration_min_ns as f64, point.duration_max_ns as f64);
            (Bucket { step: point.step, min, mean: mean(point), max }, point.count)
        })
        .collect();
    let durations = buckets(&durations);
    let mut drawing = String::new();
    let line = Line { label: "Step time", color: 0, buckets: &durations };
    bands("Step time over step numbers: shortest, mean and longest", &[line], 1e3, duration, &mut drawing);
    let caption = format!(
        "Step time over step numbers. The line is the mean, the band reaches from the shortest to the longest step; the \
         median of all steps after warm-up is {}.",
        ns("summary/step_time/p50", report.summary.step_time.as_ref().and_then(|time| time.p50))
    );
    figure("plot-steps", "steps", &caption, &drawing, out);
    changes::table_of(report, out);
    periods::table_of(report, out);
    close(out);
}

/// The series of phases of the report's mode, and its phases in the order of their colours.
pub(super) fn phase_series(report: &Report) -> Option<(&PhaseSeries, Vec<&str>)> {
    let all = &report.detailed_metrics.phase_series;
    let series = all.iter().find(|row| Some(row.mode.as_str()) == report.summary.mode)?;
    let mut phases: Vec<&str> = super::waterfall::phases(report);
    let is_used = |phase: &str| {
        series.points.iter().any(|point| point.exposed.iter().any(|time| time.phase.as_str() == phase))
    };
    let last = phases.iter().rposition(|phase| is_used(phase)).map_or(0, |at| at + 1);
    phases.truncate(last);
    let others = series.points.iter().flat_map(|point| &point.exposed).map(|time| time.phase.as_str());
    let others: BTreeSet<&str> = others.filter(|phase| !phases.contains(phase)).collect();
    phases.extend(others);
    Some((series, phases))
}

/// Exposed time of a phase at a point.
pub(super) fn exposed_ns(point: &PhasePoint, phase: &str) -> u64 {
    point.exposed.iter().find(|time| time.phase.as_str() == phase).map_or(0, |time| time.exposed_ns)
}

/// Areas of the mean exposed time of phases, one on the other.
fn phases(report: &Report, out: &mut String) {
    let Some((series, phases)) = phase_series(report) else {
        return paragraph("No step that has a number was read with all its sections.", out);
    };
    // What is on top is drawn first, down to the axis, and covered by what is below it.
    let mut below: Vec<u64> = vec![0; series.points.len()];
    let mut layers: Vec<(&str, usize, Vec<Bucket>)> = Vec::new();
    let mut add = |name, color, of: &dyn Fn(&PhasePoint) -> u64| {
        let points = series.points.iter().zip(&mut below).map(|(point, below)| {
            *below = below.saturating_add(of(point));
            let mean = *below as f64 / point.steps.max(1) as f64;
            (Bucket { step: point.step, min: 0.0, mean, max: mean }, point.steps)
        });
        let mut merged = buckets_within(AREA_BUCKETS, &points.collect::<Vec<_>>());
        merged.iter_mut().for_each(|bucket| bucket.max = bucket.mean);
        layers.push((name, color, merged));
    };
    for (at, &phase) in phases.iter().enumerate() {
        add(phase, at, &|point| exposed_ns(point, phase));
    }
    add("(no phase)", NO_PHASE, &|point| point.unattributed_ns);
    let lines: Vec<Line<'_>> =
        layers.iter().rev().map(|(label, color, buckets)| Line { label, color: *color, buckets }).collect();
    let mut drawing = String::new();
    svg::areas("Mean exposed time by phase over step numbers", &lines, 1e3, duration, &mut drawing);
    let used = layers.iter().filter(|(_, _, buckets)| buckets.iter().any(|bucket| bucket.mean > 0.0));
    let keys: Vec<String> = used
        .map(|(name, color, _)| format!("{}<span class=\"word\">{}</span>", svg::key(*color), escape(name)))
        .collect();
    let caption = format!(
        "Where the time of the steps goes, from the axis up: {}. Means of steps read with all their sections.",
        keys.join(", ")
    );
    figure("plot-phases", "phases", &caption, &drawing, out);
}

pub(super) fn phases_over_steps(report: &Report, out: &mut String) {
    open("waiting", "Phases over the steps", out);
    phases(report, out);
    let Some((_, series)) = series(report) else {
        paragraph("No step has a number.", out);
        return close(out);
    };
    let of = |figure: fn(&SeriesPoint) -> f64| {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .map(|point| {
                let value = figure(point);
                (Bucket { step: point.step, min: 0.0, mean: value, max: value }, point.count)
            })
            .collect();
        let mut merged = buckets(&points);
        // Areas of means, one before the other.
        merged.iter_mut().for_each(|bucket| bucket.max = bucket.mean);
        merged
    };
    let step = of(mean);
    let wait = of(|point| point.wait_ns as f64 / point.count.max(1) as f64);
    let mut drawing = String::new();
    let lines = [
        Line { label: "Step time", color: 0, buckets: &step },
        Line { label: "Waiting for data", color: 1, buckets: &wait },
    ];
    bands(
        "Mean step time, and mean time waiting for data, over step numbers",
        &lines,
        1e3,
        duration,
        &mut drawing,
    );
    let caption = format!(
        "{}Mean step time, and before it {}the mean time that a step waits for its data (phase <code>data_wait</code>).",
        svg::key(0),
        svg::key(1)
    );
    figure("plot-waiting", "waiting", &caption, &drawing, out);
    close(out);
}

pub(super) fn distribution(report: &Report, out: &mut String) {
    open("distribution", "Distribution of step times", out);
    let points = series(report).map(|(_, series)| series.points.as_slice()).unwrap_or_default();
    let values: Vec<(f64, u64)> = points.iter().map(|point| (mean(point), point.count)).collect();
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0_f64), |(low, high), (value, _)| (low.min(*value), high.max(*value)));
    if values.is_empty() || high <= 0.0 {
        paragraph("No step has a number and a duration.", out);
        return close(out);
    }
    // Equal ratios, so that a long tail keeps its shape.
    let (from, to) = (low.max(1.0).ln(), (high.max(1.0) * 1.000_001).ln());
    let width = ((to - from) / BINS as f64).max(1e-9);
    let mut bins = [0_u64; BINS];
    for (value, weight) in &values {
        let at = ((value.max(1.0).ln() - from) / width) as usize;
        if let Some(bin) = bins.get_mut(at.min(BINS - 1)) {
            *bin = bin.saturating_add(*weight);
        }
    }
    let tallest = bins.iter().copied().max().unwrap_or(1).max(1);
    let mut drawing = String::from(
        "<svg class=\"plot\" viewBox=\"0 0 800 220\" role=\"img\" aria-label=\"Number of steps by step time\">\n",
    );
    let column = 712.0 / BINS as f64;
    for (at, &steps) in bins.iter().enumerate().filter(|(_, steps)| **steps > 0) {
        let height = (182.0 * steps as f64 / tallest as f64).max(1.0);
        let from_ns = (from + at as f64 * width).exp();
        let to_ns = (from + (at + 1) as f64 * width).exp();
        drawing.push_str(&format!(
            "<rect class=\"c0\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{} to {}: {}</title></rect>\n",
            74.0 + at as f64 * column,
            192.0 - height,
            (column - 1.0).max(1.0),
            escape(&duration(from_ns as u64)),
            escape(&duration(to_ns as u64)),
            count_words(steps)
        ));
    }
    for (at, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let value = (from + at * (to - from)).exp();
        drawing.push_str(&format!(
            "<text class=\"tick\" x=\"{:.0}\" y=\"212\" text-anchor=\"{anchor}\">{}</text>\n",
            74.0 + 712.0 * at,
            escape(&duration(value.round() as u64))
        ));
    }
    let time = report.summary.step_time.as_ref();
    let marks = [
        ("p50", time.and_then(|time| time.p50)),
        ("p95", time.and_then(|time| time.p95)),
        ("p99", time.and_then(|time| time.p99)),
    ];
    for (row, (name, value)) in marks.iter().enumerate() {
        let Some(value) =
            value.map(|value| (value as f64).max(1.0).ln()).filter(|value| (from..=to).contains(value))
        else {
            continue;
        };
        let x = 74.0 + 712.0 * (value - from) / (to - from).max(1e-9);
        drawing.push_str(&format!(
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"10\" y2=\"192\"/><text class=\"tick\" x=\"{:.1}\" y=\"{}\">{name}</text>\n",
            x + 3.0,
            18 + 12 * row
        ));
    }
    drawing.push_str(&format!(
        "<text class=\"tick\" x=\"68\" y=\"18\" text-anchor=\"end\">{}</text><text class=\"tick\" x=\"68\" y=\"196\" text-anchor=\"end\">0</text>\n</svg>\n",
        count_words(tallest)
    ));
    let of = |name: &str, value: Option<u64>| ns(&format!("summary/step_time/{name}"), value);
    let caption = format!(
        "Steps by their time, on a logarithmic axis. After warm-up: shortest {}, median {}, p90 {}, p95 {}, p99 {}, longest {}.",
        of("min", time.and_then(|time| time.min)),
        of("p50", time.and_then(|time| time.p50)),
        of("p90", time.and_then(|time| time.p90)),
        of("p95", time.and_then(|time| time.p95)),
        of("p99", time.and_then(|time| time.p99)),
        of("max", time.and_then(|time| time.max)),
    );
    figure("plot-distribution", "distribution", &caption, &drawing, out);
    close(out);
}

/// Opens the part of memory, which the tables close.
pub(super) fn memory(report: &Report, out: &mut String) {
    open("memory", "Memory", out);
    let Some((_, series)) = series(report) else { return };
    let of = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .filter_map(|point| {
                let gauge = gauge(point)?;
                let bucket = Bucket {
                    step: point.step,
                    min: gauge.min as f64,
                    mean: gauge.mean as f64,
                    max: gauge.max as f64,
                };
                Some((bucket, gauge.count))
            })
            .collect();
        buckets(&points)
    };
    let (live, rss) = (of(|point| point.live_bytes), of(|point| point.rss_bytes));
    let all = [
        Line { label: "Resident", color: 2, buckets: &rss },
        Line { label: "Live", color: 3, buckets: &live },
    ];
    let lines: Vec<Line<'_>> = all.into_iter().filter(|line| !line.buckets.is_empty()).collect();
    if lines.is_empty() {
        return paragraph("No step says how much memory there was.", out);
    }
    let mut drawing = String::new();
    bands("Memory at the ends of steps, over step numbers", &lines, 1_024.0, bytes, &mut drawing);
    let keys: Vec<String> =
        lines.iter().map(|line| format!("{}{}", svg::key(line.color), line.label)).collect();
    let caption = format!(
        "Memory at the ends of steps: {}. Live is what the program allocated and did not free; resident is what the \
         system gave it.",
        keys.join(", ")
    );
    figure("plot-memory", "memory", &caption, &drawing, out);
}

pub(super) fn values(report: &Report, out: &mut String) {
    let values = &report.detailed_metrics.values;
    if values.is_empty() {
        return;
    }
    open("values", "Values", out);
    for (at, series) in values.iter().enumerate() {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .filter(|point| point.mean.is_finite())
            .map(|point| {
                let bucket = Bucket { step: point.step, min: point.min, mean: point.mean, max: point.max };
                (bucket, point.count)
            })
            .collect();
        let merged = buckets(&points);
        let place = format!("detailed_metrics/values/{at}");
        let last = series.points.last();
        let shown = last.map(|point| {
            super::page::figure(
                &format!("{place}/points/{}/mean", series.points.len() - 1),
                point.mean,
                &plain(point.mean),
            )
        });
        let mut drawing = String::new();
        svg::line(&series.name, &merged, &mut drawing);
        let caption = format!(
            "{} over step numbers; at the end {}. Values that are no numbers: {}.",
            super::page::code(&series.name),
            shown.as_deref().unwrap_or(super::page::UNKNOWN),
            count(&format!("{place}/not_finite"), series.not_finite)
        );
        figure(&format!("plot-value-{at}"), &format!("value-{at}"), &caption, &drawing, out);
    }
    close(out);
}

/// Four significant digits.
pub(super) fn plain(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        let digits = (3 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", digits as usize)
    } else {
        format!("{value:.3e}")
    }
}
