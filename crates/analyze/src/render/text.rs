//! Format `text`: the report for a terminal of 80 columns.

mod explain;
mod page;
mod width;

pub use self::explain::{explanation, rule_list};
use self::page::Page;
use self::width::{left, right};
use super::{Options, Output, RenderError, Renderer};
use crate::document::names::{named_path, printable};
use crate::document::{Block, Cell, Document, FindingBlock, Kind, Paragraph, Row, Shown, Table, Tone};
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
    let mut is_after_table = false;
    for block in blocks {
        let is_table = matches!(block, Block::Table(_));
        if std::mem::replace(&mut is_after_table, is_table) && is_table {
            page.blank();
        }
        match block {
            Block::Part { title, .. } | Block::Heading(title) => page.heading(&title.words()),
            Block::Paragraph(paragraph) => self::paragraph(paragraph, page),
            Block::Quote(text) => page.paragraph(Tone::Plain, "  ", &text.words()),
            Block::Small(text) => page.paragraph(Tone::Dim, "  ", text),
            Block::List(items) => {
                items.iter().for_each(|item| page.paragraph(Tone::Plain, "  - ", &item.words()));
            }
            Block::Facts(facts) => {
                page.blank();
                for (name, of) in facts {
                    page.paragraph(Tone::Plain, &format!("{} ", left(&name.words(), 11)), &of.words());
                }
            }
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

/// Blanks between columns, columns of a bar, and of a long name at least.
const BETWEEN: usize = 2;
const BAR: usize = 24;
const LEAST: usize = 16;

/// A table whose columns are as wide as what they hold; the longest names give way where the line has no room.
fn table(table: &Table, page: &mut Page) {
    let shown = |row: &Row| -> Vec<String> {
        let cells = row.cells.iter().enumerate().map(|(at, cell)| match cell {
            Cell::Bar(parts) => bar(parts.iter().map(|(_, share)| share).sum(), BAR),
            cell if at == 0 => " ".repeat(row.depth) + &printable(&cell.words()),
            cell => printable(&cell.words()),
        });
        cells.collect()
    };
    let titles: Vec<String> = table.columns.iter().map(|column| column.title.words()).collect();
    let has_titles = titles.iter().any(|title| !title.is_empty());
    let rows: Vec<Vec<String>> = table.rows.iter().map(shown).collect();
    let widest = |at: usize| {
        let cells = rows.iter().chain([&titles]).filter_map(|row| row.get(at));
        cells.map(|cell| width::of(cell)).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..table.columns.len()).map(widest).collect();
    loop {
        let all = widths.iter().map(|width| width + BETWEEN).sum::<usize>();
        let longest = widths.iter_mut().filter(|width| **width > LEAST).max();
        match (all.checked_sub(page::COLUMNS).filter(|over| *over > 0), longest) {
            (Some(over), Some(width)) => *width = width.saturating_sub(over.min(8)).max(LEAST),
            _ => break,
        }
    }
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&table.columns).zip(&widths).map(|((cell, column), &width)| {
            let cell = if column.kind == Kind::Figures { right(cell, width) } else { left(cell, width) };
            " ".repeat(BETWEEN) + &cell
        });
        cells.collect::<String>()
    };
    if has_titles {
        page.line(Tone::Dim, &line(&titles));
    }
    rows.iter().for_each(|row| page.line(Tone::Plain, &line(row)));
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
