//! Figures over step numbers, drawn small: step times, waiting, memory, what sections hold, the user's own values. The script draws the same data again, with zoom. Which columns belong to which plot is said in
//! `data-plot`, which names a plot of the data.

use std::collections::BTreeSet;

use stepscope_core::Phase;

use super::axis::Axis;
use super::drawn;
use super::marks::Marks;
use super::page::{close, count, escape, ns, open, paragraph};
use super::palette::{self, Palette};
use super::svg::{self, Bucket, Line, Range, Scale, bands, buckets, buckets_within};
use super::{changes, periods};
use crate::accumulate::step_series;
use crate::report::Report;
use crate::report::units::{bytes, duration};
use crate::summary::{Gauge, HeldPoint, HeldSeries, PhasePoint, PhaseSeries, SeriesPoint, StepSeries};

/// Buckets of areas, of which there are as many as phases. The script draws as many.
const AREA_BUCKETS: usize = 200;

/// The series of the report's mode, and its place.
pub(super) fn series(report: &Report) -> Option<(usize, &StepSeries)> {
    let all = report.detailed_metrics.series.iter().enumerate();
    all.into_iter().find(|(_, row)| Some(row.mode.as_str()) == report.summary.mode && !row.points.is_empty())
}

/// The steps that all plots show, whatever each has figures of: evaluation at the end has step numbers of its own. As
/// with scripts, where one zoom is that of all plots.
pub(super) fn steps_shown(report: &Report) -> Range {
    let phases = phase_series(report).map(|(series, _)| series);
    let held = held_series(report);
    let values = report.detailed_metrics.values.iter().flat_map(|series| &series.points);
    let steps =
        series(report).into_iter().flat_map(|(_, series)| series.points.iter().map(|point| point.step));
    let steps = steps
        .chain(phases.into_iter().flat_map(|series| series.points.iter().map(|point| point.step)))
        .chain(held.into_iter().flat_map(|held| held.points.iter().map(|point| point.step)))
        .chain(values.filter(|point| point.mean.is_finite()).map(|point| point.step));
    steps
        .fold(None, |ends: Option<Range>, step| {
            Some(ends.map_or((step, step), |(first, last)| (first.min(step), last.max(step))))
        })
        .unwrap_or_default()
}

fn mean(point: &SeriesPoint) -> f64 {
    point.duration_sum_ns as f64 / point.count.max(1) as f64
}

/// A plot with its caption; the script puts its tools beside. What has a part of the page to itself has no heading.
fn figure(id: &str, plot: &str, heading: &str, caption: &str, drawing: &str, out: &mut String) {
    let heading = if heading.is_empty() { String::new() } else { format!("<h3>{heading}</h3>\n") };
    out.push_str(&format!(
        "<figure id=\"{id}\" class=\"plot\" data-plot=\"{plot}\">\n{heading}<div class=\"tools\" hidden></div>\n\
         <div class=\"drawing\">{drawing}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"
    ));
}

const DURATION: Scale = Scale { axis: Axis::to_time, unit: duration, clips: true };

/// Step numbers that a point of a series stands for, beginning with its own: as many as its shift says, and up to the next
/// point where epochs go together, whose steps have no common shift.
pub(super) fn numbers<T>(shift: u32, points: &[T], step: impl Fn(&T) -> u64) -> u64 {
    if shift < TOGETHER {
        return step_series::numbers(shift);
    }
    let apart =
        points.windows(2).filter_map(|pair| Some(step(pair.get(1)?).saturating_sub(step(pair.first()?))));
    apart.max().unwrap_or(1)
}

/// The shift of a series in which neighbouring epochs go together.
const TOGETHER: u32 = 63;

/// Says so where a series has such points.
fn together(shift: u32) -> &'static str {
    if shift < TOGETHER {
        return "";
    }
    " There are more epochs than the plot has points: neighbouring ones go together in one."
}

