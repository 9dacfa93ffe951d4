//! Where values lead: into traces in Jaeger, and to the board of a run. Addresses have Grafana's variables in them.

use stepscope_core::attr;

use super::query::label;

/// The search page of Jaeger for traces of a service with an attribute.
fn search(service: &str, key: &str, value: &str) -> String {
    format!(
        "${{jaeger}}/search?service={service}&tags=%7B%22{key}%22%3A%22{value}%22%7D&limit=20\
         &start=${{__from}}000&end=${{__to}}000"
    )
}

/// Traces of the step whose number the value is.
pub(super) fn step_in_jaeger() -> String {
    search("${__field.labels.job:percentencode}", attr::STEP, "${__value.raw}")
}

/// Traces of the run whose point or row this is.
pub(super) fn run_in_jaeger() -> String {
    let run = label(attr::RUN_ID);
    search(
        "${__field.labels.job:percentencode}",
        attr::RUN_ID,
        &format!("${{__field.labels.{run}:percentencode}}"),
    )
}

/// The same for a row of a table.
pub(super) fn row_in_jaeger() -> String {
    let run = label(attr::RUN_ID);
    search(
        "${__data.fields.job:percentencode}",
        attr::RUN_ID,
        &format!("${{__data.fields.{run}:percentencode}}"),
    )
}

/// The training board of the run of a table's row.
pub(super) fn row_on_training() -> String {
    format!(
        "/d/stepscope-training?var-run=${{__data.fields.{}:percentencode}}&${{__url_time_range}}",
        label(attr::RUN_ID)
    )
}
