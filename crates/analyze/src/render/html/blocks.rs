//! Blocks and cells as HTML: escaped text, figures that say where they come from, tables, parts. What is told is not
//! known here.

use super::{plot, svg};
use crate::document::names::{named_path, printable, shortened};
use crate::document::{Block, Cell, Column, Figure, FindingBlock, Kind, Paragraph, Table, Tone};
use crate::report::units::count;

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

fn code(name: &str) -> String {
    format!("<code>{}</code>", escape(name))
}

/// A path of names, which may break behind its slashes and nowhere else. Long names are cut in the middle, and whole in
/// what is shown beside the mouse.
fn path(path: &str) -> String {
    let (shown, whole) = cut(path);
    format!("<code class=\"path\"{whole}>{}</code>", slashes(&shown))
}

fn slashes(text: &str) -> String {
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

/// The attribute that says where things are in the JSON report: figures, or what they stand in, whose place they are
/// below. Nothing where that of the column says it.
fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" data-at=\"{}\"", escape(at)) }
}

fn figure(figure: &Figure) -> String {
    format!("<data value=\"{}\"{}>{}</data>", figure.value, place(&figure.at), escape(&figure.words()))
}

/// A cell.
pub(super) fn cell(shown: &Cell) -> String {
    match shown {
        Cell::Empty => String::new(),
        Cell::Absent(why) => format!("<span class=\"none\" title=\"{why}\">–</span>"),
        Cell::Raw(text) | Cell::Plain(text) => escape(text),
        Cell::Text(text) => prose(text),
        Cell::Words(text) => words(text),
        Cell::Code(name) => code(name),
        Cell::Path(text) => path(text),
        Cell::Slashes(text) => slashes(text),
        Cell::Figure(one) => figure(one),
        Cell::Bar(parts) => svg::bar(parts),
        Cell::Swatch(class) => svg::key(class),
        Cell::Key { color, is_line: false, cell: of } => {
            format!("<span class=\"word\">{}{}</span>", svg::key(color), cell(of))
        }
        Cell::Key { color, is_line: true, cell: of } => {
            format!("<span class=\"key-line\">{}\u{a0}{}</span>", svg::key_of_line(color), cell(of))
        }
        Cell::Together(of) => format!("<span class=\"word\">{}</span>", cell(of)),
        Cell::Link { to, does: (name, value), cell: of } => {
            format!("<a href=\"#{to}\" data-{name}=\"{}\">{}</a>", escape(value), cell(of))
        }
        Cell::Row(cells) => cells.iter().map(cell).collect(),
    }
}

/// A body, in which each part is a section.
pub(super) fn body(all: &[Block], out: &mut String) {
    let mut is_open = false;
    for one in all {
        if let Block::Part { id, title, .. } = one {
            if is_open {
                out.push_str("</section>\n");
            }
            is_open = true;
            let title = cell(title);
            out.push_str(&format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{title}</h2>\n"
            ));
        } else {
            block(one, out);
        }
    }
    if is_open {
        out.push_str("</section>\n");
    }
}

fn block(block_: &Block, out: &mut String) {
    match block_ {
        Block::Part { .. } => {}
        Block::Heading(title) => out.push_str(&format!("<h3>{}</h3>\n", cell(title))),
        Block::Paragraph(Paragraph { id, text, .. }) => {
            let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
            out.push_str(&format!("<p{id}>{}</p>\n", cell(text)));
        }
        Block::List(items) => {
            let items = items.iter().map(|item| format!("<li>{}</li>\n", cell(item)));
            out.push_str(&format!("<ul>\n{}</ul>\n", items.collect::<String>()));
        }
        Block::Quote(text) => out.push_str(&format!("<blockquote>{}</blockquote>\n", cell(text))),
        Block::Facts(rows) => facts(rows.iter().map(|(name, of)| ("", cell(name), cell(of))), out),
        Block::Table(rows) => table(rows, out),
        Block::Findings(all) => {
            out.push_str("<ol class=\"findings\">\n");
            all.iter().for_each(|one| finding(one, out));
            out.push_str("</ol>\n");
        }
        Block::Details { id, summary, blocks } => {
            let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
            out.push_str(&format!("<details{id}><summary>{}</summary>\n<div>\n", cell(summary)));
            blocks.iter().for_each(|one| block(one, out));
            out.push_str("</div></details>\n");
        }
        Block::More { left_out, what } => {
            out.push_str(&format!("<p>and {} more {what}</p>\n", count(*left_out as u64)));
        }
        Block::Small(text) => out.push_str(&format!("<p><small>{}</small></p>\n", escape(text))),
        Block::Plot(one) => plot::figure(one, out),
        Block::Tools(id) => out.push_str(&format!("<div id=\"{id}-tools\" class=\"tools\" hidden></div>\n")),
        Block::Graph { id, without } => out.push_str(&format!(
            "<noscript><p>{without}</p></noscript>\n<div id=\"{id}-tools\" class=\"tools\" hidden></div>\n\
             <div id=\"{id}-graph\" hidden></div>\n<p id=\"{id}-said\" class=\"said\" role=\"status\"></p>\n"
        )),
        Block::Status(id) => {
            out.push_str(&format!("<p id=\"{id}-said\" class=\"said\" role=\"status\"></p>\n"));
        }
    }
}

