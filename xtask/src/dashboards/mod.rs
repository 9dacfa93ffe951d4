//! `grafana/`: dashboards, provisioning, Prometheus' rules and their tests, generated from the tables of metrics, alerts and
//! rules, so that a renamed metric breaks the build and no dashboard. What people read there (README.md) is by hand.

mod alerts;
mod board;
mod boards;
mod column;
mod findings;
mod json;
mod links;
mod model;
mod panel;
mod provisioning;
mod query;
mod recording;
#[cfg(test)]
mod tests;
mod unit;

use std::fs;

use crate::Outcome;
use crate::docs::difference;
use crate::process::root;
use findings::Rules;

/// Where everything goes.
const FOLDER: &str = "grafana";

/// A generated file, below the folder.
struct Generated {
    path: String,
    text: String,
}

fn all() -> Outcome<Vec<Generated>> {
    let rules = Rules::read()?;
    let alerts = alerts::all(&rules)?;
    let mut files = Vec::new();
    for (name, board) in boards::ALL {
        let text = json::pretty(&board(&rules)?)?;
        files.push(Generated { path: format!("dashboards/{name}.json"), text });
    }
    let mut add = |path: &str, text| files.push(Generated { path: path.to_owned(), text });
    add("prometheus/rules.yaml", format!("{}{}", recording::rules(), alerts::rules(&alerts)));
    add("prometheus/tests.yaml", format!("{}{}", recording::tests(), alerts::tests(&alerts)));
    add("provisioning/alerting/stepscope.yaml", provisioning::alerts(&alerts));
    add("provisioning/dashboards/stepscope.yaml", provisioning::DASHBOARDS.to_owned());
    add("provisioning/datasources/stepscope.yaml", provisioning::DATA_SOURCES.to_owned());
    Ok(files)
}

/// Writes every file.
pub(crate) fn write() -> Outcome {
    for Generated { path, text } in all()? {
        let whole = root().join(FOLDER).join(&path);
        let failed = |error| format!("failed to write {FOLDER}/{path}: {error}");
        if let Some(folder) = whole.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&whole, text).map_err(failed)?;
        eprintln!("wrote {FOLDER}/{path}");
    }
    Ok(())
}

/// Fails where a committed file differs from what would be written.
pub(crate) fn check() -> Outcome {
    let stale = all()?.into_iter().filter_map(|Generated { path, text }| {
        let committed = fs::read_to_string(root().join(FOLDER).join(&path)).unwrap_or_default();
        difference(&committed, &text).map(|hint| format!("{FOLDER}/{path} is out of date, {hint}"))
    });
    let stale: Vec<String> = stale.collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nrun `cargo xtask dashboards` and commit the result", stale.join("\n")))
}