pub(super) fn timeline(report: &Report, out: &mut String) {
    open("timeline", "Steps", out);
    let Some((_, series)) = series(report) else {
        paragraph("No step has a number, so nothing can be drawn over them.", out);
        return close(out);
    };
    let width = numbers(series.shift, &series.points, |point| point.step);
    let durations: Vec<(Bucket, u64)> = series
        .points
        .iter()
        .map(|point| {
            let (min, max) = (point.duration_min_ns as f64, point.duration_max_ns as f64);
            (Bucket::of(point.step, width, [min, mean(point), max]), point.count)
        })
        .collect();
    let durations = buckets(&durations);
    let mut drawing = String::new();
    let line = Line { label: "Step time", class: palette::STEP, buckets: &durations };
    let marks = Marks::of(report);
    let title = "Step time over step numbers: shortest, mean and longest";
    bands(title, steps_shown(report), &[line], &DURATION, Some(&marks), &mut drawing);
    let caption = format!(
        "Step time over step numbers. The line is the mean, the band reaches from the shortest to the longest step; the \
         median of all steps after warm-up is {}.{}{}",
        ns("summary/step_time/p50", report.summary.step_time.as_ref().and_then(|time| time.p50)),
        marks.caption(),
        together(series.shift)
    );
    figure("plot-steps", "steps", "", &caption, &drawing, out);
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
    let palette = Palette::of(report);
    // What is on top is drawn first, down to the axis, and covered by what is below it.
    let width = numbers(series.shift, &series.points, |point| point.step);
    let mut below: Vec<u64> = vec![0; series.points.len()];
    let mut layers: Vec<(&str, String, Vec<Bucket>)> = Vec::new();
    let mut add = |name, class, of: &dyn Fn(&PhasePoint) -> u64| {
        let points = series.points.iter().zip(&mut below).map(|(point, below)| {
            *below = below.saturating_add(of(point));
            let mean = *below as f64 / point.steps.max(1) as f64;
            (Bucket::of(point.step, width, [0.0, mean, mean]), point.steps)
        });
        let mut merged = buckets_within(AREA_BUCKETS, &points.collect::<Vec<_>>());
        merged.iter_mut().for_each(|bucket| bucket.max = bucket.mean);
        layers.push((name, class, merged));
    };
    for &phase in &phases {
        add(phase, palette.class(phase), &|point| exposed_ns(point, phase));
    }
    add("(no phase)", palette::NO_PHASE.into(), &|point| point.unattributed_ns);
    let lines: Vec<Line<'_>> =
        layers.iter().rev().map(|(label, class, buckets)| Line { label, class, buckets }).collect();
    let mut drawing = String::new();
    svg::areas(
        "Mean exposed time by phase over step numbers",
        steps_shown(report),
        &lines,
        &DURATION,
        &mut drawing,
    );
    let used =
        layers.iter().zip(phases.iter().map(|phase| Some(*phase)).chain([None])).filter(|(_, phase)| {
            series.points.iter().any(|point| match phase {
                Some(phase) => exposed_ns(point, phase) > 0,
                None => point.unattributed_ns > 0,
            })
        });
    let keys: Vec<String> = used.map(|((name, class, _), _)| svg::keyed(class, &escape(name))).collect();
    let caption = format!(
        "Where the time of the steps goes, from the axis up: {}. Means of steps read with all their sections.{}",
        keys.join(", "),
        together(series.shift)
    );
    figure("plot-phases", "phases", "By phase", &caption, &drawing, out);
}

pub(super) fn phases_over_steps(report: &Report, out: &mut String) {
    open("waiting", "Phases over the steps", out);
    phases(report, out);
    let Some((_, series)) = series(report) else {
        paragraph("No step has a number.", out);
        return close(out);
    };
    let width = numbers(series.shift, &series.points, |point| point.step);
    let of = |figure: fn(&SeriesPoint) -> f64| {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .map(|point| {
                let value = figure(point);
                (Bucket::of(point.step, width, [0.0, value, value]), point.count)
            })
            .collect();
        let mut merged = buckets(&points);
        // Areas of means, one before the other.
        merged.iter_mut().for_each(|bucket| bucket.max = bucket.mean);
        merged
    };
    if series.points.iter().all(|point| point.wait_ns == 0) {
        return close(out);
    }
    let step = of(mean);
    let wait = of(|point| point.wait_ns as f64 / point.count.max(1) as f64);
    let mut drawing = String::new();
    let waiting = Palette::of(report).class(Phase::DataWait.as_str());
    let lines = [
        Line { label: "Step time", class: palette::STEP, buckets: &step },
        Line { label: "Waiting for data", class: &waiting, buckets: &wait },
    ];
    let title = "Mean step time, and mean time waiting for data, over step numbers";
    bands(title, steps_shown(report), &lines, &DURATION, None, &mut drawing);
    let caption = format!(
        "{}Mean step time, and before it {}the mean time that a step waits for its data (phase <code>data_wait</code>).",
        svg::key(palette::STEP),
        svg::key(&waiting)
    );
    figure("plot-waiting", "waiting", "Waiting for data", &caption, &drawing, out);
    close(out);
}

