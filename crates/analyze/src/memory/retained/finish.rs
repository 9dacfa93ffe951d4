//! What sections hold over the steps: what each left allocated, placed at the steps in which it ended and added up. What
//! is allocated inside a section and freed by the one around it says nothing apart: such sections are shown as one.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;
use stepscope_core::path::join;

use crate::accumulate::saturate::saturate_signed;
use crate::memory::retained::RetainedPoint;
use crate::run::RunAcc;
use crate::sections::aggregates::finish::totals;
use crate::sections::finish::Elsewhere;
use crate::sections::paths::{PathTree, ROOT};
use crate::steps::numbering::Numbering;
use crate::summary::{RetainedFigures, RetainedPoint as Point, RetainedSection, RetainedSeries, StepNumbers};

/// Sections that are shown at most; the others are counted together.
const SHOWN: usize = 8;

/// Sections that hold less than this part of the one that holds most are counted together.
const SMALL: u128 = 100;

/// A section is shown as one with those inside it where their parts hold more than this many times what they hold
/// together.
const CANCELLED: u128 = 3;

/// Bytes by point.
type Row = Vec<i128>;

/// What the sections hold over the steps of a mode; absent where no step that has a number says what it allocated, or
/// where numbers do not tell which step comes after which.
pub(crate) fn series(run: &RunAcc, mode: Mode, numbering: &Numbering) -> Option<RetainedSeries> {
    let points = run.retained.of_mode(mode as usize).filter(|_| numbering.kind != StepNumbers::Repeated)?;
    let mut steps: Vec<u64> = Vec::new();
    let mut ends_ns: Vec<u64> = Vec::new();
    let mut columns: BTreeMap<u32, Row> = BTreeMap::new();
    let numbered = numbering.told(points, |step, point| (step, point.clone()));
    let size = numbered.len();
    let mut put = |at: usize, point: &RetainedPoint| {
        for (column, net) in point.nets() {
            let row = columns.entry(column).or_insert_with(|| vec![0; size]);
            if let Some(slot) = row.get_mut(at) {
                *slot = slot.wrapping_add(net);
            }
        }
    };
    for (at, (step, point)) in numbered.iter().enumerate() {
        steps.push(*step);
        ends_ns.push(ends_ns.last().copied().unwrap_or(0).max(point.until_ns));
        put(at, point);
    }
    for point in run.retained.beside(mode as usize) {
        let at = ends_ns.partition_point(|&end_ns| end_ns < point.until_ns);
        put(at.min(size.saturating_sub(1)), point);
    }
    let mut tree = Tree::of(run, columns);
    let mut rows = Vec::new();
    tree.tops().into_iter().for_each(|path| tree.split(path, &mut rows));
    Some(written(mode, points.shift.min(63), steps, rows, tree))
}

/// Sections with what they hold: themselves, and with all inside them.
struct Tree<'a> {
    paths: &'a PathTree,
    own: BTreeMap<u32, Row>,
    inclusive: BTreeMap<u32, Row>,
    children: BTreeMap<u32, Vec<u32>>,
    /// Of sections that are not told apart.
    other: Row,
    excluded: BTreeSet<String>,
}

impl<'a> Tree<'a> {
    fn of(run: &'a RunAcc, mut columns: BTreeMap<u32, Row>) -> Self {
        let paths = run.sections.tree();
        let mut tree = Self {
            paths,
            own: BTreeMap::new(),
            inclusive: BTreeMap::new(),
            children: BTreeMap::new(),
            other: columns.remove(&0).unwrap_or_default(),
            excluded: BTreeSet::new(),
        };
        let by_id: BTreeMap<u64, u32> =
            run.retained.columns().into_iter().map(|(column, id)| (id, column)).collect();
        let elsewhere = Elsewhere::of(run);
        let totals = totals(run);
        for (path, acc) in run.sections.sorted() {
            let Some(row) = by_id.get(&paths.id(path)).and_then(|column| columns.remove(column)) else {
                continue;
            };
            // Where steps or batches may be inside, their memory is in the figures of the spans; the processes' own sums
            // leave it out.
            let said = || totals.get(&join(paths.names(path)))?.memory;
            let agree = || {
                said().is_some_and(|[.., alloc, free]| {
                    alloc == Some(acc.self_alloc) && free == Some(acc.self_free)
                })
            };
            if elsewhere.may_be_inside(acc) && !agree() {
                tree.excluded.insert(join(paths.names(path)));
            } else {
                tree.put(path, row);
            }
        }
        tree
    }

