//! Numbers of steps by their time, on a logarithmic axis.

use super::axis::{Axis, BOTTOM, HEIGHT, logarithmic, short};
use super::escape::escape;
use super::svg;
use crate::document::palette;
use crate::report::units::{count, duration};
use crate::summary::DurationBucket;

/// Room above the bars for the names of the marks, which so lie on none.
const TOP: f64 = 46.0;

/// The least height of a bar, so that a few steps of many are seen.
const LEAST: f64 = 2.0;

/// The least ratio of the axis' ends, so that equal steps are no wall.
const RATIO: f64 = 1.5;

/// A logarithmic axis of durations.
struct Times {
    low: f64,
    high: f64,
}

impl Times {
    /// Around all of them.
    fn around(buckets: &[DurationBucket]) -> Self {
        let low = buckets.first().map_or(1.0, left);
        let high = buckets.last().map_or(1.0, right);
        let more = (RATIO / (high / low)).sqrt().max(1.0);
        Self { low: (low / more).max(1.0), high: high * more }
    }

    /// Where it is, from 0 to 1.
    fn share(&self, ns: f64) -> f64 {
        ((ns.max(1.0) / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }
}

/// Where a bar begins; a logarithmic axis has no zero.
fn left(bucket: &DurationBucket) -> f64 {
    bucket.from_ns.max(1) as f64
}

/// Where it ends, which is where the next one begins.
fn right(bucket: &DurationBucket) -> f64 {
    bucket.to_ns as f64 + 1.0
}

pub(super) fn draw(buckets: &[DurationBucket], marks: &[(&str, Option<u64>)], out: &mut String) {
    let times = Times::around(buckets);
    let tallest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(1);
    let axis = Axis::to(tallest as f64, 10.0);
    let y = |steps: f64| HEIGHT - BOTTOM - axis.share(steps) * (HEIGHT - TOP - BOTTOM);
    svg::open("", "Number of steps by step time", HEIGHT, out);
    for tick in &axis.ticks {
        svg::level(y(*tick), &count(*tick as u64), out);
    }
    out.push_str(&format!("<g class=\"{}\">\n", palette::STEP));
    for bucket in buckets {
        let top = y(bucket.count as f64).min(HEIGHT - BOTTOM - LEAST);
        let (from, to) = (times.share(left(bucket)), times.share(right(bucket)));
        out.push_str(&format!(
            "<rect x=\"{:.2}%\" y=\"{top:.1}\" width=\"{:.2}%\" height=\"{:.1}\"><title>{} to {}: {}</title></rect>\n",
            100.0 * from,
            100.0 * (to - from),
            HEIGHT - BOTTOM - top,
            escape(&duration(bucket.from_ns)),
            escape(&duration(bucket.to_ns)),
            count(bucket.count)
        ));
    }
    out.push_str("</g>\n");
    for (at, tick) in logarithmic(times.low, times.high).into_iter().enumerate() {
        svg::below(at, times.share(tick), &short(&duration(tick.round() as u64)), out);
    }
    for (row, (name, value)) in marks.iter().enumerate() {
        let Some(at) = value.map(|value| times.share(value as f64)) else { continue };
        let (anchor, shift) = if at > 0.6 { ("end", -4) } else { ("start", 4) };
        out.push_str(&format!(
            "<line class=\"mark\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{:.0}\" y2=\"{:.0}\"/>\
             <text class=\"tick percentile\" x=\"{x:.2}%\" dx=\"{shift}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{name}</text>\n",
            2 + 14 * row,
            HEIGHT - BOTTOM,
            12 + 14 * row,
            x = 100.0 * at,
        ));
    }
    out.push_str("</svg>\n");
}
