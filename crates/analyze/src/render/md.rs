//! Format `md`: one Markdown text that fits a comment on a pull request. GitHub's flavour: tables, folded details.

mod escape;

use self::escape::{code, prose};
use super::{Options, Output, RenderError, Renderer};
use crate::document::{Block, Cell, Document, FindingBlock, Kind, Paragraph, Shown, Table};
use crate::report::Report;
use crate::report::units::count;

pub(super) const RENDERER: Renderer =
    Renderer { name: "md", about: "Markdown, for comments on pull requests", output: Output::Text(render) };

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let document = Document::of(report, Shown::MD);
    let mut page = format!("## {}\n", prose(&document.verdict.1));
    blocks(&document.blocks, &mut page);
    Ok(page)
}

/// A cell. What is from outside is escaped.
fn cell(shown: &Cell) -> String {
    match shown {
        Cell::Absent(_) => "–".into(),
        Cell::Plain(text) | Cell::Text(text) | Cell::Words(text) | Cell::Slashes(text) => prose(text),
        Cell::Code(name) | Cell::Path(name) => code(name),
        Cell::Key { cell: of, .. } | Cell::Together(of) | Cell::Link { cell: of, .. } => cell(of),
        Cell::Row(cells) => cells.iter().map(cell).collect(),
        Cell::Empty | Cell::Raw(_) | Cell::Figure(_) | Cell::Bar(_) | Cell::Swatch(_) => shown.words(),
    }
}

/// Adds a paragraph, or a line of HTML.
fn add(markdown: &str, page: &mut String) {
    page.push('\n');
    page.push_str(markdown);
    page.push('\n');
}

fn blocks(blocks: &[Block], page: &mut String) {
    for block in blocks {
        match block {
            Block::Part { title, .. } | Block::Heading(title) => add(&format!("### {}", cell(title)), page),
            Block::Paragraph(Paragraph { lead, text, .. }) => {
                add(format!("{} {}", lead.trim(), cell(text)).trim_start(), page);
            }
            Block::List(items) => {
                let items: Vec<String> = items.iter().map(|item| format!("- {}", cell(item))).collect();
                add(&items.join("\n"), page);
            }
            Block::Quote(text) => add(&format!("> {}", cell(text)), page),
            Block::Facts(facts) => {
                let rows = facts.iter().map(|(name, of)| vec![cell(name), cell(of)]);
                lines(&[("", Kind::Words), ("", Kind::Words)], rows, page);
            }
            Block::Table(table) => self::table(table, page),
            Block::Findings(findings) => findings.iter().for_each(|one| finding(one, page)),
            Block::Details { summary, blocks, .. } => {
                folded(&cell(summary), page, |page| self::blocks(blocks, page))
            }
            Block::More { left_out, what } => {
                add(&format!("and {} more {what}", count(*left_out as u64)), page);
            }
            Block::Small(text) => add(&format!("<sub>{text}</sub>"), page),
            Block::Plot(_) | Block::Stack(_) | Block::Tools(_) | Block::Graph { .. } | Block::Status(_) => {}
        }
    }
}

fn folded(summary: &str, page: &mut String, fill: impl FnOnce(&mut String)) {
    add(&format!("<details><summary>{summary}</summary>"), page);
    fill(page);
    add("</details>", page);
}

fn table(table: &Table, page: &mut String) {
    let titles: Vec<String> = table.columns.iter().map(|column| cell(&column.title)).collect();
    let columns = titles.iter().zip(&table.columns).map(|(title, column)| (title.as_str(), column.kind));
    let rows = table.rows.iter().map(|row| row.cells.iter().map(cell).collect());
    lines(&columns.collect::<Vec<_>>(), rows, page);
}

/// A table of Markdown, where it has rows.
fn lines(columns: &[(&str, Kind)], rows: impl Iterator<Item = Vec<String>>, page: &mut String) {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let heads = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let rule = columns.iter().map(|(_, kind)| if *kind == Kind::Figures { "--:" } else { ":--" }.to_owned());
    let rows: Vec<String> = rows.map(line).collect();
    if !rows.is_empty() {
        add(&format!("{}\n{}\n{}", line(heads), line(rule.collect()), rows.join("\n")), page);
    }
}

fn finding(one: &FindingBlock, page: &mut String) {
    folded(&format!("{}. {}", one.at + 1, prose(&one.title)), page, |page| {
        add(&format!("**What to do:** {}", prose(&one.advice)), page);
        if let Some(gain) = &one.gain {
            add(&format!("**Gain:** {}", cell(gain)), page);
        }
        let rows = one.evidence.iter().map(|(label, of, _)| vec![prose(label), prose(&of.words())]);
        lines(&[("Evidence", Kind::Words), ("", Kind::Figures)], rows, page);
        let rank = one.rank.as_ref().map_or_else(String::new, |rank| format!(", rank {}", cell(rank)));
        add(&format!("Rule {}{rank}; `stepscope explain {}`", code(one.rule), one.rule), page);
    });
}
