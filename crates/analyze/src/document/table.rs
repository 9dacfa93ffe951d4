//! Filling tables, column by column: each says where it is shown.

use super::block::{Block, Column, Kind, Row, Table};
use super::{Cell, Document, Shown};

/// A table of things that is being filled.
pub(crate) struct Filling<'d, T> {
    document: &'d mut Document,
    is_shown: bool,
    things: Vec<T>,
    table: Table,
}

impl Document {
    /// A table of things; nothing where there are none, or it is not shown.
    pub(crate) fn table<T>(
        &mut self,
        shown: Shown,
        caption: &str,
        things: impl IntoIterator<Item = T>,
    ) -> Filling<'_, T> {
        let is_shown = self.is(shown);
        let things: Vec<T> = if is_shown { things.into_iter().collect() } else { Vec::new() };
        let rows = things.iter().map(|_| Row::default()).collect();
        let table = Table { caption: caption.into(), rows, ..Table::default() };
        Filling { document: self, is_shown, things, table }
    }
}

impl<T> Filling<'_, T> {
    /// The id of a table that scripts sort.
    pub(crate) fn id(mut self, id: &'static str) -> Self {
        self.table.id = id;
        self
    }

    /// The place of all rows.
    pub(crate) fn below(mut self, at: impl Into<String>) -> Self {
        self.table.at = at.into();
        self
    }

    /// What is said of each row.
    pub(crate) fn each(mut self, say: impl Fn(&T, &mut Row)) -> Self {
        self.things.iter().zip(&mut self.table.rows).for_each(|(thing, row)| say(thing, row));
        self
    }

    /// The place of each row.
    pub(crate) fn at(self, at: impl Fn(&T) -> String) -> Self {
        self.each(|thing, row| row.at = at(thing))
    }

    /// A column. Its title begins with `>` where it is of figures, with `~` where it is of long texts; what stands behind a
    /// bar is its title on a page. Figures are at `at` below the place of their row.
    pub(crate) fn column(
        self,
        shown: Shown,
        title: &str,
        at: &'static str,
        cell: impl Fn(&T) -> Cell,
    ) -> Self {
        let kind = match title.chars().next() {
            Some('>') => Kind::Figures,
            Some('~') => Kind::Sentences,
            _ => Kind::Words,
        };
        let (brief, page) = title.trim_start_matches(['>', '~']).split_once('|').unzip();
        let whole = title.trim_start_matches(['>', '~']);
        let is_page = self.document.is(Shown::HTML);
        let title = Cell::Raw(if is_page { page } else { brief }.unwrap_or(whole).into());
        self.add(shown, Column { title, kind, at }, cell)
    }

    /// Any column.
    pub(crate) fn add(mut self, shown: Shown, column: Column, cell: impl Fn(&T) -> Cell) -> Self {
        if self.is_shown && self.document.is(shown) {
            self.table.columns.push(column);
            self.things.iter().zip(&mut self.table.rows).for_each(|(thing, row)| row.cells.push(cell(thing)));
        }
        self
    }

    /// Adds a row that is of no such thing; cells that it lacks are empty.
    pub(crate) fn rest(mut self, is_there: bool, mut row: Row) -> Self {
        if is_there && self.is_shown {
            row.cells.resize(self.table.columns.len(), Cell::Empty);
            self.table.rows.push(row);
        }
        self
    }

    /// The table as it is now.
    pub(crate) fn end(self) {
        if !self.table.rows.is_empty() {
            self.document.blocks.push(Block::Table(self.table));
        }
    }
}
