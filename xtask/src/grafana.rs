//! The stage that holds `grafana/` against others' tools: boards against Grafana's types and in its own libraries
//! (`tests/grafana`), rules against Prometheus' `promtool`, which also has to notice bounds that are not those of the tests.
//! Pictures, for which programs run, are in `pictures`.

mod pictures;

use crate::Outcome;
use crate::process::{capture, command, root, run, succeeds};
use std::fs;
use std::path::{Path, PathBuf};

/// What the file of rules and the file of tests are called.
const RULES: &str = "rules.yaml";
const TESTS: &str = "tests.yaml";

/// Recorded runs, whose reports are boards, too.
const RUNS: [&str; 2] = ["demo_slow_loader", "demo_two_ranks"];
/// Steps of a run that is generated, and how large a board of a report may be is said in `tests/grafana/frames.js`.
const STEPS: &str = "100000";

/// Types, frames, rules, pictures.
pub(crate) fn check(target: &Path, program: &Path, generator: &Path) -> Outcome {
    let folder = target.join("grafana");
    install(&folder)?;
    let reports = reports(&folder, program, generator)?;
    let board = reports.first().ok_or("there are no reports")?;
    let mut check = command("node", &["tests/grafana/check.js"]);
    check.arg(&folder).arg(board);
    run(check)?;
    let mut check = command("node", &["tests/grafana/frames.js"]);
    check.arg(&folder).args(&reports);
    run(check)?;
    rules(&target.join("promtool"))?;
    pictures::draw(&folder, board, program)
}

/// Grafana's libraries from the registry of npm, where the folder has not those that are asked for.
fn install(folder: &Path) -> Outcome {
    let failed = |error| format!("failed to make {}: {error}", folder.display());
    let (wanted, there) = (root().join("tests/grafana/package.json"), folder.join("package.json"));
    let is_current =
        fs::read(&there).is_ok_and(|there| fs::read(&wanted).is_ok_and(|wanted| wanted == there));
    if is_current && folder.join("node_modules/@grafana/ui").is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let mut install = command("npm", &["install", "--silent", "--ignore-scripts", "--no-package-lock"]);
    fs::copy(&wanted, &there).map_err(failed)?;
    install.args(["--no-audit", "--no-fund", "--prefix"]).arg(folder);
    run(install).map_err(|problem| {
        // The next time must not take it for done.
        drop(fs::remove_file(&there));
        format!("{problem}; npm and its registry are needed")
    })
}

/// Boards of reports, each followed by the JSON report on the same run.
fn reports(folder: &Path, program: &Path, generator: &Path) -> Outcome<Vec<PathBuf>> {
    let large = folder.join("large.otlp");
    let mut generate = command(generator, &["--steps", STEPS, "--spans-per-step", "10", "--out"]);
    generate.arg(&large);
    run(generate)?;
    let inputs = root().join("tests/golden/inputs");
    let mut reports = Vec::new();
    for (name, input) in RUNS.iter().map(|name| (*name, inputs.join(name))).chain([("large", large.clone())])
    {
        for format in ["grafana", "json"] {
            let report = folder.join(format!("{name}.{format}.json"));
            let mut analyze = command(program, &["--quiet", "analyze", "--format", format, "--output"]);
            analyze.arg(&report).arg(&input);
            run(analyze)?;
            reports.push(report);
        }
    }
    fs::remove_file(&large).map_err(|error| format!("failed to remove {}: {error}", large.display()))?;
    Ok(reports)
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