/// Opens the part of memory, which the tables close.
pub(super) fn memory(report: &Report, out: &mut String) {
    if super::steps::is_without_memory(report) {
        return;
    }
    open("memory", "Memory", out);
    let Some((at, series)) = series(report) else { return };
    let width = numbers(series.shift, &series.points, |point| point.step);
    let of = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .filter_map(|point| {
                let gauge = gauge(point)?;
                let values = [gauge.min, gauge.mean, gauge.max].map(|bytes| bytes as f64);
                Some((Bucket::of(point.step, width, values), gauge.count))
            })
            .collect();
        buckets(&points)
    };
    let (live, rss) = (of(|point| point.live_bytes), of(|point| point.rss_bytes));
    let all = [
        Line { label: "Resident", class: palette::RESIDENT, buckets: &rss },
        Line { label: "Live", class: palette::LIVE, buckets: &live },
    ];
    let lines: Vec<Line<'_>> = all.into_iter().filter(|line| !line.buckets.is_empty()).collect();
    if lines.is_empty() {
        if report.memory.is_some() {
            paragraph("No step says how much memory there was.", out);
        }
        return held(report, out);
    }
    let mut drawing = String::new();
    let scale = Scale { axis: |max| Axis::to(max, 1_024.0), unit: bytes, clips: false };
    bands(
        "Memory at the ends of steps, over step numbers",
        steps_shown(report),
        &lines,
        &scale,
        None,
        &mut drawing,
    );
    let keys: Vec<String> = lines.iter().map(|line| svg::keyed(line.class, line.label)).collect();
    let caption = format!(
        "Memory at the ends of steps: {}. Live is what the program allocated and did not free; resident is what the \
         system gave it.{}",
        keys.join(", "),
        peak(at, series)
    );
    figure("plot-memory", "memory", "At the ends of steps", &caption, &drawing, out);
    held(report, out);
}

/// Where most memory was, with a link that moves the cursor of all plots there.
fn peak(at: usize, series: &StepSeries) -> String {
    type Figure = fn(&SeriesPoint) -> Option<Gauge>;
    let live: Figure = |point| point.live_bytes;
    let figures = [("live_bytes", "live", live), ("rss_bytes", "resident", |point| point.rss_bytes)];
    let most = |gauge: Figure| {
        let known = series.points.iter().enumerate().filter_map(|(n, point)| Some((gauge(point)?.max, n)));
        // Of equals the first.
        known.rev().max_by_key(|&(max, _)| max)
    };
    let found = figures.into_iter().find_map(|(name, word, gauge)| Some((name, word, most(gauge)?)));
    let Some((name, word, (max, n))) = found else { return String::new() };
    let Some(point) = series.points.get(n) else { return String::new() };
    let place = format!("detailed_metrics/series/{at}/points/{n}");
    format!(
        " Most {word} memory was <a href=\"#plot-memory\" data-look=\"{}\">at step {}</a>: {}.",
        point.step,
        count(&format!("{place}/step"), point.step),
        super::page::bytes(&format!("{place}/{name}/max"), max)
    )
}

/// What sections hold over the steps.
pub(super) fn held_series(report: &Report) -> Option<&HeldSeries> {
    report.memory.as_ref()?.by_section.as_ref().filter(|held| !held.points.is_empty())
}

/// The lines of what sections hold: names, classes, and bytes by point; those that hold least come first and lie below.
pub(super) fn held_lines(held: &HeldSeries) -> Vec<(String, String, Vec<i64>)> {
    let paths: Vec<&str> = held.sections.iter().map(|section| section.path.as_str()).collect();
    let of = |bytes: &dyn Fn(&HeldPoint) -> i64| held.points.iter().map(bytes).collect::<Vec<i64>>();
    let mut lines = vec![
        ("All sections".to_owned(), palette::HELD.to_owned(), of(&|point| point.held_bytes)),
        ("All others".to_owned(), palette::HELD_OTHER.to_owned(), of(&|point| point.other_bytes)),
    ];
    let sections = held.sections.iter().zip(palette::of_sections(&paths)).enumerate().rev();
    lines.extend(sections.map(|(at, (section, class))| {
        let inside = if section.with_inside { ", with all inside" } else { "" };
        let bytes = of(&|point| point.sections.get(at).copied().unwrap_or(0));
        (format!("{}{inside}", section.path), class, bytes)
    }));
    lines
}

