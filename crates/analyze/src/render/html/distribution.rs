//! How long steps take: the number of steps by their time, on a logarithmic axis, as a drawing and as a table.

use super::axis::{Axis, logarithmic, short};
use super::page::{self, close, escape, ns, open, paragraph};
use super::palette;
use super::steps::primary;
use super::svg::{self, BOTTOM, HEIGHT};
use crate::report::Report;
use crate::report::units::{count, duration};
use crate::summary::DurationBucket;

/// Room above the bars for the names of the marks, which so lie on none.
const TOP: f64 = 46.0;

/// The least height of a bar, so that a few steps of many are seen.
const LEAST: f64 = 2.0;

/// The least ratio of the axis' ends, so that equal steps are no wall.
const RATIO: f64 = 1.5;

pub(super) fn render(report: &Report, out: &mut String) {
    open("distribution", "Distribution of step times", out);
    let mode = primary(report).filter(|(_, mode)| !mode.distribution.is_empty());
    let Some((at, mode)) = mode else {
        paragraph("No step is known to have ended after warm-up.", out);
        return close(out);
    };
    let time = report.summary.step_time.as_ref();
    let of = |name: &str, value: Option<u64>| ns(&format!("summary/step_time/{name}"), value);
    let caption = format!(
        "Steps after warm-up by their time, on a logarithmic axis: each bar is as high as there are steps between its \
         ends, and at least just visible. Shortest {}, median {}, p90 {}, p95 {}, p99 {}, longest {}.",
        of("min", time.and_then(|time| time.min)),
        of("p50", time.and_then(|time| time.p50)),
        of("p90", time.and_then(|time| time.p90)),
        of("p95", time.and_then(|time| time.p95)),
        of("p99", time.and_then(|time| time.p99)),
        of("max", time.and_then(|time| time.max)),
    );
    let marks = [
        ("p50", time.and_then(|time| time.p50)),
        ("p95", time.and_then(|time| time.p95)),
        ("p99", time.and_then(|time| time.p99)),
    ];
    out.push_str(&format!(
        "<figure id=\"plot-distribution\" class=\"plot\">\n<div class=\"drawing\">{}</div>\n\
         <figcaption>{caption}</figcaption>\n</figure>\n<details><summary>The bars as a table</summary>\n<div>\n",
        drawing(&mode.distribution, marks)
    ));
    let rows = mode.distribution.iter().enumerate().map(|(at, bucket)| {
        let cells = [ns("", bucket.from_ns), ns("", bucket.to_ns), page::count("", bucket.count)];
        (page::place(&at.to_string()), cells)
    });
    let place = page::place(&format!("detailed_metrics/modes/{at}/distribution"));
    let columns = [(">From", "from_ns"), (">To", "to_ns"), (">Steps", "count")];
    page::table_with(&place, "Steps by their time", columns, rows, out);
    out.push_str("</div></details>\n");
    close(out);
}

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

fn drawing(buckets: &[DurationBucket], marks: [(&str, Option<u64>); 3]) -> String {
    let times = Times::around(buckets);
    let tallest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(1);
    let axis = Axis::to(tallest as f64, 10.0);
    let y = |steps: f64| HEIGHT - BOTTOM - axis.share(steps) * (HEIGHT - TOP - BOTTOM);
    let mut out = String::new();
    svg::open("", "Number of steps by step time", HEIGHT, &mut out);
    for tick in &axis.ticks {
        svg::level(y(*tick), &count(*tick as u64), &mut out);
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
        svg::below(at, times.share(tick), &short(&duration(tick.round() as u64)), &mut out);
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
    out
}
