//! The stage that holds `grafana/` against others' tools: boards against Grafana's types (`tests/grafana`), rules against
//! Prometheus' `promtool`, which also has to notice bounds that are not those of the tests.

use crate::Outcome;
use crate::process::{capture, command, root, run, succeeds};
use std::fs;
use std::path::Path;

/// From the registry of npm, by exact versions.
const PACKAGES: [&str; 2] = ["@grafana/schema@13.2.3", "typescript@5.9.3"];
/// What the file of rules and the file of tests are called.
const RULES: &str = "rules.yaml";
const TESTS: &str = "tests.yaml";

/// A recorded run, whose report is a board, too.
const RUN: &str = "tests/golden/inputs/demo_slow_loader";

/// Types, then rules.
pub(crate) fn check(target: &Path, program: &Path) -> Outcome {
    types(&target.join("grafana"), program)?;
    rules(&target.join("promtool"))
}

fn types(folder: &Path, program: &Path) -> Outcome {
    if !folder.join("node_modules/@grafana/schema").is_dir() {
        fs::create_dir_all(folder)
            .map_err(|error| format!("failed to make {}: {error}", folder.display()))?;
        let mut install =
            command("npm", &["install", "--silent", "--no-save", "--ignore-scripts", "--prefix"]);
        install.arg(folder).args(PACKAGES);
        run(install).map_err(|problem| format!("{problem}; npm and its registry are needed"))?;
    }
    let report = folder.join("report.json");
    let mut analyze = command(program, &["analyze", RUN, "--format", "grafana", "--output"]);
    analyze.arg(&report);
    run(analyze)?;
    let mut check = command("node", &["tests/grafana/check.js"]);
    check.arg(folder).arg(report);
    run(check)
}

fn rules(work: &Path) -> Outcome {
    run(command("scripts/stack", &["build", "prometheus"]))?;
    let prometheus = capture(command("scripts/stack", &["path", "prometheus"]))?;
    let tool = Path::new(prometheus.trim()).with_file_name("promtool");
    let folder = root().join("grafana/prometheus");
    let checked = |task: &[&str], file: &Path| {
        let mut check = command(&tool, task);
        check.arg(file);
        run(check)
    };
    checked(&["check", "rules"], &folder.join(RULES))?;
    checked(&["test", "rules"], &folder.join(TESTS))?;
    let read = |name: &str| {
        fs::read_to_string(folder.join(name)).map_err(|error| format!("failed to read {name}: {error}"))
    };
    let (text, tests) = (read(RULES)?, read(TESTS)?);
    let mutants = mutants(&text);
    if mutants.is_empty() {
        return Err(format!("{RULES} has no bounds to change"));
    }
    let written = |name: &str, text: &str| {
        let path = work.join(name);
        fs::create_dir_all(work).and_then(|()| fs::write(&path, text)).map(|()| path)
    };
    let failed = |error| format!("failed to write to {}: {error}", work.display());
    let path = written(TESTS, &tests).map_err(failed)?;
    let path = path.to_string_lossy();
    for (line, mutant) in &mutants {
        written(RULES, mutant).map_err(failed)?;
        if succeeds(&tool.to_string_lossy(), &["test", "rules", &path]) {
            return Err(format!("promtool's tests do not notice another bound in line {line} of {RULES}"));
        }
    }
    eprintln!("{} changed bounds of alerts are noticed", mutants.len());
    Ok(())
}

/// The rules with one bound raised by a twentieth, for each that there is, and the number of its line.
fn mutants(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let changed = |line: &str| -> Option<String> {
        let inside = line.trim_start().strip_prefix("expr: '")?.strip_suffix('\'')?;
        let (measure, bound) =
            inside.rsplit_once(' ').filter(|(measure, _)| measure.ends_with(['>', '=']))?;
        let bound: f64 = bound.parse().ok()?;
        Some(format!("        expr: '{measure} {}'", bound * 1.05))
    };
    let each = lines.iter().enumerate().filter_map(|(index, line)| Some((index, changed(line)?)));
    each.map(|(index, line)| {
        let mut mutant: Vec<&str> = lines.clone();
        if let Some(place) = mutant.get_mut(index) {
            *place = &line;
        }
        (index + 1, mutant.join("\n") + "\n")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_is_changed_alone() {
        let text = "groups:\n        expr: 'a > 1'\n        expr: 'sum(b)'\n        expr: 'c >= 20'\n";
        let mutants = mutants(text);
        assert_eq!(mutants.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
        assert!(mutants[0].1.contains("'a > 1.05'") && mutants[0].1.contains("'c >= 20'"));
        assert!(mutants[1].1.contains("'a > 1'") && mutants[1].1.contains("'c >= 21'"));
    }
}
