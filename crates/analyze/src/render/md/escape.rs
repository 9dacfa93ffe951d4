//! Markdown that stays what it is meant to be, whatever names and messages hold.

use crate::document::names::printable;

/// Text as it is, on one line: no emphasis, links, HTML, headings or mentions; what stands between backticks is code.
pub(super) fn prose(text: &str) -> String {
    if !text.matches('`').count().is_multiple_of(2) {
        return plain(text);
    }
    let parts = text.split('`').enumerate();
    parts.map(|(position, part)| if position % 2 == 1 { code(part) } else { plain(part) }).collect()
}

/// Text without any marks.
fn plain(text: &str) -> String {
    let letters: Vec<char> = one_line(text).chars().collect();
    let word = |position: Option<usize>| {
        position.and_then(|position| letters.get(position)).is_some_and(|letter| letter.is_alphanumeric())
    };
    let mut out = String::with_capacity(text.len());
    for (position, &letter) in letters.iter().enumerate() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Emphasis needs a border of a word.
            '_' if word(position.checked_sub(1)) && word(Some(position + 1)) => out.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | '$' => {
                out.push('\\');
                out.push(letter);
            }
            // The comment keeps people and numbers from being linked.
            '@' | '#' => {
                out.push(letter);
                out.push_str("<!-- -->");
            }
            // What would begin a list.
            '-' | '+' if out.is_empty() => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

/// A name: code between backticks where that is safe in a table, else between tags.
pub(super) fn code(name: &str) -> String {
    let name = one_line(name);
    let is_plain = |letter: char| letter.is_alphanumeric() || " _./:()+-,=%…".contains(letter);
    let is_trimmed = !name.starts_with(' ') && !name.ends_with(' ');
    if !name.is_empty() && is_trimmed && name.chars().all(is_plain) {
        return format!("`{name}`");
    }
    let escaped: String = name
        .chars()
        .map(|letter| {
            let is_safe = letter.is_alphanumeric() || !letter.is_ascii() || letter == ' ';
            if is_safe { letter.to_string() } else { format!("&#{};", u32::from(letter)) }
        })
        .collect();
    format!("<code>{escaped}</code>")
}

fn one_line(text: &str) -> String {
    printable(&text.replace(['\n', '\r', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_cannot_become_markup() {
        let cases = [
            ("17 % goes into step/log_metrics itself", "17 % goes into step/log_metrics itself"),
            ("look at `a_b` now", "look at `a_b` now"),
            ("one ` tick", "one \\` tick"),
            ("<b>*x* [a](b) _y_", "&lt;b&gt;\\*x\\* \\[a\\](b) \\_y\\_"),
            ("ask @team about #12", "ask @<!-- -->team about #<!-- -->12"),
            ("- no list\n# no heading", "\\- no list #<!-- --> no heading"),
            ("a|b\\", "a\\|b\\\\"),
        ];
        for (text, markdown) in cases {
            assert_eq!(prose(text), markdown, "{text:?}");
        }
    }

    #[test]
    fn names_are_code() {
        assert_eq!(code("step/data_wait"), "`step/data_wait`");
        assert_eq!(code("a|`b`"), "<code>a&#124;&#96;b&#96;</code>");
        assert_eq!(code("</code><script>"), "<code>&#60;&#47;code&#62;&#60;script&#62;</code>");
        assert_eq!(code(""), "<code></code>");
    }
}
