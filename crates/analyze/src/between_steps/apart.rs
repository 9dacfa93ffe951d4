//! Processes whose steps have the same numbers and lie apart in time: several runs in one input, or clocks that differ.

use crate::report::finding::Note;
use crate::report::units::duration;
use crate::summary::{InstanceRow, Summary};

/// How long lies between two groups of processes whose steps have the same numbers.
enum Apart {
    /// Ranks begin so many nanoseconds after the others.
    Clocks(u64),
    /// Processes begin so many nanoseconds after the last of the others ended.
    Runs(u64),
}

/// What is to know before rates and times between steps are read; of `rule`.
pub(crate) fn note(summary: &Summary, rule: &'static str) -> Option<Note> {
    let text = match apart(summary)? {
        Apart::Clocks(ns) => format!(
            "Ranks do steps of the same numbers at other times, {} apart: the clocks of their hosts may differ by so \
             much. Then what is told per second, and the length of the run, is wrong.",
            duration(ns)
        ),
        Apart::Runs(ns) => format!(
            "Processes with steps of the same numbers follow each other, {} apart: these may be several runs of a \
             program, which are judged here as one. Analyse their files by themselves.",
            duration(ns)
        ),
    };
    Some(Note { rule, section: None, text })
}

/// The same in a sentence of the verdict, where these may be several runs.
pub(crate) fn doubt(summary: &Summary) -> Option<String> {
    let Apart::Runs(ns) = apart(summary)? else { return None };
    Some(format!("These may be several runs, {} apart: analyse each by itself.", duration(ns)))
}

fn apart(summary: &Summary) -> Option<Apart> {
    let mode = summary.primary()?;
    let (first, last) = mode.step_range?;
    let numbers = last.saturating_sub(first).saturating_add(1);
    let mut rows: Vec<(u64, u64, &InstanceRow)> = summary
        .instances
        .iter()
        .filter(|row| row.steps.count > 0)
        .filter_map(|row| Some((row.first_ns?, row.last_ns?, row)))
        .collect();
    rows.sort_by_key(|&(first_ns, last_ns, _)| (first_ns, last_ns));
    let ends =
        rows.iter().scan(0, |end_ns: &mut u64, row| Some(std::mem::replace(end_ns, row.1.max(*end_ns))));
    let ends: Vec<u64> = ends.collect();
    let at = (1..rows.len())
        .find(|&at| rows.get(at).zip(ends.get(at)).is_some_and(|(row, &end_ns)| row.0 > end_ns))?;
    let (before, after) = rows.split_at(at);
    let (later, earlier) = (after.first()?, before.first()?);
    if mode.all.count <= numbers {
        return None;
    }
    let is_another = |row: &(u64, u64, &InstanceRow)| {
        later.2.resource.rank.is_some() && row.2.resource.rank != later.2.resource.rank
    };
    Some(match before.iter().all(is_another) {
        true => Apart::Clocks(later.0.saturating_sub(earlier.0)),
        false => Apart::Runs(later.0.saturating_sub(*ends.get(at)?)),
    })
}
