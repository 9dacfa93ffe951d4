//! What holds for every board and rule: queries parse, panels explain themselves, places do not overlap, ids are stable.

use std::collections::HashSet;

use super::findings::Rules;
use super::model::{Dashboard, Panel, VariableQuery};
use super::{alerts, boards, check};

fn all() -> Vec<Dashboard> {
    let rules = Rules::read().unwrap();
    boards::ALL.iter().map(|(_, board)| board(&rules).unwrap()).collect()
}

/// A query as Grafana sends it, with the board's variables and its own ones filled in.
fn filled(query: &str, variables: &[&str]) -> String {
    let mut text = query.to_owned();
    for own in ["$__rate_interval", "$__interval", "$__range"] {
        text = text.replace(own, "5m");
    }
    for variable in variables {
        text = text.replace(&format!("${variable}"), ".*");
    }
    text
}

fn parses(query: &str, variables: &[&str], of: &str) {
    let text = filled(query, variables);
    // What a group of a pattern is called is no variable.
    assert!(!text.replace("\"$1\"", "").contains('$'), "{of}: a variable is not filled in: {text}");
    if let Err(error) = promql_parser::parser::parse(&text) {
        panic!("{of}: {text}: {error}");
    }
}

#[test]
fn every_query_parses() {
    let mut count = 0;
    for board in all() {
        let of = &board.uid;
        let names: Vec<&str> = board.templating.list.iter().map(|variable| variable.name).collect();
        let targets = board.panels.iter().flat_map(|panel| &panel.targets).map(|target| target.expr.clone());
        let annotations = board.annotations.list.iter().map(|annotation| annotation.expr.clone());
        let variables = board.templating.list.iter().filter_map(|variable| match &variable.query {
            VariableQuery::Values { query, .. } => {
                let inside = query.strip_prefix("label_values(")?.strip_suffix(')')?;
                inside.rsplit_once(", ").map(|(series, _)| series.to_owned())
            }
            VariableQuery::Text(_) => None,
        });
        for query in targets.chain(annotations).chain(variables) {
            parses(&query, &names, of);
            count += 1;
        }
    }
    for alert in alerts::all(&Rules::read().unwrap()).unwrap() {
        parses(&alert.expression(), &[], &alert.name);
        count += 1;
    }
    assert!(count > 150, "{count} queries");
}

#[test]
fn a_wrong_query_does_not_parse() {
    assert!(promql_parser::parser::parse(&filled("sum by (rate(x[$__range]))", &[])).is_err());
}

fn explains_itself(panel: &Panel) -> Result<(), &'static str> {
    let sentence = &panel.description;
    if !sentence.ends_with('.') || sentence.split_whitespace().count() > 25 {
        return Err("its description is no sentence of at most 25 words");
    }
    if panel.kind == "text" {
        return Ok(());
    }
    let defaults = &panel.field_config.defaults;
    if defaults.unit.is_none_or(str::is_empty) {
        return Err("it has no unit");
    }
    if defaults.no_value.as_deref().is_none_or(str::is_empty) {
        return Err("it does not say what to switch on where it has no data");
    }
    if panel.targets.is_empty() { Err("it asks for nothing") } else { Ok(()) }
}

#[test]
fn every_panel_explains_itself() {
    for board in all() {
        for panel in &board.panels {
            if let Err(problem) = explains_itself(panel) {
                panic!("{}: {}: {problem}", board.uid, panel.title);
            }
        }
    }
}

#[test]
fn panels_fill_the_grid_without_overlaps() {
    for board in all() {
        let mut taken = HashSet::new();
        for panel in &board.panels {
            let place = panel.grid_pos;
            for x in place.x..place.x + place.w {
                for y in place.y..place.y + place.h {
                    assert!(x < 24 && taken.insert((x, y)), "{}: {}", board.uid, panel.title);
                }
            }
        }
    }
}

#[test]
fn titles_and_ids_are_told_apart() {
    let mut uids = HashSet::new();
    for board in all() {
        assert!(uids.insert(board.uid.clone()) && board.uid.len() <= 40, "{}", board.uid);
        let mut titles = HashSet::new();
        for panel in &board.panels {
            assert!(titles.insert((panel.kind, &panel.title)), "{}: {} twice", board.uid, panel.title);
        }
    }
}

#[test]
fn links_between_boards_lead_to_boards() {
    let uids: Vec<String> = all().into_iter().map(|board| board.uid).collect();
    for board in all() {
        let text = super::json::pretty(&board).unwrap();
        for rest in text.split("\"/d/").skip(1) {
            let uid = rest.split('?').next().unwrap_or_default();
            assert!(uids.iter().any(|other| other == uid), "{}: /d/{uid}", board.uid);
        }
    }
}

#[test]
fn collectors_count_spans_by_that_name() {
    let folder = crate::process::root().join("collector-config");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        if text.contains("\n  span_metrics:\n") {
            assert!(text.contains(&format!("namespace: {}\n", super::query::SPANS)), "{text}");
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn committed_files_are_current() {
    assert_eq!(check(), Ok(()));
}
