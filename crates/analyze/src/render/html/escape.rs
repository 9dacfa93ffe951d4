//! Text that stays text in HTML, whatever names hold.

use crate::document::names::{printable, shortened};

/// Text as text, in content and in quoted attributes alike.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in printable(&text.replace(['\n', '\r', '\t'], " ")).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

/// Sentences, in which words between backticks are code.
pub(super) fn prose(text: &str) -> String {
    if !text.matches('`').count().is_multiple_of(2) {
        return joined(&escape(text));
    }
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { code(part) } else { joined(&escape(part)) }).collect()
}

pub(super) fn code(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

/// A path of names, which may break behind its slashes and nowhere else. Long names are cut in the middle, and whole in
/// what is shown beside the mouse.
pub(super) fn path(path: &str) -> String {
    let (shown, whole) = cut(path);
    format!("<code class=\"path\"{whole}>{}</code>", slashes(&shown))
}

pub(super) fn slashes(text: &str) -> String {
    escape(text).replace('/', "/<wbr>")
}

/// Words of the user's own, cut like the names of a path.
pub(super) fn words(text: &str) -> String {
    match cut(text) {
        (shown, whole) if whole.is_empty() => escape(&shown),
        (shown, whole) => format!("<span{whole}>{}</span>", escape(&shown)),
    }
}

/// What is shown, and the attribute that says the whole where that is more.
fn cut(text: &str) -> (String, String) {
    let shown = shortened(text);
    let whole = if shown == text { String::new() } else { format!(" title=\"{}\"", escape(text)) };
    (shown, whole)
}

/// Units that stay with their number.
const UNITS: [&str; 15] =
    ["%", "ns", "µs", "ms", "s", "min", "h", "d", "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// The same words, in which no line ends between a number and its unit.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches(|letter: char| letter.is_ascii_punctuation() && letter != '%');
        let follows_number = out.ends_with(|letter: char| letter.is_ascii_digit());
        if at > 0 {
            out.push(if follows_number && UNITS.contains(&unit) { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            escape("</script><b a='1'>\"&\u{202e}\n"),
            "&lt;/script&gt;&lt;b a=&#39;1&#39;&gt;&quot;&amp;� "
        );
        assert_eq!(prose("see `a<b` now"), "see <code>a&lt;b</code> now");
        assert_eq!(prose("one ` only"), "one ` only");
    }

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(
            prose("37 % of 5 ms (1.5 GiB), in 3 steps"),
            "37\u{a0}% of 5\u{a0}ms (1.5\u{a0}GiB), in 3 steps"
        );
        assert_eq!(path("a/<b"), "<code class=\"path\">a/<wbr>&lt;b</code>");
    }
}
