//! The section that is most of a step, where nothing else explains half of it.

use stepscope_core::SectionKind;

use crate::report::units::percent;
use crate::summary::{CriticalSection, ModeSummary, PhaseSource, Summary};

/// Share of the step time from which a section is most of it.
const MOST: f64 = 0.5;

/// Its path, and `Most of a step (62 %) is `forward/attention`, on the CPU`; absent where no section is, where it is not known,
/// and where it has a phase of its own, by which it is told.
pub(crate) fn words(summary: &Summary, mode: &ModeSummary) -> Option<(String, String)> {
    let paths = summary.critical_path.as_ref().filter(|paths| paths.mode == Some(mode.mode))?;
    let longest: &CriticalSection = paths.sections.first().filter(|row| row.share >= MOST)?;
    let row = summary.section(&longest.path).filter(|row| row.kind != SectionKind::Step)?;
    let has_own_phase = matches!(row.phase_source, Some(PhaseSource::Tagged | PhaseSource::Inferred));
    let row = Some(row).filter(|_| !has_own_phase)?;
    let threads = summary.threads.of(mode.mode);
    let deep = threads.and_then(|threads| threads.sections.iter().find(|of| of.path == row.path));
    let own = deep.filter(|of| of.own_duration_ns > 0);
    let share = |ns: u64| own.map_or(0.0, |of| ns as f64 / of.own_duration_ns.max(1) as f64);
    let is = |ns: u64| share(ns) >= MOST;
    let on = match own {
        Some(of) if is(of.own_cpu_ns) => ", on the CPU",
        Some(of) if is(of.own_blocked_ns) => ", blocked",
        _ => "",
    };
    let words = format!("Most of a step ({}) is `{}`{on}", percent(longest.share), row.path);
    Some((row.path.clone(), words))
}
