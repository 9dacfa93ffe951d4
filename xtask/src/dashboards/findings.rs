//! The analyzer's rules as the boards show them: titles and advice, from the document that is generated from the registry;
//! and the table of findings, which several boards have.

use std::fs;

use stepscope_core::{attr, metric};

use super::board::{row_in_jaeger, row_on_training, without};
use super::panel::{
    Draft, has_link, has_texts, has_unit, is_severity, is_whole_on_click, is_wide, table, unit,
};
use super::query::{JOB, Series, label, of};
use crate::Outcome;
use crate::process::root;

/// Where titles and advice are.
const DOCUMENT: &str = "docs/rules.md";
/// The column that advice stands in; a copy of the rule's.
const ADVICE: &str = "advice";
/// The column by which findings of one run are sorted.
const SEVERITY: &str = "Severity";

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) advice: String,
}

/// All rules.
#[derive(Debug)]
pub(super) struct Rules(pub(super) Vec<Rule>);

impl Rules {
    pub(super) fn read() -> Outcome<Self> {
        let text = fs::read_to_string(root().join(DOCUMENT))
            .map_err(|error| format!("failed to read {DOCUMENT}: {error}"))?;
        parse(&text)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|rule| rule.id == id)
    }
}

fn parse(text: &str) -> Outcome<Rules> {
    let rows = text.lines().filter_map(|line| {
        let (id, rest) = line.strip_prefix("| [`")?.split_once('`')?;
        Some((id, rest.split('|').nth(1)?.trim()))
    });
    let rules = rows.map(|(id, title)| {
        let page = text.split("\n## ").find(|part| part.lines().next() == Some(id));
        let advice = page.and_then(|page| page.split_once("**What to do.** "));
        let advice = advice.map(|(_, rest)| rest.lines().next().unwrap_or_default().replace('`', ""));
        let advice = advice.ok_or_else(|| format!("{DOCUMENT} says nothing to do about {id}"))?;
        Ok(Rule { id: id.to_owned(), title: title.to_owned(), advice })
    });
    let rules = rules.collect::<Outcome<Vec<_>>>()?;
    if rules.is_empty() { Err(format!("{DOCUMENT} has no rules")) } else { Ok(Rules(rules)) }
}

/// Findings of the runs that a variable chooses, newest run first, its worst first.
pub(super) fn findings(
    rules: &Rules,
    title: &'static str,
    description: &'static str,
    runs: impl Fn(Series) -> Series,
) -> Outcome<Draft> {
    let severity = runs(of(&metric::run::row::FINDING_SEVERITY)).last().with_copy(ADVICE, attr::FINDING_RULE);
    let started = runs(of(&metric::run::row::RUN_STARTED)).last().max(&[attr::RUN_ID]).with("*", "1000");
    let when = severity.with("*", "0").many_on("+", &[attr::RUN_ID], &started);
    let titles = has_texts(rules.0.iter().map(|rule| (&*rule.id, &*rule.title)))?;
    let advice = has_texts(rules.0.iter().map(|rule| (&*rule.id, &*rule.advice)))?;
    Ok(table(title, description, "Run began")
        .unit(unit::SEVERITY)
        .without(without::FINDINGS)
        .query(&severity, "")
        .query(&when, "")
        .then_by(SEVERITY)
        .column("Value #A", SEVERITY, is_severity())
        .column(&label(attr::FINDING_RULE), "Finding", vec![titles, is_wide(180)])
        .column(&label(attr::PATH), "Section", Vec::new())
        .column(ADVICE, "What to do", vec![advice, is_whole_on_click()])
        .column(
            &label(attr::RUN_ID),
            "Run",
            vec![has_link("The run's training board", &row_on_training()), is_wide(160)],
        )
        .column("Value #B", "Run began", vec![has_unit(unit::TIME), is_wide(170)])
        .column(&label(attr::PHASE), "Phase", vec![is_wide(120)])
        .column(&label(attr::RANK), "Rank", vec![is_wide(60)])
        .column(JOB, "Program", vec![has_link("The run's traces in Jaeger", &row_in_jaeger()), is_wide(130)])
        .hiding(&[
            "Time",
            "__name__",
            "instance",
            "otel_scope_name",
            "otel_scope_schema_url",
            "otel_scope_version",
        ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_titles_and_advice() {
        let rules = Rules::read().unwrap();
        let leak = rules.0.iter().find(|rule| rule.id == "memory_growth").unwrap();
        assert_eq!(leak.title, "Memory growth");
        assert!(leak.advice.starts_with("Look at what the section keeps"), "{}", leak.advice);
    }

    #[test]
    fn a_rule_without_advice_is_an_error() {
        let row = "| [`a`](#a) | A | compute |\n\n## a\n\nNothing.\n";
        assert!(parse(row).is_err() && parse("").is_err());
    }
}
