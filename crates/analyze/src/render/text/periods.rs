//! Steps that take longer every so often.

use super::page::{Look, Page};
use crate::render::common::periods::{because, cost, much, section, shown, told};
use crate::report::Report;
use crate::report::names;
use crate::report::units::{count, duration, every_step, things};

pub(super) fn render(report: &Report, page: &mut Page) {
    let Some((_, periodic)) = shown(report) else { return };
    page.heading("Periodic steps (no outliers)");
    for (_, period, median_ns) in told(periodic) {
        let mut text = format!(
            "{} is {}: {} instead of {}, {}, from step {} on",
            every_step(period.every),
            much(periodic, median_ns),
            duration(median_ns),
            periodic.usual.p50.map_or_else(|| "-".into(), duration),
            things(period.steps, "step", "steps"),
            count(period.first_step)
        );
        let because = because(period);
        if !because.is_empty() {
            let path = section(report, periodic, period).map(|row| format!(" in {}", names::path(&row.path)));
            text.push_str(&format!("; most of it: {because}{}", path.unwrap_or_default()));
        }
        text.push_str(&format!("; what they take more is {}", cost(periodic, period)));
        page.paragraph(Look::Plain, "  ", &text);
    }
}
