//! Names as a page can show them: without characters that break a layout, and words of enumerations as the JSON
//! report writes them. Escaping is each format's own.

use serde::Serialize;

use super::letters::{self, JOINER};
use crate::report::names::{self, NO_NAME};

/// Names come from traces and may hold anything: control characters, line separators and characters that
/// change the direction of writing become `�`. What joins two emoji stays.
#[must_use]
pub(crate) fn printable(text: &str) -> String {
    let mut before = None;
    let mut letters = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        let joins = letter == JOINER
            && before.zip(letters.peek()).is_some_and(|(before, &after)| letters::joins(before, after));
        out.push(if breaks_layout(letter) && !joins { char::REPLACEMENT_CHARACTER } else { letter });
        before = Some(letter);
    }
    out
}

/// A name as a table shows it: one that is empty says so.
#[must_use]
pub(crate) fn named(text: &str) -> String {
    if text.is_empty() { NO_NAME.into() } else { printable(text) }
}

/// A path as a table shows it: names in it that are empty say so.
#[must_use]
pub(crate) fn named_path(path: &str) -> String {
    printable(&names::path(path))
}

/// Letters of a name that a page shows: whole names of programs, not whole signatures of kernels.
const LONGEST: usize = 72;

/// A path whose long names are cut in their middles: kernels differ in how their names begin and in how they end.
#[must_use]
pub(crate) fn shortened(path: &str) -> String {
    path.split('/').map(cut).collect::<Vec<_>>().join("/")
}

fn cut(name: &str) -> String {
    let letters = letters::letters(name);
    if letters.len() <= LONGEST {
        return name.to_owned();
    }
    let (head, tail) = (LONGEST * 2 / 3, LONGEST / 3 - 1);
    [&letters[..head], &["…"], &letters[letters.len() - tail..]].concat().concat()
}

fn breaks_layout(letter: char) -> bool {
    letter.is_control()
        || matches!(letter as u32,
            0x00ad | 0x061c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            | 0xfeff | 0xfff9..=0xfffb | 0xe0000..=0xe0fff)
}

/// The word that the JSON report carries for a value that serialises as a string; empty for any other.
#[must_use]
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\n\u{202e}b"), "a�[31m��b");
    }

    #[test]
    fn an_empty_name_is_no_blank() {
        assert_eq!(named_path("step/"), "step/(no name)");
        assert_eq!((named(""), named("a\n")), ("(no name)".into(), "a�".into()));
    }

    #[test]
    fn long_names_are_cut_in_the_middle() {
        let whole = format!("{}{}", "a".repeat(36), "b".repeat(36));
        assert_eq!(shortened(&format!("step/{whole}")), format!("step/{whole}"));
        let long = format!("step/{}ü{}/add", "a".repeat(60), "b".repeat(30));
        assert_eq!(shortened(&long), format!("step/{}…{}/add", "a".repeat(48), "b".repeat(23)));
    }
}
