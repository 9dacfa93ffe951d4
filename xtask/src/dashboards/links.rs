//! Where values lead: into traces in Jaeger, and to the board of a run. Addresses have Grafana's variables in them.

use stepscope_core::attr;

use super::query::label;

/// The search page of Jaeger for traces of a service with these attributes.
fn search(service: &str, attributes: &[(&str, &str)]) -> String {
    let tags: Vec<String> =
        attributes.iter().map(|(key, value)| format!("%22{key}%22%3A%22{value}%22")).collect();
    format!(
        "${{jaeger}}/search?service={service}&tags=%7B{}%7D&limit=20&start=${{__from}}000&end=${{__to}}000",
        tags.join("%2C")
    )
}

/// The run of a point.
fn run_of_point() -> String {
    format!("${{__field.labels.{}:percentencode}}", label(attr::RUN_ID))
}

/// Traces of the step whose number the value is, one a rank.
pub(super) fn step_in_jaeger() -> String {
    search(
        "${__field.labels.job:percentencode}",
        &[(attr::STEP, "${__value.raw}"), (attr::RUN_ID, &run_of_point())],
    )
}

/// Traces of the run whose point this is.
pub(super) fn run_in_jaeger() -> String {
    search("${__field.labels.job:percentencode}", &[(attr::RUN_ID, &run_of_point())])
}

/// The same for a row of a table.
pub(super) fn row_in_jaeger() -> String {
    let run = label(attr::RUN_ID);
    search(
        "${__data.fields.job:percentencode}",
        &[(attr::RUN_ID, &format!("${{__data.fields.{run}:percentencode}}"))],
    )
}

/// The training board of the run of a table's row.
pub(super) fn row_on_training() -> String {
    format!(
        "/d/stepscope-training?var-run=${{__data.fields.{}:percentencode}}&${{__url_time_range}}",
        label(attr::RUN_ID)
    )
}
