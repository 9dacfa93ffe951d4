//! How long steps take: the number of steps by their time.

use super::cell::{count, ns};
use super::plot::{Drawing, Plot};
use super::series::primary;
use super::{Cell, Document, Shown, cells};
use crate::report::Report;

pub(super) fn tell(report: &Report, doc: &mut Document) {
    if !report.has_steps() {
        return;
    }
    doc.part("distribution", "Distribution", "Distribution of step times");
    let Some((at, mode)) = primary(report).filter(|(_, mode)| !mode.distribution.is_empty()) else {
        return doc.say(Shown::HTML, "No step is known to have ended after warm-up.");
    };
    let time = report.summary.step_time.unwrap_or_default();
    doc.plot(Plot {
        id: "plot-distribution".into(),
        data: String::new(),
        heading: Cell::Empty,
        caption: cells![
            "Steps after warm-up by their time, on a logarithmic axis: each bar is as high as there are steps between its \
             ends, and at least just visible. Shortest ",
            ns(time.min).at("summary/step_time/min"),
            ", median ",
            ns(time.p50).at("summary/step_time/p50"),
            ", p90 ",
            ns(time.p90).at("summary/step_time/p90"),
            ", p95 ",
            ns(time.p95).at("summary/step_time/p95"),
            ", p99 ",
            ns(time.p99).at("summary/step_time/p99"),
            ", longest ",
            ns(time.max).at("summary/step_time/max"),
            "."
        ],
        drawing: Drawing::Histogram {
            buckets: mode.distribution.clone(),
            marks: vec![("p50", time.p50), ("p95", time.p95), ("p99", time.p99)],
        },
    });
    doc.details("", "The bars as a table", |doc| {
        doc.table(Shown::HTML, "Steps by their time", mode.distribution.iter().enumerate())
            .below(format!("detailed_metrics/modes/{at}/distribution"))
            .at(|(n, _)| n.to_string())
            .column(Shown::HTML, ">From", "from_ns", |(_, bucket)| ns(bucket.from_ns))
            .column(Shown::HTML, ">To", "to_ns", |(_, bucket)| ns(bucket.to_ns))
            .column(Shown::HTML, ">Steps", "count", |(_, bucket)| count(bucket.count))
            .end();
    });
}
