//! Findings as people and programs read them.

use serde::Serialize;

use super::{Finding, State};
use crate::error::CliError;

/// Shape of the JSON; a change of meaning is another number.
const SCHEMA_VERSION: u32 = 1;

/// Columns of a terminal.
const WIDTH: usize = 80;
/// Columns in front of the text.
const INDENT: usize = 21;

#[derive(Serialize)]
struct Document<'f> {
    schema_version: u32,
    tool: &'static str,
    broken: usize,
    checks: &'f [Finding],
}

/// How many are broken.
pub(crate) fn broken(findings: &[Finding]) -> usize {
    findings.iter().filter(|finding| finding.state == State::Broken).count()
}

/// One object.
pub(crate) fn json(findings: &[Finding]) -> Result<String, CliError> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        tool: concat!("stepscope ", env!("CARGO_PKG_VERSION")),
        broken: broken(findings),
        checks: findings,
    };
    let text = serde_json::to_string_pretty(&document);
    text.map(|text| text + "\n").map_err(|error| CliError::Internal(format!("failed to write JSON: {error}")))
}

/// Lines for a terminal.
pub(crate) fn text(findings: &[Finding]) -> String {
    let mut lines = String::new();
    for finding in findings {
        let state = match finding.state {
            State::Fine => "ok",
            State::Note => "note",
            State::Broken => "BROKEN",
        };
        paragraph(&mut lines, &format!("{state:<7}{:<14}", finding.check), &finding.text);
        if let Some(fix) = &finding.fix {
            paragraph(&mut lines, "", &format!("Fix: {fix}"));
        }
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (broken, notes) = (count(State::Broken), count(State::Note));
    let plural = if notes == 1 { "" } else { "s" };
    lines.push_str(&match broken {
        0 => format!("\nNothing is broken; {notes} note{plural}.\n"),
        _ => format!("\n{broken} broken; {notes} note{plural}.\n"),
    });
    lines
}

/// Words in lines that fit, behind a head.
fn paragraph(lines: &mut String, head: &str, text: &str) {
    let mut line = format!("{head:<INDENT$}");
    let mut width = INDENT;
    for (number, word) in text.split_whitespace().enumerate() {
        let needs = word.chars().count() + usize::from(number > 0);
        if number > 0 && width + needs > WIDTH {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(INDENT);
            width = INDENT;
        } else if number > 0 {
            line.push(' ');
            width += 1;
        }
        line.push_str(word);
        width += word.chars().count();
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::{broken, fine, note};
    use super::*;

    #[test]
    fn lines_fit_and_nothing_is_left_out() {
        let long = "word ".repeat(40);
        let findings = [fine("clock", "good"), note("layer", long, "do it"), broken("endpoint", "no", "yes")];
        let text = text(&findings);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("word").count(), 40);
        assert!(text.starts_with("ok     clock         good\n"), "{text}");
        assert!(
            text.ends_with("BROKEN endpoint      no\n                     Fix: yes\n\n1 broken; 1 note.\n"),
            "{text}"
        );
    }
}
