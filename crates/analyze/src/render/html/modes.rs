//! Steps of all modes, where there are several: evaluation beside training.

use super::page::{code, count, escape, known, ns, table};
use crate::render::common::modes;
use crate::report::Report;
use crate::report::units::{duration, percent};

pub(super) fn table_of(report: &Report, out: &mut String) {
    let rows = modes::several(report).into_iter().map(|(at, mode, share)| {
        let stats = &mode.steady;
        let cells = [
            code(mode.mode.as_str()),
            count("steady/count", stats.count),
            ns("steady/p50", stats.p50),
            ns("steady/p95", stats.p95),
            known("steady/mean", stats.mean, |mean| duration(mean.round() as u64)),
            ns("steady/max", stats.max),
            ns("steady_ns", mode.steady_ns),
            escape(&percent(share)),
        ];
        (format!("detailed_metrics/modes/{at}"), cells)
    });
    table(
        "Steps by mode, without warm-up",
        ["Mode", ">Steps", ">Median", ">p95", ">Mean", ">Longest", ">Time", ">Share"],
        rows,
        out,
    );
}
