//! The queries of `grafana/`, read from the files that users import and filled in as Grafana does it: variables by what
//! Prometheus answers for them, `$__…` by the time range. Who asks them is in `prometheus`.

use std::fs;

use serde_json::Value;
use stepscope_testkit::binaries;

use crate::program::parse;
use crate::prometheus::{Prometheus, RANGE_S, STEP_S};

/// The window of rates: four scrapes of 10 s.
const RATE_S: u64 = 40;

/// A query that is filled in.
#[derive(Debug, Clone)]
pub struct Query {
    /// Board and panel, or the name of a rule.
    pub place: String,
    /// PromQL.
    pub text: String,
    /// Whether it is asked for the time range.
    pub is_range: bool,
    /// Whether points that lead to traces are asked for, too.
    pub has_exemplars: bool,
}

/// A board.
#[derive(Debug)]
pub struct Board {
    /// Its file, without the ending.
    pub name: String,
    /// As it is imported.
    pub json: Value,
}

/// A variable of a board with the text that takes its place in queries.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What was asked for its values.
    pub query: String,
    /// All of its values.
    pub values: Vec<String>,
    /// What stands in queries for it.
    pub text: String,
}

fn read(path: &str) -> Result<String, String> {
    let path = binaries::repository().join("grafana").join(path);
    fs::read_to_string(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}

/// All boards, by name.
///
/// # Errors
/// When one cannot be read.
pub fn all() -> Result<Vec<Board>, String> {
    let folder = binaries::repository().join("grafana/dashboards");
    let failed = |error| format!("failed to read {}: {error}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map_err(failed)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    let board = |name: String| Ok(Board { json: parse(&read(&format!("dashboards/{name}.json"))?)?, name });
    names.into_iter().map(board).collect()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `$__…` and variables filled in.
#[must_use]
pub fn filled(query: &str, variables: &[Variable]) -> String {
    let mut text = query
        .replace("$__rate_interval", &format!("{RATE_S}s"))
        .replace("$__interval", &format!("{STEP_S}s"))
        .replace("$__range", &format!("{RANGE_S}s"));
    for Variable { name, text: value, .. } in variables {
        text = text.replace(&format!("${name}"), value);
    }
    text
}

/// What stands for several values: each may have letters that mean something in patterns, and `\` is doubled in PromQL.
fn alternatives(values: &[String]) -> String {
    let escaped = |value: &String| -> String {
        let escape = |letter: char| {
            if "\\^$.*+?()[]{}|".contains(letter) { format!("\\\\{letter}") } else { letter.to_string() }
        };
        value.chars().map(escape).collect()
    };
    match values {
        [one] => escaped(one),
        several => format!("({})", several.iter().map(escaped).collect::<Vec<_>>().join("|")),
    }
}

impl Board {
    /// The variables that Prometheus is asked for, in their order; of those that have one value `chosen` names it.
    ///
    /// # Errors
    /// When Prometheus does not answer, or has not what is chosen.
    pub fn variables(
        &self,
        prometheus: Prometheus<'_>,
        chosen: &[(&str, &str)],
    ) -> Result<Vec<Variable>, String> {
        let mut variables: Vec<Variable> = Vec::new();
        for variable in array(&self.json["templating"]["list"]).filter(|variable| variable["type"] == "query")
        {
            let name = text(&variable["name"]).to_owned();
            let query = filled(text(&variable["query"]["query"]), &variables);
            let inside = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
            let (series, label) = inside
                .and_then(|inside| inside.rsplit_once(", "))
                .ok_or_else(|| format!("{}: ${name} asks for no values of a label: {query}", self.name))?;
            let values = prometheus.values(series, label)?;
            let text = if variable["includeAll"] == true {
                let all = variable["allValue"].as_str();
                all.map_or_else(|| alternatives(&values), str::to_owned)
            } else {
                let one = chosen.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
                let one = one.filter(|value| values.iter().any(|known| known == value));
                one.ok_or_else(|| format!("{}: {name} is none of {values:?}", self.name))?.to_owned()
            };
            variables.push(Variable { query: format!("{series} → {label}"), name, values, text });
        }
        Ok(variables)
    }

    /// The queries of its panels and annotations.
    #[must_use]
    pub fn queries(&self, variables: &[Variable]) -> Vec<Query> {
        let mut queries = Vec::new();
        for panel in array(&self.json["panels"]) {
            for target in array(&panel["targets"]) {
                queries.push(Query {
                    place: format!("{}: {} {}", self.name, text(&panel["title"]), text(&target["refId"])),
                    text: filled(text(&target["expr"]), variables),
                    is_range: target["range"] == true,
                    has_exemplars: target["exemplar"] == true,
                });
            }
        }
        queries.extend(array(&self.json["annotations"]["list"]).map(|mark| Query {
            place: format!("{}: mark {}", self.name, text(&mark["name"])),
            text: filled(text(&mark["expr"]), variables),
            is_range: true,
            has_exemplars: false,
        }));
        queries
    }

    /// The address of a link of a panel, its own words not filled in.
    #[must_use]
    pub fn link(&self, panel: &str, title: &str) -> Option<&str> {
        let panel = array(&self.json["panels"]).find(|one| one["title"] == panel)?;
        let link = array(&panel["fieldConfig"]["defaults"]["links"]).find(|link| link["title"] == title)?;
        link["url"].as_str()
    }
}

/// The queries of Prometheus' rules; of alerts what is compared, as they rarely fire.
///
/// # Errors
/// When they cannot be read.
pub fn rules() -> Result<Vec<Query>, String> {
    let file = read("prometheus/rules.yaml")?;
    let (mut queries, mut name, mut is_alert) = (Vec::new(), "", false);
    for line in file.lines().map(|line| line.trim_start().trim_start_matches("- ")) {
        if let Some((kind @ ("alert" | "record"), of)) = line.split_once(": ") {
            (name, is_alert) = (of, kind == "alert");
        } else if let Some(inside) = line.strip_prefix("expr: '").and_then(|rest| rest.strip_suffix('\'')) {
            let whole = inside.replace("''", "'");
            let compared = whole.rsplit_once(' ').map(|(rest, _)| rest.trim_end_matches(['>', '=', ' ']));
            let text = if is_alert { compared.unwrap_or_default().to_owned() } else { whole };
            queries.push(Query { place: format!("rule {name}"), text, is_range: true, has_exemplars: false });
        }
    }
    if queries.is_empty() { Err("there are no rules".into()) } else { Ok(queries) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, text: &str) -> Variable {
        Variable { name: name.into(), query: String::new(), values: Vec::new(), text: text.into() }
    }

    #[test]
    fn variables_and_grafanas_own_are_filled_in() {
        let variables = [variable("run", ".*"), variable("host", "(a|b)")];
        let query = "x{r=~\"$run\", h=~\"$host\"}[$__rate_interval] y[$__range]";
        assert_eq!(filled(query, &variables), "x{r=~\".*\", h=~\"(a|b)\"}[40s] y[1800s]");
    }

    #[test]
    fn several_values_are_a_pattern_of_them() {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        assert_eq!(alternatives(&values(&["a.b"])), "a\\\\.b");
        assert_eq!(alternatives(&values(&["a", "b"])), "(a|b)");
    }

    #[test]
    fn alerts_are_asked_without_their_bounds() {
        let rules = rules().expect("rules");
        assert!(rules.iter().any(|rule| rule.text == "stepscope_finding_severity"), "{rules:?}");
        assert!(rules.iter().any(|rule| rule.text.starts_with("histogram_quantile(")));
        assert!(rules.iter().all(|rule| !rule.text.contains("''")));
    }

    #[test]
    fn boards_have_panels_and_links() {
        let boards = all().expect("boards");
        let training = boards.iter().find(|board| board.name == "training").expect("it is there");
        assert!(training.link("Latest step", "Traces of this step").is_some());
        assert!(boards.iter().map(|board| board.queries(&[]).len()).sum::<usize>() > 100);
    }
}
