//! `docs/metrics.md`: what is written by hand, then the tables of the exporter's metrics and of those about runs.

use super::attributes::{code, table};
use crate::Outcome;
use crate::process::root;
use std::fs;
use stepscope_core::metric;
use stepscope_core::vocabulary::{Metric, Stability};

/// Everything below this line is generated.
const MARK: &str =
    "<!-- Generated from crates/core/src/metric by `cargo xtask docs`: edit the tables there. -->\n";

const GROUPS: [(&str, &[Metric]); 4] = [
    ("Machine, process and container", metric::host::TABLE),
    ("Devices", metric::device::TABLE),
    ("Program and exporter", metric::program::TABLE),
    ("Runs and findings", metric::run::TABLE),
];

/// The document: the part above the mark as it is, and what the tables say.
pub(super) fn generate() -> Outcome<String> {
    let path = "docs/metrics.md";
    let present =
        fs::read_to_string(root().join(path)).map_err(|error| format!("failed to read {path}: {error}"))?;
    let Some((by_hand, _)) = present.split_once(MARK) else {
        return Err(format!("{path} has lost the line {MARK}"));
    };
    Ok(format!("{by_hand}{MARK}{}", tables()))
}

fn tables() -> String {
    let mut out = String::from("\n## The table\n");
    for (title, rows) in GROUPS {
        out.push_str(&format!("\n### {title}\n\n"));
        let rows = rows.iter().map(|row| {
            let attributes = row.attributes.iter().map(|key| code(key)).collect::<Vec<_>>().join(", ");
            let convention = if row.stability == Stability::OpenTelemetry { "yes" } else { "" };
            let name = code(row.name);
            let instrument = row.instrument.as_str().into();
            let doc = row.doc.trim().into();
            [
                name,
                instrument,
                code(row.unit),
                doc,
                attributes,
                convention.into(),
                row.source.into(),
                row.tier.as_str().into(),
            ]
        });
        table(
            &mut out,
            [
                "metric",
                "instrument",
                "unit",
                "meaning",
                "attributes",
                "OpenTelemetry's",
                "read from",
                "every",
            ],
            rows,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_the_exporter_and_of_runs_is_in_the_document() {
        let text = tables();
        for row in metric::exported().chain(metric::run::TABLE) {
            assert!(text.contains(&format!("\n| `{}` |", row.name)), "{}", row.name);
        }
    }
}
