//! Format `csv`: a folder of tidy tables, one kind of thing a table, one thing a row. Columns carry their units in
//! their names; what is not known is empty. The list of tables is here; what they hold is in the files beside.

mod critical;
mod examples;
mod findings;
mod input;
mod memory;
mod recording;
mod sections;
mod steps;
mod table;

use super::{File, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "csv", about: "a folder of tables, for spreadsheets", output: Output::Folder(render) };

/// A table: the name of its file, and how it is written.
type Table = (&'static str, fn(&Report) -> String);

/// Every table. Each report has all of them, empty ones as well, so that a script finds what it looks for.
const TABLES: &[Table] = &[
    ("summary.csv", steps::summary),
    ("modes.csv", steps::modes),
    ("step_times.csv", steps::times),
    ("phases.csv", steps::phases),
    ("phase_sums.csv", steps::phase_sums),
    ("steps.csv", steps::series),
    ("changes.csv", steps::changes),
    ("periods.csv", steps::periods),
    ("slowest_steps.csv", steps::slowest),
    ("slowest_step_phases.csv", steps::slowest_phases),
    ("pauses.csv", steps::pauses),
    ("phases_over_steps.csv", steps::phase_series),
    ("values.csv", steps::values),
    ("sections.csv", sections::sections),
    ("section_modes.csv", sections::in_modes),
    ("critical_path.csv", critical::path),
    ("critical_sections.csv", critical::sections),
    ("examples.csv", examples::examples),
    ("example_spans.csv", examples::spans),
    ("example_paths.csv", examples::paths),
    ("example_runs.csv", examples::runs),
    ("findings.csv", findings::findings),
    ("evidence.csv", findings::evidence),
    ("rules.csv", findings::rules),
    ("notes.csv", findings::notes),
    ("between_steps.csv", input::outside),
    ("loaders.csv", input::loaders),
    ("workers.csv", input::workers),
    ("held_up.csv", input::held_up),
    ("waited_by.csv", input::waited_by),
    ("waits.csv", input::waits),
    ("memory.csv", memory::trends),
    ("processes.csv", memory::processes),
    ("memory_sections.csv", memory::sections),
    ("memory_over_steps.csv", memory::held_over_steps),
    ("leaks.csv", memory::leaks),
    ("ranks.csv", recording::ranks),
    ("rank_phases.csv", recording::rank_phases),
    ("losses.csv", recording::losses),
    ("inputs.csv", recording::inputs),
    ("read_issues.csv", recording::issues),
    ("disagreements.csv", recording::disagreements),
    ("limits.csv", recording::limits),
    ("other_runs.csv", recording::other_runs),
];

fn render(report: &Report) -> Result<Vec<File>, RenderError> {
    Ok(TABLES.iter().map(|&(name, table)| File { name, text: table(report) }).collect())
}
