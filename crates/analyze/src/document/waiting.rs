//! Phases over the steps, and the time that steps wait for their data.

use stepscope_core::Phase;

use super::cell::keyed;
use super::palette::{NO_PHASE as PLAIN, STEP};
use super::plot::Plot;
use super::series::{phase_series, series, together};
use super::{Cell, Document, Palette, Shown, cells};
use crate::report::Report;
use crate::summary::PhaseSeries;

pub(super) fn fill(report: &Report, doc: &mut Document) {
    if !report.has_steps() {
        return;
    }
    doc.part("waiting", "", "Phases over the steps");
    let palette = Palette::of(report);
    match phase_series(report) {
        Some((series, phases)) => doc.plot(by_phase(series, &phases, &palette)),
        None => doc.say(Shown::HTML, "No step that has a number was read with all its sections."),
    }
    let is_waiting =
        series(report).is_some_and(|(_, series)| series.points.iter().any(|point| point.wait_ns > 0));
    if !is_waiting {
        return;
    }
    doc.plot(Plot {
        id: "waiting".into(),
        title: "Mean step time, and mean time waiting for data, over step numbers".into(),
        heading: "Waiting for data".into(),
        caption: cells![
            Cell::Swatch(STEP.into()),
            "Mean step time, and before it ",
            Cell::Swatch(palette.class(Phase::DataWait.as_str())),
            "the mean time that a step waits for its data (phase `data_wait`)."
        ],
    });
}

fn by_phase(series: &PhaseSeries, phases: &[&str], palette: &Palette<'_>) -> Plot {
    let is_used = |phase: &&str| {
        let mut exposed = series.points.iter().flat_map(|point| &point.exposed);
        exposed.any(|time| time.phase.as_str() == *phase && time.exposed_ns > 0)
    };
    let used = phases.iter().copied().filter(is_used).map(|phase| (palette.class(phase), phase));
    let has_rest = series.points.iter().any(|point| point.unattributed_ns > 0);
    let used = used.chain(has_rest.then(|| (PLAIN.into(), "(no phase)")));
    let used = used.map(|(class, phase)| keyed(class, Cell::Plain(phase.into())));
    Plot {
        id: "phases".into(),
        title: "Mean exposed time by phase over step numbers".into(),
        heading: "By phase".into(),
        caption: cells![
            "Where the time of the steps goes, from the axis up: ",
            Cell::joined(used, ", "),
            ". Means of steps read with all their sections.",
            together(series.shift)
        ],
    }
}
