//! How long steps take: the number of steps by their time.

use super::cell::{count, ns};
use super::plot::Plot;
use super::series::primary;
use super::{Cell, Document, Shown, cells};
use crate::report::Report;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if !report.has_steps() {
        return;
    }
    doc.part("distribution", "Distribution", "Distribution of step times");
    let Some((at, mode)) = primary(report).filter(|(_, mode)| !mode.distribution.is_empty()) else {
        return doc.say(Shown::HTML, "No step is known to have ended after warm-up.");
    };
    let time = report.summary.step_time.unwrap_or_default();
    let named = [
        ("Shortest", "min", time.min),
        ("median", "p50", time.p50),
        ("p90", "p90", time.p90),
        ("p95", "p95", time.p95),
        ("p99", "p99", time.p99),
        ("longest", "max", time.max),
    ];
    let quantiles = named
        .map(|(name, at, value)| cells![format!("{name} "), ns(value).at(format!("summary/step_time/{at}"))]);
    doc.plot(Plot {
        id: "distribution".into(),
        title: "Number of steps by step time".into(),
        heading: Cell::Empty,
        caption: cells![
            "Steps after warm-up by their time, on a logarithmic axis: each bar is as high as there are steps between its \
             ends, and at least just visible. ",
            Cell::joined(quantiles, ", "),
            "."
        ],
    });
    doc.details("distribution-rows", "The bars as a table", |doc| {
        doc.table(Shown::HTML, "Steps by their time", mode.distribution.iter().enumerate())
            .below(format!("detailed_metrics/modes/{at}/distribution"))
            .at(|(n, _)| n.to_string())
            .column(Shown::HTML, ">From", "from_ns", |(_, bucket)| ns(bucket.from_ns))
            .column(Shown::HTML, ">To", "to_ns", |(_, bucket)| ns(bucket.to_ns))
            .column(Shown::HTML, ">Steps", "count", |(_, bucket)| count(bucket.count))
            .end();
    });
}
