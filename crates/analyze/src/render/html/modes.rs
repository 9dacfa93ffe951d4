//! Steps of all modes, where there are several: evaluation beside training.

use super::page::{code, count, escape, known, ns, table};
use crate::render::common::modes;
use crate::report::Report;
use crate::report::units::{duration, percent};

pub(super) fn table_of(report: &Report, out: &mut String) {
    let rows = modes::several(report).into_iter().map(|(at, mode, share)| {
        let place = format!("detailed_metrics/modes/{at}");
        let of = |name: &str| format!("{place}/steady/{name}");
        let stats = &mode.steady;
        [
            code(mode.mode.as_str()),
            count(&of("count"), stats.count),
            ns(&of("p50"), stats.p50),
            ns(&of("p95"), stats.p95),
            known(&of("mean"), stats.mean, |mean| duration(mean.round() as u64)),
            ns(&of("max"), stats.max),
            ns(&format!("{place}/steady_ns"), mode.steady_ns),
            escape(&percent(share)),
        ]
    });
    table(
        "Steps by mode, without warm-up",
        ["Mode", ">Steps", ">Median", ">p95", ">Mean", ">Longest", ">Time", ">Share"],
        rows,
        out,
    );
}
