//! The parts of a page: escaped text, figures that say where they come from, tables, sections.

use crate::render::common::names::{printable, shortened};
use crate::report::units;

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

/// A name.
pub(super) fn code(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

/// A path of names, which may break behind its slashes and nowhere else. Long names are cut in the middle, and whole in
/// what is shown beside the mouse.
pub(super) fn path(path: &str) -> String {
    let (shown, whole) = cut(path);
    format!("<code class=\"path\"{whole}>{}</code>", escape(&shown).replace('/', "/<wbr>"))
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

/// The attribute that says where things are in the JSON report: figures, or what they stand in, whose place they are
/// below. Nothing where that of the column says it.
pub(super) fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" data-at=\"{}\"", escape(at)) }
}

/// A figure: its place in the JSON report, its exact value there, and the value in words.
pub(super) fn figure(at: &str, value: impl std::fmt::Display, words: &str) -> String {
    format!("<data value=\"{value}\"{}>{}</data>", place(at), escape(words))
}

/// What stands for a figure that is not known.
pub(super) const UNKNOWN: &str = "<span class=\"none\" title=\"not known\">–</span>";

/// A figure that may not be known.
pub(super) fn known<T: std::fmt::Display + Copy>(
    at: &str,
    value: Option<T>,
    words: fn(T) -> String,
) -> String {
    value.map_or_else(|| UNKNOWN.into(), |value| figure(at, value, &words(value)))
}

pub(super) fn ns(at: &str, value: impl Into<Option<u64>>) -> String {
    known(at, value.into(), units::duration)
}

pub(super) fn bytes(at: &str, value: impl Into<Option<u64>>) -> String {
    known(at, value.into(), units::bytes)
}

pub(super) fn count(at: &str, value: impl Into<Option<u64>>) -> String {
    known(at, value.into(), units::count)
}

pub(super) fn share(at: &str, value: impl Into<Option<f64>>) -> String {
    known(at, value.into().filter(|value| value.is_finite()), units::percent)
}

/// A rank, or any number that is a name.
pub(super) fn number(at: &str, value: Option<i64>) -> String {
    known(at, value, |value| value.to_string())
}

/// Opens a part of the page with its heading.
pub(super) fn open(id: &str, heading: &str, out: &mut String) {
    out.push_str(&format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{heading}</h2>\n"
    ));
}

pub(super) fn close(out: &mut String) {
    out.push_str("</section>\n");
}

pub(super) fn paragraph(html: &str, out: &mut String) {
    out.push_str(&format!("<p>{html}</p>\n"));
}

/// A row of a table: its place, below which those of its figures are, and its cells.
pub(super) type Row<const N: usize> = (String, [String; N]);

/// A column of a table.
pub(super) struct Column<'a> {
    /// It begins with `>` where the column is of figures, with `~` where it is of long texts.
    title: &'a str,
    /// Where its figures are below the places of their rows, unless they say it themselves.
    at: &'a str,
}

impl<'a> From<&'a str> for Column<'a> {
    fn from(title: &'a str) -> Self {
        Self { title, at: "" }
    }
}

impl<'a> From<(&'a str, &'a str)> for Column<'a> {
    fn from((title, at): (&'a str, &'a str)) -> Self {
        Self { title, at }
    }
}

impl Column<'_> {
    fn head(&self) -> String {
        let words = self.title.trim_start_matches(['>', '~']);
        format!("<th scope=\"col\"{}{}>{words}</th>", self.head_class(), place(self.at))
    }

    /// The attribute of its head, and of the name of a row in it.
    fn head_class(&self) -> &'static str {
        if self.title.starts_with('>') { " class=\"n\"" } else { "" }
    }

    /// The attribute of its other cells. Most are figures, which have none.
    fn cell_class(&self) -> &'static str {
        match self.title.chars().next() {
            Some('>') => "",
            Some('~') => " class=\"wide\"",
            _ => " class=\"t\"",
        }
    }
}

/// A table; the first cell of a row is its name. Nothing where there are no rows.
pub(super) fn table<'a, const N: usize>(
    caption: &str,
    columns: [impl Into<Column<'a>>; N],
    rows: impl IntoIterator<Item = Row<N>>,
    out: &mut String,
) {
    table_with("", caption, columns, rows.into_iter().map(|(at, row)| (place(&at), row)), out);
}

/// The same of rows that have no place: their figures say all of it, or there are none.
pub(super) fn table_of_words<const N: usize>(
    caption: &str,
    columns: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    out: &mut String,
) {
    table_with("", caption, columns, rows.into_iter().map(|row| (String::new(), row)), out);
}

/// The same with attributes of the table, and of each row; rows have as many cells as there are columns.
pub(super) fn table_with<'a, R: AsRef<[String]>>(
    attributes: &str,
    caption: &str,
    columns: impl IntoIterator<Item = impl Into<Column<'a>>>,
    rows: impl IntoIterator<Item = (String, R)>,
    out: &mut String,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return;
    }
    let columns: Vec<Column<'_>> = columns.into_iter().map(Into::into).collect();
    // What scrolls must be reachable by the keyboard.
    out.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table{attributes}>\
         <caption>{caption}</caption>\n<thead><tr>"
    ));
    columns.iter().for_each(|column| out.push_str(&column.head()));
    out.push_str("</tr></thead>\n<tbody>\n");
    for (attributes, row) in rows {
        out.push_str(&format!("<tr{attributes}>"));
        for (at, (cell, column)) in row.as_ref().iter().zip(&columns).enumerate() {
            if at == 0 {
                out.push_str(&format!("<th scope=\"row\"{}>{cell}</th>", column.head_class()));
            } else {
                out.push_str(&format!("<td{}>{cell}</td>", column.cell_class()));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
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

    #[test]
    fn what_is_not_known_is_no_zero() {
        assert_eq!(ns("a", None), UNKNOWN);
        assert_eq!(ns("a/0", Some(1_500)), "<data value=\"1500\" data-at=\"a/0\">1.50 µs</data>");
    }
}