/// Names and what they are of, each with its class.
fn facts<'a>(rows: impl Iterator<Item = (&'a str, String, String)>, out: &mut String) {
    out.push_str("<dl class=\"facts\">\n");
    for (class, name, of) in rows {
        out.push_str(&format!("<div{class}><dt>{name}</dt><dd>{of}</dd></div>\n"));
    }
    out.push_str("</dl>\n");
}

/// Words that stand beside figures; what is longer has a line of its own.
const SHORT: usize = 40;

fn finding(one: &FindingBlock, out: &mut String) {
    let (class, degree) = match one.tone {
        Tone::Alarm => ("alarm", "severe"),
        Tone::Notice => ("notice", "notable"),
        _ => ("minor", "minor"),
    };
    let at = one.at;
    out.push_str(&format!(
        "<li id=\"finding-{at}\" class=\"finding {class}\"{}>\n<h3>{}</h3>\n<p class=\"about\"><span class=\"badge\">{degree}, \
         severity {}</span> {}",
        place(&format!("findings/{at}")),
        prose(&one.title),
        cell(&one.severity),
        code(one.rule),
    ));
    if let Some(rank) = &one.rank {
        out.push_str(&format!(" rank {}", cell(rank)));
    }
    if let Some(section) = &one.section {
        let (find, name) = (escape(&printable(section)), code(&named_path(section)));
        out.push_str(&format!(" in <a href=\"#sections\" data-section=\"{find}\">{name}</a>"));
    }
    out.push_str(&format!("</p>\n<p><strong>What to do:</strong> {}</p>\n", prose(&one.advice)));
    if let Some(gain) = &one.gain {
        out.push_str(&format!("<p><strong>Gain:</strong> {}</p>\n", cell(gain)));
    }
    let (plot, what) = one.shown_in;
    out.push_str(&format!("<p><a class=\"see\" href=\"#{plot}\">See it in {what}</a></p>\n"));
    if !one.evidence.is_empty() {
        out.push_str("<details><summary>The figures behind it</summary>\n");
        facts(one.evidence.iter().map(|(label, of, items)| evidence(label, of, items)), out);
        out.push_str("</details>\n");
    }
    out.push_str("</li>\n");
}

fn evidence(label: &str, of: &Cell, items: &[String]) -> (&'static str, String, String) {
    let (is_wide, shown) = match of {
        Cell::Figure(one) => (false, figure(one)),
        _ if !items.is_empty() => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
            (true, format!("<ul>{items}</ul>"))
        }
        of => (of.words().len() > SHORT, escape(&of.words())),
    };
    (if is_wide { " class=\"wide\"" } else { "" }, escape(label), shown)
}

/// The head of a column.
fn head(column: &Column) -> String {
    format!("<th scope=\"col\"{}{}>{}</th>", head_class(column), place(column.at), cell(&column.title))
}

/// The attribute of a column's head, and of the name of a row in it.
fn head_class(column: &Column) -> &'static str {
    if column.kind == Kind::Figures { " class=\"n\"" } else { "" }
}

/// The attribute of its other cells. Most are figures, which have none.
fn cell_class(column: &Column) -> &'static str {
    match column.kind {
        Kind::Figures => "",
        Kind::Sentences => " class=\"wide\"",
        Kind::Words => " class=\"t\"",
    }
}

/// A table; the first cell of a row is its name. What scrolls must be reachable by the keyboard.
fn table(table: &Table, out: &mut String) {
    let caption = escape(&table.caption);
    let id = if table.id.is_empty() { String::new() } else { format!(" id=\"{}\"", table.id) };
    out.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table{id}{}>\
         <caption>{caption}</caption>\n<thead><tr>",
        place(&table.at)
    ));
    table.columns.iter().for_each(|column| out.push_str(&head(column)));
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        let data = row.data.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value)));
        out.push_str(&format!("<tr{}{}>", place(&row.at), data.collect::<String>()));
        for (at, (of, column)) in row.cells.iter().zip(&table.columns).enumerate() {
            match at {
                0 => out.push_str(&format!("<th scope=\"row\"{}>{}</th>", head_class(column), cell(of))),
                _ => out.push_str(&format!("<td{}>{}</td>", cell_class(column), cell(of))),
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
        let figure = |value: Option<u64>| cell(&crate::document::cell::ns(value).at("a/0"));
        assert_eq!(figure(None), "<span class=\"none\" title=\"not known\">–</span>");
        assert_eq!(figure(Some(1_500)), "<data value=\"1500\" data-at=\"a/0\">1.50 µs</data>");
    }
}
