//! Blocks as HTML: parts, tables, findings. What is told is not known here.

use super::cells::{cell, figure, place};
use super::escape::{code, escape, prose};
use super::plot;
use crate::document::names::{named_path, printable};
use crate::document::{Block, Cell, Column, FindingBlock, Kind, Paragraph, Table, Tone};
use crate::report::units::count;

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
        Block::Stack(one) => plot::stack(one, out),
        Block::Tools(id) => out.push_str(&format!("<div id=\"{id}-tools\" class=\"tools\" hidden></div>\n")),
        Block::Graph { id, without, caption } => out.push_str(&format!(
            "<noscript><p>{without}</p></noscript>\n<div id=\"{id}-tools\" class=\"tools\" hidden></div>\n\
             <div id=\"{id}-graph\" hidden></div>\n<p id=\"{id}-said\" class=\"said\" role=\"status\"></p>\n<p>{}</p>\n",
            cell(caption)
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
