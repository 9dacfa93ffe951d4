//! Steps that take longer every so often, below the plot of steps.

use super::page::{code, count, known, ns, table};
use crate::render::common::periods;
use crate::report::Report;
use crate::report::units::every_step;

pub(super) fn table_of(report: &Report, out: &mut String) {
    let Some((at, periodic)) = periods::shown(report) else { return };
    let rows = periods::told(periodic).map(|(n, period, median_ns)| {
        let of = |name: &str| format!("periods/{n}/{name}");
        let cause = period.cause.as_ref();
        let phase = cause.map_or_else(
            || "not known".into(),
            |cause| cause.phase.as_ref().map_or_else(|| "(no phase)".into(), |phase| code(phase.as_str())),
        );
        let cells = [
            known(&of("every"), Some(period.every), every_step),
            count(&of("first_step"), period.first_step),
            count(&of("steps"), period.steps),
            format!("<span class=\"word\">{}</span>", periods::much(periodic, median_ns)),
            ns(&of("median_ns"), median_ns),
            ns("usual/p50", periodic.usual.p50),
            phase,
            ns(&of("cause/usual_ns"), cause.map(|cause| cause.usual_ns)),
            ns(&of("cause/periodic_ns"), cause.map(|cause| cause.periodic_ns)),
        ];
        (format!("detailed_metrics/periodic/{at}"), cells)
    });
    table(
        "Periodic steps: no outliers, though they take longer",
        [
            "Which",
            ">First",
            ">Steps",
            "Are",
            ">Median",
            ">Usual step",
            "Phase that takes most of it",
            ">In a usual step",
            ">In such a step",
        ],
        rows,
        out,
    );
}
