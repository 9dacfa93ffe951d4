//! The sections as the flame graph panel wants them: depth first, each with its depth, its time and its own time. A parent is
//! no shorter than its children together, which sections that ran at the same time would make it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::json;
use stepscope_core::path;

use super::frame::{Frame, short};
use super::panel::{Draft, flames};
use crate::report::Report;

/// Boxes: those with the most time.
const BOXES: usize = 1_000;

#[derive(Debug, Default)]
struct Node {
    own_path_ns: u64,
    children: BTreeMap<String, Self>,
}

impl Node {
    fn at(&mut self, names: &[String]) -> &mut Self {
        names.iter().fold(self, |node, name| node.children.entry(name.clone()).or_default())
    }

    fn width_ns(&self) -> u64 {
        self.own_path_ns.max(self.inside_ns())
    }

    fn inside_ns(&self) -> u64 {
        self.children.values().fold(0, |sum, child| sum.saturating_add(child.width_ns()))
    }
}

/// Lists of values of the panel's fields.
#[derive(Debug, Default)]
struct Rows {
    levels: Vec<u64>,
    values: Vec<u64>,
    own: Vec<u64>,
    labels: Vec<String>,
}

impl Rows {
    fn add(&mut self, name: &str, node: &Node, level: u64) {
        let width = node.width_ns();
        self.levels.push(level);
        self.values.push(width);
        self.own.push(width.saturating_sub(node.inside_ns()));
        self.labels.push(short(name));
        // The bound of path depths keeps this shallow.
        for (name, child) in &node.children {
            self.add(name, child, level + 1);
        }
    }
}

/// Of sections by their paths, with their times.
fn rows<'s>(sections: impl Iterator<Item = (&'s str, u64)>) -> Rows {
    let mut largest: Vec<(&str, u64)> = sections.collect();
    largest.sort_by_key(|(path, total_ns)| (Reverse(*total_ns), *path));
    let mut root = Node::default();
    for (path, total_ns) in largest.into_iter().take(BOXES) {
        root.at(&path::split(path)).own_path_ns = total_ns;
    }
    let mut rows = Rows::default();
    rows.add("total", &root, 0);
    rows
}

pub(super) fn panel(report: &Report) -> Draft {
    let Rows { levels, values, own, labels } =
        rows(report.sections.iter().map(|row| (&*row.path, row.stats.total)));
    let numbers = |values: Vec<u64>| values.into_iter().map(|value| json!(value)).collect();
    let frame = Frame::new("Sections")
        .meta(json!({"preferredVisualisationType": "flamegraph"}))
        .numbers("level", "short", numbers(levels))
        .numbers("value", "ns", numbers(values))
        .numbers("self", "ns", numbers(own))
        .texts("label", labels.into_iter().map(Into::into).collect());
    flames("Flame graph", "The wider, the longer: time of all calls, children below.", frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_follow_their_parents_and_are_no_longer_together() {
        let sections = [("a", 10), ("a-b", 1), ("a/x", 8), ("a/y", 4), ("m/n", 3)];
        let rows = rows(sections.into_iter());
        assert_eq!(rows.labels, ["total", "a", "x", "y", "a-b", "m", "n"]);
        assert_eq!(rows.levels, [0, 1, 2, 2, 1, 1, 2]);
        // `x` and `y` ran at the same time; `m` was not read.
        assert_eq!(rows.values, [16, 12, 8, 4, 1, 3, 3]);
        assert_eq!(rows.own, [0, 0, 8, 4, 1, 0, 3]);
    }
}
