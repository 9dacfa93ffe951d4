//! Which long stages a change needs, by the paths that it touches: a table. Everything else only looks at git.

use super::stages::{Length, STAGES};
use crate::Outcome;
use crate::process::{capture, command};
use std::collections::BTreeSet;

/// A path that begins so, and the long stages that look at what is there.
const TOUCHES: &[(&str, &[&str])] = &[
    ("crates/stepscope/src/export/", &["stack", "fuzz"]),
    ("crates/stepscope/src/", &["features", "root", "bench"]),
    ("crates/stepscope/src/lib.rs", &["rustdoc", "frameworks"]),
    ("crates/stepscope/src/api/", &["rustdoc", "frameworks"]),
    ("crates/stepscope/tests/", &["root"]),
    ("crates/stepscope/Cargo.toml", &["features"]),
    ("crates/macros/", &["frameworks"]),
    ("crates/mem/", &["frameworks", "allocator"]),
    ("crates/otlp/", &["stack", "fuzz"]),
    ("crates/server/", &["stack", "fuzz", "situations"]),
    ("crates/model/", &["fuzz", "perfetto"]),
    ("crates/analyze/src/render/", &["page"]),
    ("crates/analyze/src/document/", &["page"]),
    ("crates/analyze/front/", &["page"]),
    ("crates/analyze/src/", &["timed", "situations"]),
    ("crates/cli/", &["situations"]),
    ("crates/demo/", &["situations", "timed"]),
    ("collector-config/", &["stack"]),
    ("scripts/", &["stack"]),
    ("tests/stack/", &["stack"]),
    ("tests/page/", &["page"]),
    ("tests/perfetto/", &["perfetto"]),
    ("tests/e2e/", &["situations", "timed"]),
    ("tests/grafana/", &["grafana"]),
    ("tests/allocators/", &["frameworks"]),
    ("crates/metrics/src/source/allocators/", &["frameworks"]),
    ("crates/analyze/src/render/grafana", &["grafana"]),
    ("grafana/", &["grafana", "stack"]),
    ("crates/cli/src/command/push/", &["stack"]),
    ("xtask/src/dashboards/", &["grafana"]),
    ("fuzz/", &["fuzz"]),
    ("benches/", &["bench"]),
    ("integrations/", &["frameworks"]),
    ("examples/", &["frameworks"]),
];

/// Commits back from here that count as the change where nobody names one.
const RECENT: usize = 10;

/// The long stages that what changed since `base` needs.
pub(super) fn by_change(base: &str) -> Outcome<BTreeSet<&'static str>> {
    let paths = capture(command("git", &["diff", "--name-only", base]))
        .map_err(|problem| format!("`{base}` is no commit to compare with: {problem}"))?;
    Ok(of_paths(paths.lines()))
}

/// One long stage: of those that the last commits need, else of all, the one that the commit's hash says, so that each has
/// its turn.
pub(super) fn one() -> Outcome<&'static str> {
    let commits = capture(command("git", &["log", "--format=%H", "--max-count", &(RECENT + 1).to_string()]))?;
    let mut commits = commits.lines();
    let head = commits.next().ok_or("there is no commit")?;
    let touched = by_change(commits.last().unwrap_or(head))?;
    let long = STAGES.iter().filter(|stage| stage.length == Length::Long).map(|stage| stage.name);
    let chosen = by_hash(head, &touched.into_iter().collect::<Vec<_>>())
        .or_else(|| by_hash(head, &long.collect::<Vec<_>>()));
    chosen.ok_or_else(|| format!("`{head}` is no hash of a commit"))
}

fn of_paths<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<&'static str> {
    let stages = paths.flat_map(|path| TOUCHES.iter().filter(move |(begin, _)| path.starts_with(begin)));
    stages.flat_map(|(_, stages)| stages.iter().copied()).collect()
}

fn by_hash(hash: &str, stages: &[&'static str]) -> Option<&'static str> {
    let number = usize::from_str_radix(hash.get(..8)?, 16).ok()?;
    stages.get(number.checked_rem(stages.len())?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_long_stage_has_its_paths() {
        for stage in STAGES {
            let is_touched = TOUCHES.iter().any(|(_, stages)| stages.contains(&stage.name));
            assert_eq!(is_touched, stage.length == Length::Long, "{}", stage.name);
        }
    }

    #[test]
    fn paths_lead_to_stages() {
        let of = |paths: &[&str]| of_paths(paths.iter().copied()).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&["crates/model/src/lib.rs", "README.md"]), ["fuzz", "perfetto"]);
        assert_eq!(of(&["README.md"]), [""; 0]);
    }

    #[test]
    fn a_hash_chooses_one() {
        assert_eq!(by_hash("00000005ab", &["a", "b", "c"]), Some("c"));
        assert_eq!(by_hash("00000005ab", &[]), None);
        assert_eq!(by_hash("x", &["a"]), None);
    }
}
