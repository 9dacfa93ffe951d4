//! The allocators of the run's processes: what the program has of them, what they have of the system, and what is unused.

use super::said;
use crate::document::cell::{UNKNOWN, code, number};
use crate::document::{Document, Shown};
use crate::summary::{FigureRow, HostFigures, ProcessFigures};

/// Rows where there is little room.
const LISTED: usize = 8;

/// An allocator of a process: the rank, the place of the process, its figures, the allocator's name.
type Row<'h> = (Option<i64>, usize, &'h [FigureRow], &'h str);

/// Whether a figure is told here.
pub(super) fn is_one(row: &FigureRow) -> bool {
    row.figure.starts_with("allocator_")
}

/// What they are: those of the processes, by process and name.
pub(super) fn of(processes: &[ProcessFigures]) -> impl Iterator<Item = Row<'_>> {
    processes.iter().enumerate().flat_map(|(place, process)| {
        let mut before = None;
        let rows = process.figures.iter().filter(|row| is_one(row)).filter_map(|row| row.about.as_deref());
        let names = rows.filter(move |&name| before.replace(name) != Some(name));
        names.map(move |name| (process.rank, place, process.figures.as_slice(), name))
    })
}

/// A figure of one, and its place among those of the process.
pub(super) fn figure<'h>(&(_, _, figures, name): &Row<'h>, figure: &str) -> Option<(usize, &'h FigureRow)> {
    let is_it = |row: &FigureRow| row.figure == figure && row.about.as_deref() == Some(name);
    let place = figures.iter().position(is_it)?;
    Some((place, figures.get(place)?))
}

/// A number of a figure, with the field that has it.
type Field = fn(&FigureRow) -> (Option<f64>, String);

const MEAN: Field = |row| (row.mean, "mean".into());
const MOST: Field = |row| (row.max, "max".into());
const FIRST: Field = |row| at(row, row.values.iter().position(Option::is_some));
const LAST: Field = |row| at(row, row.values.iter().rposition(Option::is_some));

fn at(row: &FigureRow, place: Option<usize>) -> (Option<f64>, String) {
    let value = place.and_then(|place| row.values.get(place).copied().flatten());
    (value, format!("values/{}", place.unwrap_or(0)))
}

pub(super) fn fill(at: usize, host: &HostFigures, doc: &mut Document) {
    let all = of(&host.processes).count();
    let most = if doc.is(Shown::HTML) { all } else { LISTED };
    let several = if host.processes.len() > 1 { Shown::ALL } else { Shown::NONE };
    let told = |name: &'static str, field: Field| {
        move |row: &Row<'_>| match figure(row, name) {
            Some((place, found)) => {
                let (value, field) = field(found);
                let cell = said(name, value);
                if value.is_some() { cell.at(format!("{place}/{field}")) } else { cell }
            }
            None => UNKNOWN,
        }
    };
    doc.table(Shown::ALL, "Allocators while steps ran, warm-up apart", of(&host.processes).take(most))
        .below(format!("host/hosts/{at}"))
        .at(|(_, process, ..)| format!("processes/{process}/figures"))
        .column(several, ">Rank", "", |(rank, ..)| number(*rank))
        .column(Shown::ALL, "Allocator", "", |(.., name)| code(name))
        .column(Shown::ALL, ">In use", "", told("allocator_live_bytes", MEAN))
        .column(Shown::HTML, ">In use at most", "", told("allocator_live_bytes", MOST))
        .column(Shown::ALL, ">Reserved|From the system", "", told("allocator_reserved_bytes", MEAN))
        .column(Shown::ALL, ">at most|From the system at most", "", told("allocator_reserved_bytes", MOST))
        .column(Shown::ALL, ">Unused: first|Unused, first", "", told("allocator_fragmentation_share", FIRST))
        .column(Shown::ALL, ">last|Unused, last", "", told("allocator_fragmentation_share", LAST))
        .column(Shown::ALL, ">most|Unused, most", "", told("allocator_fragmentation_share", MOST))
        .column(Shown::HTML, ">Arenas", "", told("allocator_arenas", MOST))
        .end();
    doc.more(Shown::BRIEF, all, most, ("allocator", "allocators"));
}

/// What a line of one is called.
pub(super) fn line(row: &Row<'_>, is_only: bool, what: &str) -> String {
    let (rank, _, _, name) = row;
    match rank.filter(|_| !is_only) {
        Some(rank) => format!("Rank {rank}: {name}, {what}"),
        None => format!("{name}, {what}"),
    }
}
