//! The sections as a tree, the most expensive first, and the most variable ones.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::{Mode, SectionKind, path};

use super::page::{Look, Page, known, tight_bytes, tight_percent};
use super::width::{left, right};
use crate::render::common::names::{named, named_path, printable};
use crate::report::Report;
use crate::report::units::{percent, short_count, short_duration, things};
use crate::summary::SectionRow;

/// Rows of the tree; of more sections those with the longest total are shown.
const ROWS: usize = 40;
/// Rows of the most variable sections.
const VARIABLE_ROWS: usize = 5;
/// MAD / median below which a section is not called variable.
const VARIABLE: f64 = 0.1;
const NAME: usize = 27;

pub(super) fn render(report: &Report, page: &mut Page) {
    if report.sections.is_empty() {
        return;
    }
    page.heading("Sections");
    page.line(
        Look::Dim,
        &row("", ["calls", "total", "self", "p50", "p95", "share", "alloc"].map(str::to_owned), ""),
    );
    let steps = steps_total(report);
    let tree = Tree::of(&report.sections);
    let mut shown = 0;
    tree.walk("", 0, &mut |section, depth, name| {
        shown += 1;
        let share = steps.and_then(|(mode, total_ns)| {
            let part = section.in_mode(mode)?;
            (total_ns > 0).then(|| part.total_ns as f64 / total_ns as f64)
        });
        let alloc = section
            .memory
            .map(|alloc| alloc.alloc_bytes / section.stats.count.max(1))
            .filter(|&size| size > 0);
        let cells = [
            short_count(section.stats.count),
            short_duration(section.stats.total),
            known(section.self_ns.or(section.self_busy_ns), short_duration),
            known(section.stats.p50, short_duration),
            known(section.stats.p95, short_duration),
            share.map_or(String::new(), tight_percent),
            alloc.map_or(String::new(), tight_bytes),
        ];
        page.plain(&row(&name, cells, &" ".repeat(depth.min(8))));
    });
    page.more(report.sections.len(), shown, "with less time", "with less time");
    page.line(Look::Dim, "  share: of the step time, on any thread; alloc: bytes allocated a call");
    let coverage = &report.summary.coverage;
    if coverage.partly_read().is_some() || coverage.partly_whole().is_some() {
        let all = coverage.recorded_steps.map_or("the spans read", |_| "the whole run");
        let whole = things(coverage.whole_steps, "step", "steps");
        let text =
            format!("calls, times and alloc: of {all}; share: of the {whole} read with all their sections");
        page.paragraph(Look::Dim, "  ", &text);
    }
    variable(report, page);
}

fn row(name: &str, cells: [String; 7], indent: &str) -> String {
    let widths = [6, 7, 7, 7, 7, 5, 7];
    let mut line = left(&format!("{indent}{}", left(name, NAME - indent.len())), NAME);
    for (cell, columns) in cells.iter().zip(widths) {
        line.push(' ');
        line.push_str(&right(cell, columns));
    }
    line
}

/// The mode of the report and the time of all its whole steps, warm-up included, as sections count it.
fn steps_total(report: &Report) -> Option<(Mode, u64)> {
    let mode = Mode::parse(report.summary.mode?)?;
    let row = report.detailed_metrics.modes.iter().find(|row| row.mode == mode)?;
    Some((mode, row.whole_all.total_ns))
}

/// Sections under their parents.
struct Tree<'a> {
    /// By parent path; empty for roots and for sections whose parent has no row.
    children: BTreeMap<String, Vec<(&'a SectionRow, bool)>>,
    shown: BTreeSet<&'a str>,
}

impl<'a> Tree<'a> {
    fn of(sections: &'a [SectionRow]) -> Self {
        let paths: BTreeSet<&str> = sections.iter().map(|section| section.path.as_str()).collect();
        let mut largest: Vec<&SectionRow> = sections.iter().collect();
        // Steps are what a reader looks for first.
        let is_other = |section: &SectionRow| section.kind != SectionKind::Step;
        largest.sort_by(|a, b| {
            is_other(a)
                .cmp(&is_other(b))
                .then_with(|| b.stats.total.cmp(&a.stats.total))
                .then_with(|| a.path.cmp(&b.path))
        });
        let shown = largest.iter().take(ROWS).map(|section| section.path.as_str()).collect();
        let mut children: BTreeMap<String, Vec<(&SectionRow, bool)>> = BTreeMap::new();
        for section in largest {
            let mut names = path::split(&section.path);
            names.pop();
            let parent = path::join(names.iter().map(String::as_str));
            let has_parent = paths.contains(parent.as_str()) && parent != section.path;
            children
                .entry(if has_parent { parent } else { String::new() })
                .or_default()
                .push((section, has_parent));
        }
        Self { children, shown }
    }

    /// Parents before children; names of sections without a parent are their whole path.
    fn walk(&self, parent: &str, depth: usize, visit: &mut impl FnMut(&SectionRow, usize, String)) {
        // Paths are bounded in depth, so this recursion is.
        for &(section, has_parent) in self.children.get(parent).into_iter().flatten() {
            let is_shown = self.shown.contains(section.path.as_str());
            if is_shown {
                visit(
                    section,
                    depth,
                    if has_parent { named(&section.name) } else { named_path(&section.path) },
                );
            }
            if !section.path.is_empty() {
                self.walk(&section.path, depth + usize::from(is_shown), visit);
            }
        }
    }
}

fn variable(report: &Report, page: &mut Page) {
    let find = |path: &String| report.sections.iter().find(|section| section.path == *path);
    let spread = |section: &SectionRow| {
        let (p50, mad) = (section.stats.p50?, section.stats.mad?);
        (p50 > 0).then(|| mad as f64 / p50 as f64)
    };
    let rows: Vec<(&SectionRow, f64)> = report
        .detailed_metrics
        .most_variable_sections
        .iter()
        .filter_map(find)
        .filter_map(|section| Some((section, spread(section)?)))
        .filter(|&(_, spread)| spread >= VARIABLE)
        .take(VARIABLE_ROWS)
        .collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Most variable sections");
    page.line(
        Look::Dim,
        &format!("{} {:>8} {:>9} {:>9} {:>9}", left("", 36), "MAD/p50", "p50", "p95", "max"),
    );
    for (section, spread) in rows {
        page.plain(&format!(
            "{} {} {} {} {}",
            left(&printable(&section.path), 36),
            right(&percent(spread), 8),
            right(&known(section.stats.p50, short_duration), 9),
            right(&known(section.stats.p95, short_duration), 9),
            right(&known(section.stats.max, short_duration), 9)
        ));
    }
}
