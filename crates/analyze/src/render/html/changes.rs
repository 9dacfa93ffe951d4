//! Where step times change, below their plot.

use super::page::{code, known, ns, path, table};
use crate::render::common::changes;
use crate::report::Report;
use crate::report::units::count;
use crate::summary::ChangeKind;

pub(super) fn table_of(report: &Report, out: &mut String) {
    let rows = changes::shown(report).map(|(at, change)| {
        let step = |name: &str, step: u64| known(name, Some(step), count);
        let steps = match change.kind {
            ChangeKind::Sudden => format!("from {} on", step("step", change.step)),
            ChangeKind::Gradual => {
                format!(
                    "from {} to {}, bit by bit",
                    step("step", change.step),
                    step("to_step", change.to_step)
                )
            }
        };
        let cause = change.cause.as_ref();
        let section = cause.and_then(|cause| cause.section.as_ref());
        let phase = cause.map_or_else(
            || "not known".into(),
            |cause| match &cause.phase {
                Some(phase) if cause.is_between => format!("{} before the step", code(phase.as_str())),
                Some(phase) => code(phase.as_str()),
                None => "(no phase)".into(),
            },
        );
        let moved = |name: &str, before: Option<u64>, after: Option<u64>| {
            format!(
                "{} to {}",
                ns(&format!("{name}before_ns"), before),
                ns(&format!("{name}after_ns"), after)
            )
        };
        let cells = [
            steps,
            format!("<span class=\"word\">{}</span>", changes::much(change)),
            moved("", Some(change.before_ns), Some(change.after_ns)),
            phase,
            moved("cause/", cause.map(|cause| cause.before_ns), cause.map(|cause| cause.after_ns)),
            section.map_or_else(|| "not known".into(), |section| path(&section.path)),
            moved(
                "cause/section/",
                section.map(|section| section.before_ns),
                section.map(|section| section.after_ns),
            ),
        ];
        (format!("detailed_metrics/changes/{at}"), cells)
    });
    table(
        "Changes of the step time",
        [
            "Steps",
            "Change",
            ">Usual step",
            "Phase that moved most",
            ">In a step",
            "Section of it that moved most",
            ">In a step",
        ],
        rows,
        out,
    );
}
