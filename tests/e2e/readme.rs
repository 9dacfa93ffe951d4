//! What the README tells a newcomer to type is typed here, in its order and as it stands there: the commands of
//! its blocks, its program in a package of its own, and the commands in its text. A command that is added to the
//! README and not here fails the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stepscope_testkit::process::{self, Ended};
use stepscope_testkit::{TempFolder, binaries};

use crate::program::{LIMIT, assert_valid, clean, output, parse, stepscope};

/// The fenced blocks of a language, in order.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let (mut found, mut open): (Vec<String>, Option<bool>) = (Vec::new(), None);
    for line in readme.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(_), Some(_)) => open = None,
            (Some(word), None) => {
                open = Some(word == language);
                found.extend(open.filter(|&is_wanted| is_wanted).map(|_| String::new()));
            }
            (None, Some(true)) => {
                if let Some(block) = found.last_mut() {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            (None, _) => {}
        }
    }
    found
}

/// The command lines of the README's blocks, without what a `#` explains.
fn commands(readme: &str) -> Vec<String> {
    let lines = blocks(readme, "sh").concat();
    let bare = lines.lines().map(|line| line.split_once(" #").map_or(line, |(command, _)| command).trim());
    bare.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn readme() -> String {
    std::fs::read_to_string(binaries::repository().join("README.md")).expect("the README is there")
}

/// Runs `cargo` with the words of a command of the README, from another folder than the repository's, so that its
/// own profiles stay alone.
fn cargo(command: &str, folder: &Path, manifest: &Path) -> Ended {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("cargo"), "{command}");
    let mut cargo = clean(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
    cargo.args(words.next()).arg("--manifest-path").arg(manifest).arg("--offline");
    cargo.args(words).current_dir(folder).env("CARGO_TARGET_DIR", target());
    let ended = process::run(&mut cargo, 2 * LIMIT).expect("cargo is there");
    ended.success().unwrap_or_else(|problem| panic!("{command}: {problem}"))
}

/// Where the programs of this run of the tests are built.
fn target() -> PathBuf {
    let profile = binaries::profile_folder();
    profile.parent().map(Path::to_path_buf).unwrap_or(profile)
}

fn json(profiles: &Path) -> Value {
    let report = parse(&output(stepscope(&["--quiet", "analyze", "--format", "json"]).arg(profiles)));
    assert_valid(&report);
    report
}

#[test]
fn the_blocks_hold_the_commands_that_are_tried_here() {
    let expected = [
        "cargo run --release -- demo",
        "cargo run --release -- demo --slow loader",
        "cargo xtask test",
        // Of a program of the reader's own.
        "RUSTFLAGS=\"-C force-frame-pointers=yes\" CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build --release",
    ];
    assert_eq!(commands(&readme()), expected);
}

#[test]
fn the_first_commands_end_in_reports() {
    let readme = readme();
    let (folder, manifest) =
        (TempFolder::new("readme").expect("a folder"), binaries::repository().join("Cargo.toml"));
    let [plain, slow, ..] = &commands(&readme)[..] else { panic!("the README has other commands") };

    let said = cargo(plain, folder.path(), &manifest).stdout_text();
    assert!(said.starts_with("Not input bound") || said.contains("\nNot input bound"), "{said}");
    let profiles = folder.join("profiles");
    assert_eq!(json(&profiles)["summary"]["input"]["verdict"], "no");

    let said = cargo(slow, folder.path(), &manifest).stdout_text();
    assert!(said.contains("Input bound: "), "{said}");
    // The blocks of a report that the README shows are those of this one.
    let example = blocks(&readme, "text").concat();
    for heading in
        ["Step time", "Throughput", "Where the step time goes", "Findings", "Sections", "Gain: at most"]
    {
        assert!(example.contains(heading) && said.contains(heading), "{heading}: {said}");
    }
    let report = json(&profiles);
    assert_eq!(report["findings"][0]["rule"], "input_bound", "found first");

    // `--fail-on 20` makes findings of that severity exit with 1, and a limit above them does not.
    for (limit, code) in [("20", 1), ("100", 0)] {
        let mut analyze = stepscope(&["--quiet", "analyze", "--fail-on", limit]);
        let ended = process::run(analyze.arg(&profiles), LIMIT).expect("starts");
        assert_eq!(ended.status.code(), Some(code), "--fail-on {limit}: {}", ended.stderr_text());
    }
    assert_pieces_join(&folder, &profiles);
}

/// `--partial` and `merge` give the bytes that one analysis gives.
fn assert_pieces_join(folder: &TempFolder, profiles: &Path) {
    let id = json(profiles)["run"]["id"].as_str().expect("a run").to_owned();
    let mut partials = Vec::new();
    let files = stepscope_testkit::folder::files_below(&profiles.join(&id)).expect("files");
    assert!(files.len() >= 2, "{files:?}");
    for (number, file) in files.iter().enumerate() {
        let partial = folder.join(format!("{number}.part"));
        output(stepscope(&["--quiet", "analyze", "--partial"]).arg(&partial).arg(file));
        partials.push(partial);
    }
    partials.reverse();
    let merged = output(stepscope(&["--quiet", "merge", "--format", "json"]).args(&partials));
    let mut merged = parse(&merged);
    let mut whole = parse(&output(stepscope(&["--quiet", "analyze", "--format", "json"]).args(&files)));
    // Which file holds what is named in other words, one file or one partial each.
    for report in [&mut merged, &mut whole] {
        assert_valid(report);
        report.as_object_mut().expect("an object").remove("inputs");
    }
    assert!(merged == whole, "a report made of pieces is another one");
}

#[test]
fn explain_lists_the_rules_and_explains_one() {
    let list = output(&mut stepscope(&["explain"]));
    let rule = output(&mut stepscope(&["explain", "input_bound"]));
    assert!(list.contains("input_bound") && list.contains("step_jitter"), "{list}");
    assert!(rule.contains("moderate_share"), "with its limits: {rule}");
    assert!(readme().contains("`stepscope explain input_bound`"));
}

/// What the README's program leaves to its reader.
const READER: &str = r#"
#![expect(non_upper_case_globals, reason = "a name in the README")]

mod worth;

/// Batches that take a moment to make.
struct Batches(u8);

impl Iterator for Batches {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        self.0 = self.0.checked_sub(1)?;
        Some(vec![self.0; 64])
    }
}

