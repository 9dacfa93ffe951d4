//! What a document is made of: headings, sentences, facts, tables, findings, plots.

use super::cell::Cell;
use super::plot::{Plot, Stack};

/// A part of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// Begins a part: its id, its name in the navigation (none where that is empty), its title.
    Part { id: &'static str, link: &'static str, title: Cell },
    /// A heading.
    Heading(Cell),
    /// Running text.
    Paragraph(Paragraph),
    /// What stands beside the text.
    Quote(Cell),
    /// A list.
    List(Vec<Cell>),
    /// Names and what they are of.
    Facts(Vec<(Cell, Cell)>),
    /// A table.
    Table(Table),
    /// What was found.
    Findings(Vec<FindingBlock>),
    /// What is folded.
    Details { id: &'static str, summary: Cell, blocks: Vec<Block> },
    /// What made it.
    Small(String),
    /// What a list leaves out.
    More { left_out: usize, what: String },
    /// A drawing.
    Plot(Box<Plot>),
    /// The bar of phases.
    Stack(Stack),
    /// What scripts fill, or need beside it: an id.
    Tools(&'static str),
    /// The same where scripts draw as well: what it says without them, and below it.
    Graph { id: &'static str, without: &'static str, caption: Cell },
    /// What scripts say.
    Status(&'static str),
}

/// How much something stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Strong,
    Dim,
    Good,
    Notice,
    Alarm,
}

/// Running text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Paragraph {
    /// Where scripts change it.
    pub(crate) id: &'static str,
    /// What a terminal sets before its first line, and as many blanks before the others.
    pub(crate) lead: String,
    /// How it looks.
    pub(crate) tone: Tone,
    /// Whether it is one line however long it is.
    pub(crate) is_line: bool,
    /// The text.
    pub(crate) text: Cell,
}

/// A table. The first cell of a row is its name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// Where scripts sort it.
    pub(crate) id: &'static str,
    /// What it is of.
    pub(crate) caption: String,
    /// The place of its rows in the JSON report.
    pub(crate) at: String,
    /// Its columns.
    pub(crate) columns: Vec<Column>,
    /// Its rows.
    pub(crate) rows: Vec<Row>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) title: Cell,
    /// What it holds.
    pub(crate) kind: Kind,
    /// Where its figures are below the places of their rows, unless they say it themselves.
    pub(crate) at: &'static str,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Figures, set right.
    Figures,
    /// Names and short texts.
    Words,
    /// Long texts.
    Sentences,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// Its place in the JSON report, below which those of its figures are.
    pub(crate) at: String,
    /// What scripts want to know of it.
    pub(crate) data: Vec<(&'static str, String)>,
    /// How far its name stands in on a terminal.
    pub(crate) depth: usize,
    /// Its cells, one a column.
    pub(crate) cells: Vec<Cell>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FindingBlock {
    /// Its place among all.
    pub(crate) at: usize,
    /// How much it stands out.
    pub(crate) tone: Tone,
    /// 0 to 100.
    pub(crate) severity: Cell,
    /// One sentence.
    pub(crate) title: String,
    /// The rule that found it.
    pub(crate) rule: &'static str,
    /// The rank it is about.
    pub(crate) rank: Option<Cell>,
    /// The section it is about.
    pub(crate) section: Option<String>,
    /// What to do.
    pub(crate) advice: String,
    /// What that brings.
    pub(crate) gain: Option<Cell>,
    /// The figures behind it: name, value, the elements of a list.
    pub(crate) evidence: Vec<(String, Cell, Vec<String>)>,
    /// The part of the page that shows it, and what that is called.
    pub(crate) shown_in: (&'static str, &'static str),
}
