//! Where the step time goes: a bar a phase, and what happens between steps.

use super::page::{Look, Page};
use super::width::{left, right};
use crate::report::Report;
use crate::report::units::{count, duration, percent, things};

const NAME: usize = 16;
const BAR: usize = 36;
/// Share below which a phase is only named.
const SMALL: f64 = 0.001;
/// What no phase covers.
const NO_PHASE: &str = "(no phase)";

pub(super) fn render(report: &Report, page: &mut Page) {
    let summary = &report.summary;
    if !summary.phase_sums.is_empty() {
        page.heading("Where the step time goes (by the sums of sections)");
        let all = things(summary.input.steps, "step", "steps");
        let read = match summary.coverage.whole_steps {
            0 => "none was read with its sections".into(),
            whole => format!(
                "only {} of them were read with their sections, which need not be typical",
                count(whole)
            ),
        };
        page.paragraph(Look::Dim, "  ", &format!("of {all}, all modes and warm-up included; {read}"));
        let rows = summary
            .phase_sums
            .iter()
            .map(|row| (row.phase.as_ref().map_or(NO_PHASE, |phase| phase.as_str()), row.total_ns));
        bars(rows, summary.input.steps_ns, summary.input.steps, page);
    } else if summary.whole.total_ns > 0 {
        page.heading("Where the step time goes (of the training thread)");
        if let Some((_, all)) = summary.coverage.partly_whole() {
            let whole = things(summary.whole.steps, "step", "steps");
            page.line(
                Look::Dim,
                &format!("  of {whole} read with all their sections; {} were read", count(all)),
            );
        }
        let rows = summary.phases.iter().map(|row| (row.phase.as_str(), row.exposed_ns));
        let rest = (NO_PHASE, summary.unattributed_ns);
        bars(rows.chain([rest]), summary.whole.total_ns, summary.whole.steps, page);
        let hidden: Vec<String> = summary
            .phases
            .iter()
            .filter(|row| row.exposed_ns == 0 && row.total_ns > 0)
            .map(|row| format!("{} {}", row.phase, percent(row.total_share)))
            .collect();
        if !hidden.is_empty() {
            page.paragraph(Look::Dim, "  hidden behind it: ", &hidden.join(", "));
        }
    }
    // Phases that only occur inside sections of others have no sections of their own.
    let outside: Vec<_> = report.detailed_metrics.outside.iter().filter(|row| row.stats.count > 0).collect();
    if !outside.is_empty() {
        page.heading("Between the steps (same threads)");
        if summary.coverage.partly_read().is_some() {
            page.line(Look::Dim, "  as far as it was read; the sections below count all of it");
        }
        for row in outside {
            let name = row.phase.as_ref().map_or("(no phase)", |phase| phase.as_str());
            let longest = row.stats.max.map(|max| format!(", at most {}", duration(max)));
            page.plain(&format!(
                "  {} {} in {}{}",
                left(name, NAME),
                right(&duration(row.stats.total), 11),
                things(row.stats.count, "section", "sections"),
                longest.unwrap_or_default()
            ));
        }
    }
}

/// A bar a phase with its share and its time a step; small ones are only named.
fn bars<'a>(rows: impl Iterator<Item = (&'a str, u64)>, whole_ns: u64, steps: u64, page: &mut Page) {
    let mut small = Vec::new();
    for (name, ns) in rows.filter(|row| row.1 > 0) {
        let share = ns as f64 / whole_ns.max(1) as f64;
        if share < SMALL {
            small.push(name);
            continue;
        }
        let per_step = duration(ns / steps.max(1));
        page.plain(&format!(
            "  {} {} {} {}",
            left(name, NAME),
            left(&bar(share, BAR), BAR),
            right(&percent(share), 8),
            right(&per_step, 11)
        ));
    }
    if !small.is_empty() {
        page.paragraph(Look::Dim, &format!("  below {}: ", percent(SMALL)), &small.join(", "));
    }
}

/// A bar in eighths of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // A share above zero never looks like none.
    let eighths = ((share * columns as f64 * 8.0).round() as usize).max(usize::from(share > 0.0));
    let mut bar: String = std::iter::repeat_n('█', eighths / 8).collect();
    bar.extend(EIGHTHS.get(eighths % 8).filter(|_| !eighths.is_multiple_of(8)));
    bar
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(0.001, 4), "▏");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.28, 4), "█▏");
        assert_eq!(bar(7.0, 4), "████");
        assert_eq!(bar(f64::NAN, 4), "");
    }
}
