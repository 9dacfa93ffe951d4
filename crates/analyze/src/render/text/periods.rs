//! Steps that take longer every so often.

use super::page::{Look, Page};
use crate::render::common::periods::{because, much, shown, steps, told};
use crate::report::Report;
use crate::report::units::{count, duration, things};

pub(super) fn render(report: &Report, page: &mut Page) {
    let Some((_, periodic)) = shown(report) else { return };
    page.heading("Periodic steps (no outliers)");
    for (_, period, median_ns) in told(periodic) {
        let mut text = format!(
            "{} is {}: {} instead of {}, {}, from step {} on",
            steps(period.every),
            much(periodic, median_ns),
            duration(median_ns),
            periodic.usual.p50.map_or_else(|| "-".into(), duration),
            things(period.steps, "step", "steps"),
            count(period.first_step)
        );
        let because = because(period);
        if !because.is_empty() {
            text.push_str(&format!("; most of it: {because}"));
        }
        page.paragraph(Look::Plain, "  ", &text);
    }
}
