//! How long steps take: the number of steps by their time, on a logarithmic axis.

use super::axis::{Axis, logarithmic, short};
use super::page::{close, escape, ns, open, paragraph};
use super::plots::{mean, series};
use super::svg::{self, BOTTOM, HEIGHT};
use crate::report::Report;
use crate::report::units::{count, duration};

/// Bins.
const BINS: usize = 48;

/// Room above the bins for the names of the marks, which so lie on none.
const TOP: f64 = 46.0;

pub(super) fn render(report: &Report, out: &mut String) {
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
    let axis = Axis::to(tallest as f64, 10.0);
    let y = |steps: f64| HEIGHT - BOTTOM - axis.share(steps) * (HEIGHT - TOP - BOTTOM);
    let mut drawing = String::new();
    svg::open("", "Number of steps by step time", HEIGHT, &mut drawing);
    for tick in axis.ticks.iter().filter(|tick| tick.fract() == 0.0) {
        svg::level(y(*tick), &count(*tick as u64), &mut drawing);
    }
    for (at, &steps) in bins.iter().enumerate().filter(|(_, steps)| **steps > 0) {
        let top = y(steps as f64).min(HEIGHT - BOTTOM - 1.0);
        let from_ns = (from + at as f64 * width).exp();
        let to_ns = (from + (at + 1) as f64 * width).exp();
        drawing.push_str(&format!(
            "<rect class=\"{}\" x=\"{:.2}%\" y=\"{top:.1}\" width=\"{:.2}%\" height=\"{:.1}\"><title>{} to {}: {}</title></rect>\n",
            super::palette::STEP,
            100.0 * at as f64 / BINS as f64,
            92.0 / BINS as f64,
            HEIGHT - BOTTOM - top,
            escape(&duration(from_ns as u64)),
            escape(&duration(to_ns as u64)),
            count(steps)
        ));
    }
    let share = |value: f64| ((value.max(1.0).ln() - from) / (to - from).max(1e-9)).clamp(0.0, 1.0);
    for (at, tick) in logarithmic(low, high).into_iter().enumerate() {
        svg::below(at, share(tick), &short(&duration(tick.round() as u64)), &mut drawing);
    }
    let time = report.summary.step_time.as_ref();
    let marks = [
        ("p50", time.and_then(|time| time.p50)),
        ("p95", time.and_then(|time| time.p95)),
        ("p99", time.and_then(|time| time.p99)),
    ];
    for (row, (name, value)) in marks.iter().enumerate() {
        let is_drawn = |value: &f64| (from..=to).contains(&value.max(1.0).ln());
        let Some(value) = value.map(|value| value as f64).filter(is_drawn) else { continue };
        let at = share(value);
        let (anchor, shift) = if at > 0.6 { ("end", -4) } else { ("start", 4) };
        drawing.push_str(&format!(
            "<line class=\"mark\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{:.0}\" y2=\"{:.0}\"/>\
             <text class=\"tick percentile\" x=\"{x:.2}%\" dx=\"{shift}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{name}</text>\n",
            2 + 14 * row,
            HEIGHT - BOTTOM,
            12 + 14 * row,
            x = 100.0 * at,
        ));
    }
    drawing.push_str("</svg>\n");
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
    out.push_str(&format!(
        "<figure id=\"plot-distribution\" class=\"plot\">\n<div class=\"drawing\">{drawing}</div>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n"
    ));
    close(out);
}
