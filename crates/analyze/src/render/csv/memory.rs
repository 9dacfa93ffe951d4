//! Tables of memory: trends over the steps, what processes say, what grows.

use super::table::{Cell, Named, Table};
use crate::render::common::names::word;
use crate::report::{Leak, Report};
use crate::summary::{ProcessMemory, Trend, TrendPair};

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
    let ranges: [Named<TrendPair, Option<Trend>>; 2] =
        [("whole", |pair| pair.whole), ("tail", |pair| pair.tail)];
    for (name, trend) in ranges {
        let of = move |row: &(&str, &TrendPair), figure: fn(Trend) -> Cell| {
            trend(row.1).map_or(Cell::Empty, figure)
        };
        table = table
            .column(format!("{name}_points"), move |row| of(row, |trend| trend.n.into()))
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
    table.of(rows)
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
