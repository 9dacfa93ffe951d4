//! The file of settings: which it is, what it sets, what of it does not fit, and where the environment wins. It is read by
//! the layer's own reader, so that what is said here is what the layer would say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stepscope::__settings::{Look, look};
use stepscope_core::setting::{FILE, FILE_VARIABLE};

use super::{Finding, broken, fine, note, variables};

const CHECK: &str = "settings";

/// What stands in the file, under the variables whose place it takes, where these are not set.
pub(crate) fn effective(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut all = environment.clone();
    let Some(Ok(text)) = file(environment).map(std::fs::read_to_string) else { return all };
    for looked in look("", &text).settings {
        let value = all.entry(looked.variable.to_owned()).or_default();
        if value.trim().is_empty() {
            *value = looked.value;
        }
    }
    all
}

/// Looks into the file, if there is one.
pub(crate) fn check(environment: &BTreeMap<String, String>) -> Vec<Finding> {
    let Some(path) = file(environment) else { return Vec::new() };
    let name = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => findings(&name, &look(&name, &text), environment),
        Err(error) => vec![broken(
            CHECK,
            format!("{name} cannot be read: {error}. No settings are taken from it."),
            format!("Name a file that the program may read with {FILE_VARIABLE}, or unset it."),
        )],
    }
}

/// The one that is named, else the one here.
fn file(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = environment.get(FILE_VARIABLE).filter(|path| !path.trim().is_empty());
    let here = || Some(PathBuf::from(FILE)).filter(|path| path.exists());
    named.map(PathBuf::from).or_else(here)
}

fn findings(name: &str, look: &Look, environment: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = look
        .problems
        .iter()
        .map(|problem| broken(CHECK, format!("{problem}."), format!("Change that line of {name}.")))
        .collect();
    let is_set = |variable: &str| environment.get(variable).is_some_and(|value| !value.trim().is_empty());
    let (behind, ahead): (Vec<_>, Vec<_>) = look.settings.iter().partition(|looked| is_set(looked.variable));
    for looked in &ahead {
        // What the layer takes and is worth knowing, as of a variable; what it does not take was named above.
        let found = variables::value_of(looked.variable, &looked.value);
        let is_named = |finding: &Finding| finding.text.ends_with("ignored.") && !look.problems.is_empty();
        findings.extend(found.filter(|finding| !is_named(finding)).map(|finding| Finding {
            check: CHECK,
            text: format!("{name}, {}: {}", looked.key, finding.text),
            ..finding
        }));
    }
    if !ahead.is_empty() {
        let keys: Vec<&str> = ahead.iter().map(|looked| looked.key).collect();
        findings.push(fine(CHECK, format!("{name} sets {}.", keys.join(", "))));
    }
    for looked in behind {
        let (key, variable) = (looked.key, looked.variable);
        findings.push(note(
            CHECK,
            format!("{name} sets {key}, but {variable} in the environment wins over it."),
            format!("Unset {variable} where the file is meant."),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_file_is_told_with_what_wins_over_it_and_what_does_not_fit() {
        let text =
            "[recording]\nlevel = \"basic\"\ndir = \"a\"\nlevle = 3\nformat = \"xml\"\nprotocol = \"grpc\"\n";
        let environment = BTreeMap::from([("STEPSCOPE_DIR".to_owned(), "b".to_owned())]);
        let found = findings("s.toml", &look("s.toml", text), &environment);
        let said: Vec<(State, &str)> =
            found.iter().map(|finding| (finding.state, finding.text.as_str())).collect();
        let starts = [
            (State::Broken, "s.toml:4: there is no setting levle: ignored; there is level, "),
            (State::Broken, "s.toml:5: format=xml is none of protobuf, json: ignored."),
            (State::Note, "s.toml, level: STEPSCOPE_LEVEL=basic: sections leave no spans"),
            (State::Note, "s.toml, protocol: OTEL_EXPORTER_OTLP_PROTOCOL=grpc: the layer follows it with"),
            (State::Fine, "s.toml sets level, format, protocol."),
            (State::Note, "s.toml sets dir, but STEPSCOPE_DIR in the environment wins over it."),
        ];
        assert_eq!(said.len(), starts.len(), "{said:#?}");
        for ((state, text), (expected, start)) in said.iter().zip(starts) {
            assert!(*state == expected && text.starts_with(start), "{said:#?}");
        }
    }
}
