//! Columns that text takes on a terminal, and how to make it fit: elision in the middle, padding, wrapping. No
//! layout of the report itself.

use crate::document::letters::letters;

/// Stands for what was left out.
const ELLIPSIS: &str = "…";

/// Columns of one character: 2 for those that terminals draw wide (East Asian Wide and Fullwidth, emoji),
/// 1 for every other. Zero-width characters count 1, so that a line is never wider than computed.
#[must_use]
pub(crate) const fn of_char(letter: char) -> usize {
    match letter as u32 {
        0x1100..=0x115f
        | 0x231a..=0x231b
        | 0x2329..=0x232a
        | 0x23e9..=0x23f3
        | 0x25fd..=0x25fe
        | 0x2614..=0x2615
        | 0x2630..=0x2637
        | 0x2648..=0x2653
        | 0x267f..=0x26ff
        | 0x2705..=0x27bf
        | 0x2b1b..=0x2b55
        | 0x2e80..=0x303e
        | 0x3041..=0x33ff
        | 0x3400..=0x4dff
        | 0x4e00..=0xa4cf
        | 0xa960..=0xa97f
        | 0xac00..=0xd7ff
        | 0xf900..=0xfaff
        | 0xfe10..=0xfe1f
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x16fe0..=0x18dff
        | 0x1aff0..=0x1b2ff
        | 0x1d300..=0x1d37f
        | 0x1f000..=0x1ffff
        | 0x20000..=0x3ffff => 2,
        _ => 1,
    }
}

/// Columns of a text.
#[must_use]
pub(crate) fn of(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// Cuts the middle out of what is wider than `columns`; a little more of the end is kept than of the start,
/// because the ends of call paths fill them apart.
#[must_use]
pub(crate) fn elide(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.into();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let letters = letters(text);
    let head = take(letters.iter().copied(), room / 2);
    let tail = take(letters.iter().rev().copied(), room - room / 2);
    head.into_iter().chain([ELLIPSIS]).chain(tail.into_iter().rev()).collect()
}

fn take<'a>(letters: impl Iterator<Item = &'a str>, columns: usize) -> Vec<&'a str> {
    let mut used = 0;
    letters
        .take_while(|&letter| {
            used += of(letter);
            used <= columns
        })
        .collect()
}

/// Elided to `columns` and filled with blanks on the right.
#[must_use]
pub(crate) fn left(text: &str, columns: usize) -> String {
    let mut cell = elide(text, columns);
    cell.extend(std::iter::repeat_n(' ', columns.saturating_sub(of(&cell))));
    cell
}

/// Elided to `columns` and filled with blanks on the left.
#[must_use]
pub(crate) fn right(text: &str, columns: usize) -> String {
    let cell = elide(text, columns);
    let mut padded: String = std::iter::repeat_n(' ', columns.saturating_sub(of(&cell))).collect();
    padded.push_str(&cell);
    padded
}

/// Breaks a paragraph between words into lines of at most `columns`; words that are wider are elided.
#[must_use]
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let word = elide(&word, columns);
        if !line.is_empty() && of(&line) + 1 + of(&word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text; a number and its unit are one.
fn words(text: &str) -> Vec<String> {
    const UNITS: &[&str] =
        &["%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "/s", "k/s", "M/s"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words
            .last_mut()
            .filter(|last| is_unit && last.ends_with(|letter: char| letter.is_ascii_digit()))
        {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.into()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(of("abc"), 3);
        assert_eq!(of("数据"), 4);
        assert_eq!(of("é▏…"), 3);
        assert_eq!(of("🚀"), 2);
    }

    #[test]
    fn the_middle_goes_first() {
        assert_eq!(elide("step/forward/layer/conv", 11), "step/…/conv");
        assert_eq!(elide("short", 5), "short");
        assert_eq!(elide("longer", 1), "…");
        assert_eq!(elide("longer", 0), "");
        assert_eq!(elide("数据数据数据", 6), "数…据");
        // What is seen as one letter is not cut, whatever it counts.
        assert_eq!(elide("ab👩\u{200d}💻cd", 8), "ab…cd");
        assert_eq!(elide("ae\u{301}e\u{301}e\u{301}b", 6), "a…e\u{301}b");
    }

    #[test]
    fn cells_have_their_width() {
        for text in ["", "a", "数据加载器", "a very long name of a section"] {
            assert_eq!(of(&left(text, 7)), 7, "{text}");
            assert_eq!(of(&right(text, 7)), 7, "{text}");
        }
    }

    #[test]
    fn paragraphs_break_between_words() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("takes 12 ms, or", 8), ["takes", "12 ms,", "or"]);
        assert_eq!(wrap("incomprehensible", 7), ["inc…ble"]);
        assert_eq!(wrap("", 7), Vec::<String>::new());
    }
}