fn held(report: &Report, out: &mut String) {
    let Some(held) = held_series(report) else { return };
    let lines = held_lines(held);
    let width = numbers(held.shift, &held.points, |point| point.step);
    let merged: Vec<Vec<Bucket>> = lines
        .iter()
        .map(|(_, _, bytes)| {
            let points = held.points.iter().zip(bytes).map(|(point, &bytes)| {
                let bytes = bytes as f64;
                (Bucket::of(point.step, width, [bytes; 3]), 1)
            });
            buckets_within(svg::buckets_of_each(lines.len()), &points.collect::<Vec<_>>())
        })
        .collect();
    let drawn: Vec<Line<'_>> = lines
        .iter()
        .zip(&merged)
        .map(|((label, class, _), buckets)| Line { label, class, buckets })
        .collect();
    let mut drawing = String::new();
    svg::signed("Memory that sections hold, over step numbers", steps_shown(report), &drawn, &mut drawing);
    let keys: Vec<String> = lines
        .iter()
        .rev()
        .map(|(label, class, _)| svg::keyed_line(class, &escape(label).replace('/', "/<wbr>")))
        .collect();
    let mut caption = format!(
        "Memory that sections hold: allocated by them and not freed by them since the run began. {}. Where one \
         rises and all together stay level, others free what it allocates, and fall. What other threads do is at the \
         step in which it ended.",
        keys.join(", ")
    );
    if report.summary.coverage.partly_read().is_some() {
        caption.push_str(" Only steps that were read count.");
    }
    if !held.untold.is_empty() {
        let paths: Vec<String> = held.untold.iter().map(|path| super::page::path(path)).collect();
        caption
            .push_str(&format!(" Not told, because steps or batches may be inside: {}.", paths.join(", ")));
    }
    caption.push_str(together(held.shift));
    figure("plot-held", "held", "Held by sections", &caption, &drawing, out);
}

/// Where the page has fewer points of a value than the report.
const COARSER: &str =
    " With so many values the page has fewer points of each than the JSON report and the tables.";

pub(super) fn values(report: &Report, out: &mut String) {
    let values = &report.detailed_metrics.values;
    if values.is_empty() {
        return;
    }
    open("values", "Values", out);
    for (at, series) in values.iter().enumerate() {
        let width = numbers(series.shift, &series.points, |point| point.step);
        let points: Vec<(Bucket, u64)> = series
            .points
            .iter()
            .filter(|point| point.mean.is_finite())
            .map(|point| (Bucket::of(point.step, width, [point.min, point.mean, point.max]), point.count))
            .collect();
        let merged = buckets_within(svg::buckets_of_each(values.len()), &points);
        let place = format!("detailed_metrics/values/{at}");
        let last = series.points.last();
        let shown = last.map(|point| {
            super::page::figure(
                &format!("{place}/points/{}/mean", series.points.len() - 1),
                point.mean,
                &plain(point.mean),
            )
        });
        let not_finite = (series.not_finite > 0).then(|| {
            format!(
                " Values that are no numbers: {}.",
                count(&format!("{place}/not_finite"), series.not_finite)
            )
        });
        let mut drawing = String::new();
        svg::line(
            &format!("{} over step numbers", series.name),
            steps_shown(report),
            palette::VALUE,
            &merged,
            &mut drawing,
        );
        let is_coarser = drawn::drawn(series, values.len()).is_coarser;
        let coarser = if is_coarser { COARSER } else { "" };
        let caption = format!(
            "{} over step numbers; at the end {}.{}{}{coarser}",
            super::page::code(&series.name),
            shown.as_deref().unwrap_or(super::page::UNKNOWN),
            not_finite.unwrap_or_default(),
            together(series.shift)
        );
        let heading = super::page::code(&series.name);
        figure(&format!("plot-value-{at}"), &format!("value-{at}"), &heading, &caption, &drawing, out);
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
