//! Tables of memory: trends over the steps, what processes say, what sections hold, what grows.

use super::table::{Cell, Named, Table};
use crate::render::common::names::word;
use crate::report::{Leak, Report};
use crate::summary::{HeldFigures, HeldPoint, HeldSection, HeldSeries, ProcessMemory, Trend, TrendPair};

/// A row a kind of memory: `live` by the counting allocator, `rss` resident.
pub(super) fn trends(report: &Report) -> String {
    let rows = report.memory.iter().flat_map(|memory| {
        let kinds = [("live", memory.live.as_ref()), ("rss", memory.rss.as_ref())];
        kinds.into_iter().filter_map(|(name, pair)| Some((name, pair?)))
    });
    let mut table = Table::<(&str, &TrendPair)>::new()
        .column("memory", |row| row.0.into())
        .column("first_bytes", |row| row.1.first_bytes.into())
        .column("last_bytes", |row| row.1.last_bytes.into())
        .column("max_bytes", |row| row.1.max_bytes.into());
    let ranges: [Named<TrendPair, Option<Trend>>; 4] = [
        ("whole", |pair| pair.whole),
        ("tail", |pair| pair.tail),
        ("late", |pair| pair.late.map(|late| late.growth)),
        ("late_tail", |pair| pair.late.map(|late| late.tail)),
    ];
    for (name, trend) in ranges {
        let of = move |row: &(&str, &TrendPair), figure: fn(Trend) -> Cell| {
            trend(row.1).map_or(Cell::Empty, figure)
        };
        table = table
            .column(format!("{name}_points"), move |row| of(row, |trend| trend.n.into()))
            .column(format!("{name}_from_step"), move |row| of(row, |trend| trend.from_step.into()))
            .column(format!("{name}_to_step"), move |row| of(row, |trend| trend.to_step.into()))
            .column(format!("{name}_first_bytes"), move |row| of(row, |trend| trend.first_bytes.into()))
            .column(format!("{name}_last_bytes"), move |row| of(row, |trend| trend.last_bytes.into()))
            .column(format!("{name}_slope_bytes_per_step"), move |row| {
                of(row, |trend| trend.slope_per_step.into())
            })
            .column(format!("{name}_low_bytes_per_step"), move |row| {
                of(row, |trend| trend.confidence_interval.0.into())
            })
            .column(format!("{name}_high_bytes_per_step"), move |row| {
                of(row, |trend| trend.confidence_interval.1.into())
            })
            .column(format!("{name}_p_value"), move |row| of(row, |trend| trend.p_value.into()));
    }
    table.column("late_freed_bytes", |row| row.1.late.map(|late| late.freed_bytes).into()).of(rows)
}

pub(super) fn processes(report: &Report) -> String {
    Table::<&ProcessMemory>::new()
        .column("rank", |row| row.rank.into())
        .column("host", |row| row.host.as_str().into())
        .column("rss_last_bytes", |row| row.rss_last_bytes.into())
        .column("rss_max_bytes", |row| row.rss_max_bytes.into())
        .column("live_last_bytes", |row| row.live_last_bytes.into())
        .column("live_max_bytes", |row| row.live_max_bytes.into())
        .of(report.memory.iter().flat_map(|memory| &memory.processes))
}

fn held(report: &Report) -> Option<&HeldSeries> {
    report.memory.as_ref()?.by_section.as_ref()
}

/// A row a section that holds much; then one of all others and one of all.
pub(super) fn sections(report: &Report) -> String {
    let rows = held(report).into_iter().flat_map(|held| {
        let sections = held.sections.iter().map(|one| ("section", Some(one), one.figures));
        sections.chain([("other", None, held.other), ("total", None, held.total)])
    });
    Table::<(&str, Option<&HeldSection>, HeldFigures)>::new()
        .column("what", |row| row.0.into())
        .column("section", |row| row.1.map(|one| one.path.as_str()).into())
        .column("with_inside", |row| row.1.map(|one| one.with_inside).into())
        .column("first_bytes", |row| row.2.first_bytes.into())
        .column("last_bytes", |row| row.2.last_bytes.into())
        .column("peak_bytes", |row| row.2.peak_bytes.into())
        .column("peak_step", |row| row.2.peak_step.into())
        .of(rows)
}

/// A row for each section of a point that holds much, and one without a section for all others.
pub(super) fn held_over_steps(report: &Report) -> String {
    let points = held(report).into_iter().flat_map(|held| held.points.iter().map(move |point| (held, point)));
    let rows = points.flat_map(|(held, point)| {
        let sections = held.sections.iter().zip(&point.sections);
        let sections = sections.map(|(section, &bytes)| (Some(section.path.as_str()), bytes));
        sections.chain([(None, point.other_bytes)]).map(move |(section, bytes)| (held, point, section, bytes))
    });
    Table::<(&HeldSeries, &HeldPoint, Option<&str>, i64)>::new()
        .column("mode", |row| row.0.mode.as_str().into())
        .column("step", |row| row.1.step.into())
        .column("step_numbers", |row| 1_u64.checked_shl(row.0.shift).into())
        .column("all_net_bytes", |row| row.1.net_bytes.into())
        .column("all_held_bytes", |row| row.1.held_bytes.into())
        .column("section", |row| row.2.into())
        .column("held_bytes", |row| row.3.into())
        .of(rows)
}

pub(super) fn leaks(report: &Report) -> String {
    Table::<&Leak>::new()
        .column("section", |row| row.section.as_ref().into())
        .column("verdict", |row| word(&row.verdict).into())
        .column("bytes_per_step", |row| row.bytes_per_step.into())
        .column("low_bytes_per_step", |row| row.confidence_interval.0.into())
        .column("high_bytes_per_step", |row| row.confidence_interval.1.into())
        .column("p_value", |row| row.p_value.into())
        .column("live_bytes", |row| row.live_bytes.into())
        .of(&report.leaks)
}
