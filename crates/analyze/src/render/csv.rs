//! Format `csv`: a folder of tidy tables, one kind of thing a table, one thing a row. Columns carry their units in
//! their names; what is not known is empty. Rows and figures are those of the JSON report; `tables` says which.

mod field;
mod rows;
mod select;
mod tables;

use self::select::Columns;
use self::tables::TABLES;
use super::{File, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "csv", about: "a folder of tables, for spreadsheets", output: Output::Folder(render) };

fn render(report: &Report) -> Result<Vec<File>, RenderError> {
    let report = rows::of(report).map_err(|error| RenderError(error.to_string()))?;
    let table = |&(name, rows, columns): &tables::Table| {
        let columns = Columns::parse(columns);
        let mut text = columns.header();
        select::each(&report, rows, &mut |row| columns.write(row, &mut text));
        File { name, text }
    };
    Ok(TABLES.iter().map(table).collect())
}
