//! What a report says, before any format: blocks in an order. Each part of the report has a file here, which says for each
//! of its blocks where it is shown; a new part is one file and its line in [`PARTS`]. How blocks look is said in `render`.

mod block;
pub(crate) mod cell;
pub(crate) mod letters;
pub(crate) mod names;
pub(crate) mod palette;
mod plot;
mod shown;
mod table;

pub(crate) mod changes;
mod critical_path;
mod distribution;
mod evidence;
pub(crate) mod examples;
mod findings;
pub(crate) mod host;
mod live_between;
pub(crate) mod live_memory;
mod loaders;
pub(crate) mod memory;
mod overview;
pub(crate) mod periods;
pub(crate) mod phases;
mod ranks;
mod recording;
pub(crate) mod sections;
pub(crate) mod series;
pub(crate) mod steps;
mod threads;
pub(crate) mod values;
mod waiting;

pub(crate) use block::{Block, Column, FindingBlock, Kind, Paragraph, Row, Table, Tone};
pub(crate) use cell::cells;
pub(crate) use cell::{Cell, Figure, Unit};
pub(crate) use palette::Palette;
pub(crate) use plot::{Plot, Stack};
pub(crate) use shown::Shown;

use crate::report::Report;

/// Adds a part of the report to a document.
type Part = fn(&Report, &mut Document);

/// Everything that is said, in its order, and where. What stands elsewhere in another format has two lines.
const PARTS: &[(Shown, Part)] = &[
    (Shown::ALL, overview::fill),
    (Shown::TEXT, phases::fill),
    (Shown::TEXT, critical_path::fill),
    (Shown::ALL, findings::fill),
    (Shown::TABLES, phases::fill),
    (Shown::HTML, steps::over_steps),
    (Shown::HTML, distribution::fill),
    (Shown::HTML, waiting::fill),
    (Shown::HTML, steps::slowest),
    (Shown::TABLES, critical_path::fill),
    (Shown::HTML, threads::fill),
    (Shown::HTML, examples::fill),
    (Shown::ALL, sections::fill),
    (Shown::BRIEF, threads::fill),
    (Shown::BRIEF, changes::fill),
    (Shown::BRIEF, periods::fill),
    (Shown::BRIEF, steps::slowest),
    (Shown::HTML, memory::fill),
    (Shown::HTML, live_memory::fill),
    (Shown::HTML, live_between::fill),
    (Shown::HTML, values::fill),
    (Shown::ALL, loaders::fill),
    (Shown::BRIEF, memory::fill),
    (Shown::BRIEF, live_memory::fill),
    (Shown::BRIEF, live_between::fill),
    (Shown::ALL, host::fill),
    (Shown::HTML, ranks::fill),
    (Shown::ALL, recording::fill),
    (Shown::HTML, findings::rules),
    (Shown::TEXT, recording::hints),
];

/// What is said about a run in one format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    /// The format.
    shown: Shown,
    /// What the run is called.
    pub(crate) run: String,
    /// Whether that is a name.
    pub(crate) is_named: bool,
    /// The verdict, and how much it stands out.
    pub(crate) verdict: (Tone, String),
    /// Everything else.
    pub(crate) blocks: Vec<Block>,
}

impl Document {
    /// What one of the formats says.
    #[must_use]
    pub(crate) fn of(report: &Report, shown: Shown) -> Self {
        let mut document = Self {
            shown,
            run: report.run_name().into(),
            is_named: report.run.id.is_some(),
            verdict: (overview::tone(report), report.summary.verdict.clone()),
            blocks: Vec::new(),
        };
        for (_, fill) in PARTS.iter().filter(|(place, _)| place.has(shown)) {
            fill(report, &mut document);
        }
        document
    }

    /// Whether it is for one of these.
    pub(crate) fn is(&self, shown: Shown) -> bool {
        shown.has(self.shown)
    }

    /// Adds a block where it is shown.
    pub(crate) fn add(&mut self, shown: Shown, block: impl FnOnce() -> Block) {
        if self.is(shown) {
            self.blocks.push(block());
        }
    }

    /// Begins a part of a page; its name in the navigation may be empty.
    pub(crate) fn part(&mut self, id: &'static str, link: &'static str, title: &str) {
        self.add(Shown::HTML, || Block::Part { id, link, title: title.into() });
    }

    /// A heading.
    pub(crate) fn heading(&mut self, shown: Shown, title: impl Into<Cell>) {
        self.add(shown, || Block::Heading(title.into()));
    }

    /// Running text.
    pub(crate) fn say(&mut self, shown: Shown, text: impl Into<Cell>) {
        self.lead(shown, Tone::Plain, "  ", text);
    }

    /// The same, with what a terminal sets before it, and how it looks.
    pub(crate) fn lead(&mut self, shown: Shown, tone: Tone, lead: &str, text: impl Into<Cell>) {
        let text = text.into();
        self.add(shown, || {
            Block::Paragraph(Paragraph { lead: lead.into(), tone, text, ..Paragraph::default() })
        });
    }

    /// One line of a terminal.
    pub(crate) fn line(&mut self, tone: Tone, text: impl Into<Cell>) {
        let text = text.into();
        self.add(Shown::TEXT, || {
            Block::Paragraph(Paragraph { tone, text, is_line: true, ..Paragraph::default() })
        });
    }

    /// What a bounded list left out; `what` names one and several.
    pub(crate) fn more(&mut self, shown: Shown, all: usize, listed: usize, what: (&str, &str)) {
        if all > listed {
            let left_out = all - listed;
            let is_one = left_out == 1 && self.is(Shown::TEXT);
            self.add(shown, || Block::More { left_out, what: if is_one { what.0 } else { what.1 }.into() });
        }
    }

    /// What is folded.
    pub(crate) fn details(
        &mut self,
        id: &'static str,
        summary: impl Into<Cell>,
        fill: impl FnOnce(&mut Self),
    ) {
        let outside = std::mem::take(&mut self.blocks);
        fill(self);
        let blocks = std::mem::replace(&mut self.blocks, outside);
        self.blocks.push(Block::Details { id, summary: summary.into(), blocks });
    }
}