const loader: Batches = Batches(40);

#[tracing::instrument(skip_all)]
fn train(batch: Vec<u8>) {
    worth::adding(batch).unwrap();
}
"#;

/// The package of the README's reader: its program and, called by its `train`, what it says is worth adding.
fn write_package(folder: &TempFolder, readme: &str) -> PathBuf {
    let repository = binaries::repository();
    let [dependencies] = &blocks(readme, "toml")[..] else { panic!("the README has one block of TOML") };
    let [program, worth] = &blocks(readme, "rust")[..] else { panic!("the README has two blocks of Rust") };
    let quoted = "stepscope = \"0.1\"";
    assert!(dependencies.contains(quoted), "{dependencies}");
    let path = repository.join("crates/stepscope");
    let here = format!("stepscope = {{ version = \"0.1\", path = {:?} }}", path.display());
    let workspace = std::fs::read_to_string(repository.join("Cargo.toml")).expect("the workspace");
    let manifest = format!(
        "[package]\nname = \"reader\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}\n[workspace]\n\n{}",
        dependencies.replace(quoted, &here),
        profiles_of(&workspace)
    );
    let (items, statements) = worth.split_once("\n\n").expect("an item, then statements");
    let worth = format!(
        "{items}\n\npub(crate) fn adding(batch: Vec<u8>) -> Result<(), Box<dyn std::error::Error>> {{\n\
         let make_batch = || batch.clone();\nlet (sender, receiver) = std::sync::mpsc::channel();\n\
         {statements}\nassert_eq!(batch.map(|batch| batch.len()), Some(64));\nOk(())\n}}\n"
    );
    let source = folder.join("src");
    std::fs::create_dir(&source).expect("a folder");
    let manifest_path = folder.join("Cargo.toml");
    for (file, text) in [
        (manifest_path.clone(), manifest),
        (source.join("main.rs"), format!("{READER}\n{program}")),
        (source.join("worth.rs"), worth),
    ] {
        std::fs::write(file, text).expect("the package is written");
    }
    // The versions that are there already: nothing is fetched.
    std::fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    manifest_path
}

/// The sections of a manifest that say how to compile, so that what is compiled already serves.
fn profiles_of(manifest: &str) -> String {
    let sections = manifest.split("\n[").skip(1).filter(|section| section.starts_with("profile."));
    sections.map(|section| format!("[{section}\n")).collect()
}

#[test]
fn the_five_lines_record_a_run() {
    let readme = readme();
    let folder = TempFolder::new("reader").expect("a folder");
    let manifest = write_package(&folder, &readme);
    cargo("cargo run", folder.path(), &manifest);
    assert!(readme.contains("`stepscope analyze profiles/`"));
    let shown = output(stepscope(&["analyze", "profiles/"]).current_dir(folder.path()));
    assert!(shown.starts_with("Input bound: "), "{shown}");
    let report = json(&folder.join("profiles"));
    assert_eq!(report["run"]["service"], "reader");
    assert_eq!((&report["run"]["ended"], &report["losses"]["dropped_total"]), (&true.into(), &0.into()));
    let steps = &report["detailed_metrics"]["modes"][0]["all"]["count"];
    let paths: Vec<(&str, u64)> = report["sections"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|row| Some((row["path"].as_str()?, row["count"].as_u64()?)))
        .collect();
    assert_eq!(steps, &40, "{paths:?}");
    for expected in [("step", 40), ("step/train", 40), ("step/train/forward", 40), ("batch", 40)] {
        assert!(paths.contains(&expected), "{expected:?} in {paths:?}");
    }
    // The allocator counts: a batch of 64 bytes and its copy at the least.
    let step = report["sections"].as_array().and_then(|rows| rows.iter().find(|row| row["path"] == "step"));
    assert!(step.is_some_and(|row| row["alloc"]["alloc_bytes"].as_u64() > Some(40 * 64)), "{step:?}");
}
