//! Small drawings: bars, and bands of smallest, mean and largest over step numbers. Looks come from classes and
//! presentation attributes, since the page's policy drops style attributes. No words of the report.

use super::page::escape;
use crate::report::units::{count, percent};

/// Colours that the style knows.
const COLORS: usize = 8;

/// Size of a plot and its margins, in its own units.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 74.0;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 10.0;
const RIGHT: f64 = 12.0;

/// Buckets of a plot: more than a page shows nobody sees.
pub(super) const BUCKETS: usize = 400;

/// The figures of some neighbouring steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bucket {
    pub(super) step: u64,
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) max: f64,
}

/// At most [`BUCKETS`] of any number of points, each with a weight: smallest of the smallest, largest of the largest,
/// mean of all, so that no outlier is lost.
pub(super) fn buckets(points: &[(Bucket, u64)]) -> Vec<Bucket> {
    buckets_within(BUCKETS, points)
}

/// The same with at most `most`.
pub(super) fn buckets_within(most: usize, points: &[(Bucket, u64)]) -> Vec<Bucket> {
    let size = points.len().div_ceil(most.max(1)).max(1);
    let merged = points.chunks(size).filter_map(|chunk| {
        let (first, _) = chunk.first()?;
        let weight: f64 = chunk.iter().map(|(_, weight)| *weight as f64).sum();
        let sum: f64 = chunk.iter().map(|(point, weight)| point.mean * *weight as f64).sum();
        Some(Bucket {
            step: first.step,
            min: chunk.iter().map(|(point, _)| point.min).fold(f64::INFINITY, f64::min),
            mean: if weight > 0.0 { sum / weight } else { first.mean },
            max: chunk.iter().map(|(point, _)| point.max).fold(f64::NEG_INFINITY, f64::max),
        })
    });
    merged.collect()
}

pub(super) fn color(at: usize) -> String {
    format!("c{}", at % COLORS)
}

/// The colour of a row, beside its name.
pub(super) fn key(at: usize) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{}\" width=\"10\" height=\"10\"/></svg> ",
        color(at)
    )
}

/// A bar of a share of one.
pub(super) fn bar(share: f64, at: usize) -> String {
    let width = if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 };
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"{}\" width=\"{width:.2}\" height=\"10\"/></svg>",
        color(at)
    )
}

/// Parts of a whole in one bar.
pub(super) fn stack(parts: &[(&str, u64)], whole: u64, out: &mut String) {
    let share = |part: u64| part as f64 / whole.max(1) as f64;
    let said: Vec<String> = parts
        .iter()
        .filter(|part| part.1 > 0)
        .map(|(name, part)| format!("{} {}", escape(name), escape(&percent(share(*part)))))
        .collect();
    out.push_str(&format!(
        "<svg class=\"stack\" viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n",
        said.join(", ")
    ));
    let mut x = 0.0;
    for (at, (name, part)) in parts.iter().enumerate() {
        let width = 1_000.0 * share(*part);
        if *part > 0 {
            out.push_str(&format!(
                "<rect class=\"{}\" x=\"{x:.2}\" width=\"{:.2}\" height=\"40\"><title>{} {}</title></rect>\n",
                color(at),
                (width - 1.0).max(0.5),
                escape(name),
                escape(&percent(share(*part)))
            ));
        }
        x += width;
    }
    out.push_str("</svg>\n");
}

/// One series of a plot.
pub(super) struct Line<'a> {
    pub(super) label: &'a str,
    pub(super) color: usize,
    pub(super) buckets: &'a [Bucket],
}

/// Values of equal distance from zero to at least `max`, in steps of 1, 2 or 5 of a power of ten (of `base`).
fn ticks(max: f64, base: f64) -> Vec<f64> {
    if !(max.is_finite() && max > 0.0) {
        return vec![0.0];
    }
    let rough = max / 4.0;
    let unit = base.powf((rough.ln() / base.ln()).floor());
    let magnitude = 10_f64.powf((rough / unit).log10().floor());
    let size =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * magnitude * unit).find(|size| *size >= rough);
    let size = size.unwrap_or(max);
    (0..=5).map(|n| f64::from(n) * size).filter(|tick| *tick <= max * 1.0001).collect()
}