    fn put(&mut self, path: u32, row: Row) {
        let mut at = path;
        loop {
            match self.inclusive.get_mut(&at) {
                Some(sum) => add(sum, &row),
                None => {
                    self.inclusive.insert(at, row.clone());
                    let children = self.children.entry(self.paths.parent(at)).or_default();
                    if at != ROOT {
                        children.push(at);
                    }
                }
            }
            if at == ROOT {
                break;
            }
            at = self.paths.parent(at);
        }
        self.own.insert(path, row);
    }

    fn tops(&self) -> Vec<u32> {
        self.children.get(&ROOT).cloned().unwrap_or_default()
    }

    /// The rows of a section and of what is inside it: one where they make up for each other.
    fn split(&mut self, path: u32, rows: &mut Vec<Shown>) {
        let children = self.children.get(&path).cloned().unwrap_or_default();
        let Some(all) = self.inclusive.get(&path) else { return };
        let together = peak(all).1.unsigned_abs();
        let of_parts =
            children.iter().filter_map(|child| self.inclusive.get(child)).chain(self.own.get(&path));
        let apart = of_parts.fold(0u128, |sum, part| sum.saturating_add(peak(part).1.unsigned_abs()));
        let is_one = children.is_empty() || apart > together.saturating_mul(CANCELLED);
        let shown = if is_one { self.inclusive.remove(&path) } else { self.own.remove(&path) };
        if let Some(row) = shown {
            let includes_nested = is_one && !children.is_empty();
            rows.push(Shown { path: join(self.paths.names(path)), includes_nested, row });
        }
        if !is_one {
            children.into_iter().for_each(|child| self.split(child, rows));
        }
    }
}

/// A row of the series: what is held by point, first what was left, then the sum up to there.
struct Shown {
    path: String,
    includes_nested: bool,
    row: Row,
}

fn add(sum: &mut Row, row: &Row) {
    if sum.len() < row.len() {
        sum.resize(row.len(), 0);
    }
    sum.iter_mut().zip(row).for_each(|(sum, net)| *sum = sum.wrapping_add(*net));
}

/// What is held after each point.
fn retained(nets: &Row) -> impl Iterator<Item = i128> {
    nets.iter().scan(0i128, |sum, net| {
        *sum = sum.wrapping_add(*net);
        Some(*sum)
    })
}

/// Where most is held, or missing, the first of equals: place and bytes.
fn peak(nets: &Row) -> (usize, i128) {
    retained(nets).enumerate().fold((0, 0), |most, (at, sum)| {
        if sum.unsigned_abs() > most.1.unsigned_abs() { (at, sum) } else { most }
    })
}

fn figures(nets: &Row, steps: &[u64]) -> RetainedFigures {
    let (at, bytes) = peak(nets);
    RetainedFigures {
        first_bytes: nets.first().copied().map_or(0, saturate_signed),
        last_bytes: retained(nets).last().map_or(0, saturate_signed),
        peak_bytes: saturate_signed(bytes),
        peak_step: steps.get(at).copied().unwrap_or(0),
    }
}

fn written(mode: Mode, shift: u32, steps: Vec<u64>, mut rows: Vec<Shown>, tree: Tree<'_>) -> RetainedSeries {
    let size = |shown: &Shown| peak(&shown.row).1.unsigned_abs();
    rows.sort_by_cached_key(|shown| (std::cmp::Reverse(size(shown)), shown.path.clone()));
    let least = rows.first().map_or(0, size).div_ceil(SMALL).max(1);
    let shown = rows.iter().take(SHOWN).take_while(|shown| size(shown) >= least).count();
    let mut other: Row = vec![0; steps.len()];
    add(&mut other, &tree.other);
    rows.split_off(shown).iter().for_each(|small| add(&mut other, &small.row));
    let mut all = other.clone();
    rows.iter().for_each(|shown| add(&mut all, &shown.row));
    let by_section: Vec<Vec<i128>> = rows.iter().map(|shown| retained(&shown.row).collect()).collect();
    let points = steps.iter().zip(&all).zip(retained(&all).zip(retained(&other))).enumerate();
    let points = points.map(|(at, ((&step, &net), (sum, other)))| Point {
        step,
        net_bytes: saturate_signed(net),
        retained_bytes: saturate_signed(sum),
        sections: by_section.iter().map(|row| row.get(at).copied().map_or(0, saturate_signed)).collect(),
        other_bytes: saturate_signed(other),
    });
    RetainedSeries {
        mode,
        shift,
        points: points.collect(),
        sections: rows
            .iter()
            .map(|shown| RetainedSection {
                path: shown.path.clone(),
                includes_nested: shown.includes_nested,
                figures: figures(&shown.row, &steps),
            })
            .collect(),
        other: figures(&other, &steps),
        total: figures(&all, &steps),
        excluded: tree.excluded.into_iter().collect(),
    }
}
