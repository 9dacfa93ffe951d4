//! Format `text`: the report for a terminal of 80 columns.

mod explain;
mod page;
mod width;

pub use self::explain::{explanation, rule_list};
use self::page::Page;
use self::width::{left, right};
use super::{Options, Output, RenderError, Renderer};
use crate::document::names::named_path;
use crate::document::{
    Block, Cell, Column, Document, FindingBlock, Kind, Paragraph, Row, Shown, Table, Tone,
};
use crate::report::Report;
use crate::report::units::count;

pub(super) const RENDERER: Renderer =
    Renderer { name: "text", about: "for people, 80 columns", output: Output::Text(render) };

fn render(report: &Report, options: Options) -> Result<String, RenderError> {
    let document = Document::of(report, Shown::TEXT);
    let mut page = Page::new(options.color);
    let (tone, verdict) = &document.verdict;
    page.paragraph(*tone, "", verdict);
    blocks(&document.blocks, &mut page);
    Ok(page.finish())
}

fn blocks(blocks: &[Block], page: &mut Page) {
    for block in blocks {
        match block {
            Block::Part { title, .. } | Block::Heading(title) => page.heading(&title.words()),
            Block::Paragraph(paragraph) => self::paragraph(paragraph, page),
            Block::Quote(text) => page.paragraph(Tone::Plain, "  ", &text.words()),
            Block::Small(text) => page.paragraph(Tone::Dim, "  ", text),
            Block::List(items) => {
                items.iter().for_each(|item| page.paragraph(Tone::Plain, "  - ", &item.words()));
            }
            Block::Facts(facts) => facts.iter().for_each(|(name, of)| {
                page.paragraph(Tone::Plain, &format!("{} ", left(&name.words(), 11)), &of.words());
            }),
            Block::Table(table) => self::table(table, page),
            Block::Findings(findings) => findings.iter().for_each(|one| finding(one, page)),
            Block::Details { blocks, .. } => self::blocks(blocks, page),
            Block::More { left_out, what } => {
                let left_out = count(*left_out as u64);
                page.line(Tone::Dim, &format!("  and {left_out} more {what} (--format json has them all)"));
            }
            Block::Plot(_) | Block::Stack(_) | Block::Tools(_) | Block::Graph { .. } | Block::Status(_) => {}
        }
    }
}

fn paragraph(paragraph: &Paragraph, page: &mut Page) {
    let text = paragraph.text.words();
    match paragraph.is_line {
        true if text.is_empty() => page.blank(),
        true => page.line(paragraph.tone, &text),
        false => page.paragraph(paragraph.tone, &paragraph.lead, &text),
    }
}

fn table(table: &Table, page: &mut Page) {
    if table.columns.iter().any(|column| !column.title.is_empty()) {
        let titles = table.columns.iter().map(|column| column.title.clone()).collect();
        page.line(Tone::Dim, &line(&table.columns, &Row { cells: titles, ..Row::default() }));
    }
    for row in &table.rows {
        page.line(Tone::Plain, &line(&table.columns, row));
    }
}

fn line(columns: &[Column], row: &Row) -> String {
    let cells = columns.iter().zip(&row.cells).enumerate().map(|(at, (column, cell))| {
        let width = column.width;
        let text = match cell {
            Cell::Bar(parts) => bar(parts.iter().map(|(_, share)| share).sum(), width),
            cell => cell.words(),
        };
        match column.kind {
            _ if width == 0 => text,
            Kind::Figures => right(&text, width),
            _ if at == 0 => {
                let indent = " ".repeat(row.depth);
                left(&format!("{indent}{}", left(&text, width.saturating_sub(row.depth))), width)
            }
            _ => left(&text, width),
        }
    });
    cells.collect::<Vec<String>>().join(" ")
}

/// A bar in eighths of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    // A share above zero never looks like none.
    let eighths = ((share * columns as f64 * 8.0).round() as usize).max(usize::from(share > 0.0));
    let mut bar: String = std::iter::repeat_n('█', eighths / 8).collect();
    bar.extend(EIGHTHS.get(eighths % 8).filter(|_| !eighths.is_multiple_of(8)));
    bar
}

fn finding(one: &FindingBlock, page: &mut Page) {
    if one.at > 0 {
        page.blank();
    }
    page.paragraph(one.tone, &format!("{:>2}. ", one.at + 1), &one.title);
    let mut about = vec![format!("severity {}", one.severity.words()), one.rule.to_owned()];
    about.extend(one.rank.as_ref().map(|rank| format!("rank {}", rank.words())));
    about.extend(one.section.as_ref().map(|section| format!("in {}", named_path(section))));
    page.paragraph(Tone::Plain, "    ", &about.join(", "));
    let evidence = one.evidence.iter().map(|(label, of, _)| format!("{label} {}", of.words()));
    let evidence: Vec<String> = evidence.collect();
    if !evidence.is_empty() {
        page.paragraph(Tone::Dim, "    Because: ", &format!("{}.", evidence.join("; ")));
    }
    page.paragraph(Tone::Plain, "    What to do: ", &one.advice);
    if let Some(gain) = &one.gain {
        page.paragraph(Tone::Plain, "    Gain: ", &gain.words());
    }
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(0.001, 4), "▏");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.28, 4), "█▏");
        assert_eq!(bar(7.0, 4), "████");
        assert_eq!(bar(f64::NAN, 4), "");
    }
}
