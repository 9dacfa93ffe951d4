//! Cells as HTML: figures that say where they come from, names, bars, colours.

use super::escape::{code, escape, path, prose, slashes, words};
use crate::document::{Cell, Figure};

/// The attribute that says where things are in the JSON report: figures, or what they stand in, whose place they are
/// below. Nothing where that of the column says it.
pub(super) fn place(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" data-at=\"{}\"", escape(at)) }
}

pub(super) fn figure(figure: &Figure) -> String {
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
        Cell::Bar(parts) => bar(parts),
        Cell::Swatch(class) => key(class),
        Cell::Key { color, is_line: false, cell: of } => {
            format!("<span class=\"word\">{}{}</span>", key(color), cell(of))
        }
        Cell::Key { color, is_line: true, cell: of } => {
            format!("<span class=\"key-line\">{}\u{a0}{}</span>", key_of_line(color), cell(of))
        }
        Cell::Together(of) => format!("<span class=\"word\">{}</span>", cell(of)),
        Cell::Link { to, does: (name, value), cell: of } => {
            format!("<a href=\"#{to}\" data-{name}=\"{}\">{}</a>", escape(value), cell(of))
        }
        Cell::Row(cells) => cells.iter().map(cell).collect(),
    }
}

/// The colour of a row, beside its name.
fn key(class: &str) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"10\" height=\"10\"/></svg> "
    )
}

/// The look of a line, beside its name.
fn key_of_line(class: &str) -> String {
    format!(
        "<svg class=\"key long\" viewBox=\"0 0 24 10\" aria-hidden=\"true\">\
         <line class=\"line {class}\" x2=\"24\" y1=\"5\" y2=\"5\"/></svg>"
    )
}

/// A bar of several shares of one, one after the other.
fn bar(parts: &[(String, f64)]) -> String {
    let mut out = String::from("<svg class=\"bar\" aria-hidden=\"true\">");
    let mut x = 0.0;
    for (class, share) in parts {
        let width = if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 };
        let place = if x > 0.0 { format!(" x=\"{x:.2}%\"") } else { String::new() };
        out.push_str(&format!("<rect class=\"{class}\"{place} width=\"{width:.2}%\" height=\"100%\"/>"));
        x += width;
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_no_zero() {
        let figure = |value: Option<u64>| cell(&crate::document::cell::ns(value).at("a/0"));
        assert_eq!(figure(None), "<span class=\"none\" title=\"not known\">–</span>");
        assert_eq!(figure(Some(1_500)), "<data value=\"1500\" data-at=\"a/0\">1.50 µs</data>");
    }
}
