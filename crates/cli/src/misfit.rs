//! What of a configuration does not fit, in words: the line, the table and the key, what would fit, and an example.

use std::fmt::Write as _;
use std::ops::Range;

use stepscope_analyze::rules;

/// What is wrong with `text`, as the reader of TOML found it; its own words where the text is no TOML.
pub(crate) fn words(text: &str, error: &toml::de::Error) -> String {
    let Some(at) = error.span() else { return error.to_string() };
    let before = text.get(..at.start).unwrap_or_default();
    let what = unknown(before, error).or_else(|| unfit(text, at.clone(), error));
    let Some(what) = what else {
        return error.to_string();
    };
    let line = before.matches('\n').count() + 1;
    format!("line {line}: {what}")
}

/// A name that nothing has, and those that there are, or its new name.
fn unknown(before: &str, error: &toml::de::Error) -> Option<String> {
    let (name, known) = error.message().strip_prefix("unknown field ")?.split_once(", expected ")?;
    let is_renamed = |(rule, old): (&str, &str)| {
        name.trim_matches('`') == old && rule_before(before).is_some_and(|named| named.id == rule)
    };
    if let Some((.., new)) = rules::RENAMED.iter().find(|&&(rule, old, _)| is_renamed((rule, old))) {
        return Some(format!("{name} is called `{new}` now"));
    }
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(format!("there is no {name}; there is {known}"))
}

/// A value of another type than its key has.
fn unfit(text: &str, at: Range<usize>, error: &toml::de::Error) -> Option<String> {
    let (_, expected) = error.message().split_once(", expected ")?;
    let kind = match expected {
        "f64" => "a number",
        "u64" | "u32" | "usize" => "a whole number, 0 or more",
        "a boolean" => "`true` or `false`",
        _ if expected.starts_with("struct ") => "a table",
        _ => return None,
    };
    let before = text.get(..at.start)?.trim_end().strip_suffix('=')?;
    let value = text.get(at)?;
    let key = before.trim_end().rsplit(|letter: char| !is_of_name(letter)).next()?;
    let mut said = format!("`{key} = {value}` is not {kind}");
    if kind == "a table" {
        said.push_str("; an example is `[rules.input_bound]`");
    } else if let Some(default) = default(key, before) {
        let _ = write!(said, "; an example is the default, `{key} = {default}`");
    }
    Some(said)
}

const fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The rule that the text names last.
fn rule_before(text: &str) -> Option<&'static rules::Rule> {
    let named = rules::RULES.iter().filter_map(|rule| Some((text.rfind(rule.id)?, rule.id.len(), rule)));
    named.max_by_key(|&(at, len, _)| (at, len)).map(|(.., rule)| rule)
}

/// The default of a threshold, of the rule that the text before it names last.
fn default(key: &str, before: &str) -> Option<String> {
    let thresholds = rules::Config::default().thresholds(rule_before(before)?.id);
    thresholds.into_iter().find(|threshold| threshold.key == key).map(|found| found.value)
}