/// Bands over step numbers from zero to the largest value; words of a value by `unit`, whose prefixes are powers of
/// `base`.
pub(super) fn bands(title: &str, lines: &[Line<'_>], base: f64, unit: fn(u64) -> String, out: &mut String) {
    plot(false, title, lines, base, unit, out);
}

/// The same of opaque areas of means from zero: the later ones cover the earlier.
pub(super) fn areas(title: &str, lines: &[Line<'_>], base: f64, unit: fn(u64) -> String, out: &mut String) {
    plot(true, title, lines, base, unit, out);
}

fn plot(
    is_area: bool,
    title: &str,
    lines: &[Line<'_>],
    base: f64,
    unit: fn(u64) -> String,
    out: &mut String,
) {
    let all = || lines.iter().flat_map(|line| line.buckets);
    let max = all().map(|bucket| bucket.max).fold(0.0, f64::max).max(1.0);
    let first = all().map(|bucket| bucket.step).min().unwrap_or(0);
    let last = all().map(|bucket| bucket.step).max().unwrap_or(0);
    let span = (last - first).max(1) as f64;
    let x = |step: u64| LEFT + (step - first) as f64 / span * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value / max).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM);
    out.push_str(&format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    ));
    for tick in ticks(max, base) {
        let at = y(tick);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            escape(&unit(tick as u64))
        ));
    }
    for (step, anchor) in [(first, "start"), (last, "end")] {
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">step {}</text>\n",
            x(step),
            HEIGHT - 8.0,
            count(step)
        ));
    }
    for line in lines.iter().filter(|_| is_area) {
        let (Some(first), Some(last)) = (line.buckets.first(), line.buckets.last()) else { continue };
        let top: Vec<String> =
            line.buckets.iter().map(|one| format!("{:.0},{:.1}", x(one.step), y(one.mean))).collect();
        out.push_str(&format!(
            "<polygon class=\"area {}\" points=\"{} {:.0},{:.0} {:.0},{:.0}\"><title>{}</title></polygon>\n",
            color(line.color),
            top.join(" "),
            x(last.step),
            y(0.0),
            x(first.step),
            y(0.0),
            escape(line.label)
        ));
    }
    for line in lines.iter().filter(|_| !is_area) {
        let upper: Vec<String> =
            line.buckets.iter().map(|one| format!("{:.1},{:.1}", x(one.step), y(one.max))).collect();
        let lower = line.buckets.iter().rev().map(|one| format!("{:.1},{:.1}", x(one.step), y(one.min)));
        let mean: Vec<String> =
            line.buckets.iter().map(|one| format!("{:.1},{:.1}", x(one.step), y(one.mean))).collect();
        let band: Vec<String> = upper.into_iter().chain(lower).collect();
        let color = color(line.color);
        out.push_str(&format!(
            "<polygon class=\"band {color}\" points=\"{}\"/>\n<polyline class=\"line {color}\" points=\"{}\"><title>{}</title></polyline>\n",
            band.join(" "),
            mean.join(" "),
            escape(line.label)
        ));
    }
    out.push_str("</svg>\n");
}

/// A line of values of any range and unit over step numbers.
pub(super) fn line(title: &str, buckets: &[Bucket], out: &mut String) {
    let low = buckets.iter().map(|bucket| bucket.min).fold(f64::INFINITY, f64::min);
    let high = buckets.iter().map(|bucket| bucket.max).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
    let first = buckets.first().map_or(0, |bucket| bucket.step);
    let last = buckets.last().map_or(0, |bucket| bucket.step);
    let span = last.saturating_sub(first).max(1) as f64;
    // Halves, so that the difference of the extremes of the type is finite.
    let height = (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE);
    let x = |step: u64| LEFT + step.saturating_sub(first) as f64 / span * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| {
        HEIGHT - BOTTOM - ((value / 2.0 - low / 2.0) / height).clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    };
    out.push_str(&format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} over step numbers\">\n",
        escape(title)
    ));
    for value in [low, high] {
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(value) + 4.0,
            super::plots::plain(value),
            at = y(value),
        ));
    }
    for (step, anchor) in [(first, "start"), (last, "end")] {
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">step {}</text>\n",
            x(step),
            HEIGHT - 8.0,
            count(step)
        ));
    }
    let points: Vec<String> =
        buckets.iter().map(|one| format!("{:.1},{:.1}", x(one.step), y(one.mean))).collect();
    out.push_str(&format!("<polyline class=\"line c4\" points=\"{}\"/>\n</svg>\n", points.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_lose_no_outlier() {
        let point =
            |step: u64| Bucket { step, min: 1.0, mean: 2.0, max: if step == 777 { 99.0 } else { 3.0 } };
        let points: Vec<(Bucket, u64)> = (0..10_000).map(|step| (point(step), 1)).collect();
        let buckets = buckets(&points);
        assert_eq!(buckets.len(), BUCKETS);
        assert_eq!(buckets.iter().filter(|bucket| bucket.max == 99.0).count(), 1);
        assert!(buckets.iter().all(|bucket| bucket.mean == 2.0 && bucket.min == 1.0));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(10.0, 10.0), [0.0, 5.0, 10.0]);
        assert_eq!(ticks(80e6, 10.0), [0.0, 20e6, 40e6, 60e6, 80e6]);
        assert_eq!(ticks(0.0, 10.0), [0.0]);
        assert_eq!(ticks(4096.0, 1024.0), [0.0, 1024.0, 2048.0, 3072.0, 4096.0]);
    }
}
