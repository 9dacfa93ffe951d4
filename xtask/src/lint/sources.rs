//! Rules for the files themselves. A rule is a function from a file to its complaints, and a line in
//! [`RULES`].

use super::text::File;
use super::{circles, literals, purity};
use crate::Outcome;
use crate::process::root;
use std::fs;
use std::path::Path;

/// Longer files have more than one job.
const MAX_LINES: usize = 600;
/// Of these languages.
const SOURCES: [&str; 4] = [".rs", ".py", ".js", ".sh"];

const RULES: &[fn(&File) -> Vec<String>] = &[
    opens_with_its_purpose,
    is_short,
    expects_and_never_ignores,
    is_finished,
    names_no_machine,
    manifest_inherits,
    lock_file_is_public,
    literals::vocabulary,
    purity::analysis,
];

/// Files that must be there.
const REQUIRED: [&str; 6] =
    ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 5] = ["target", ".git", "profiles", "__pycache__", "node_modules"];

/// Checks every file.
pub(super) fn check() -> Outcome {
    let files = files()?;
    let mut complaints: Vec<String> =
        files.iter().flat_map(|file| RULES.iter().flat_map(move |rule| rule(file))).collect();
    complaints.extend(circles::check(&files));
    let missing = REQUIRED.iter().filter(|path| !root().join(path).is_file());
    complaints.extend(missing.map(|path| format!("{path}: missing")));
    eprintln!("source rules: {} files, {} complaints", files.len(), complaints.len());
    if complaints.is_empty() { Ok(()) } else { Err(format!("source rules:\n  {}", complaints.join("\n  "))) }
}

/// Every text file of the repository.
pub(super) fn files() -> Outcome<Vec<File>> {
    let mut files = Vec::new();
    collect(&root(), "", &mut files)?;
    Ok(files)
}

/// Every text file below `folder`, in the order of their names.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Outcome {
    let read = |error| format!("failed to read {}: {error}", folder.display());
    let mut entries = fs::read_dir(folder).map_err(read)?.collect::<Result<Vec<_>, _>>().map_err(read)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(read)?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            // What is not UTF-8 is data.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                files.push(File { path, text });
            }
        }
    }
    Ok(())
}

fn opens_with_its_purpose(file: &File) -> Vec<String> {
    let good = !file.is_rust() || file.text.starts_with("//! ");
    if good { Vec::new() } else { vec![format!("{}: must open with `//!`: what lives here", file.at(1))] }
}

fn is_short(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    let is_source = SOURCES.iter().any(|end| file.path.ends_with(end));
    let good = !is_source || lines <= MAX_LINES;
    if good { Vec::new() } else { vec![format!("{}: {lines} lines, more than {MAX_LINES}", file.path)] }
}

fn expects_and_never_ignores(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    for (number, line) in file.text.lines().enumerate().filter(|_| file.is_rust()) {
        let line = line.trim_start();
        if line.starts_with("#[allow(") || line.starts_with("#![allow(") {
            complaints
                .push(format!("{}: `#[expect(…, reason = \"…\")]` instead of `allow`", file.at(number + 1)));
        }
        if line.starts_with("#[ignore") {
            complaints.push(format!("{}: a test that is ignored tests nothing", file.at(number + 1)));
        }
    }
    complaints
}

/// Words that say that something is missing; in halves, so that this file has none of them.
const UNFINISHED: [[&str; 2]; 4] = [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["HA", "CK:"]];

fn is_finished(file: &File) -> Vec<String> {
    find(file, &UNFINISHED, "unfinished: do it, or file it where the project keeps its plans")
}

/// Places that exist on nobody else's machine.
const MACHINES: [[&str; 2]; 5] =
    [["/work", "/main"], ["/work", "/shared"], ["/home", "/"], ["/tmp/", "target"], ["/Users", "/"]];

fn names_no_machine(file: &File) -> Vec<String> {
    find(file, &MACHINES, "names a place on one machine")
}

fn find(file: &File, halves: &[[&str; 2]], complaint: &str) -> Vec<String> {
    let words: Vec<String> = halves.iter().map(|halves| halves.concat()).collect();
    let guilty = |line: &str| words.iter().any(|word| line.contains(word.as_str()));
    // Data files may say what they like.
    let ours = [".rs", ".md", ".toml", ".py", ".sh", ".yml", ".yaml", ".ci/run"];
    let lines = file.text.lines().enumerate().filter(|_| ours.iter().any(|end| file.path.ends_with(end)));
    lines.filter(|(_, line)| guilty(line)).map(|(n, _)| format!("{}: {complaint}", file.at(n + 1))).collect()
}

/// Crates of the workspace take licence and lints from it.
fn manifest_inherits(file: &File) -> Vec<String> {
    // Those of examples and integrations are in workspaces of their own.
    let ours = ["crates/", "tests/", "xtask/"].iter().any(|folder| file.path.starts_with(folder));
    if !ours || !file.path.ends_with("/Cargo.toml") || file.text.contains("\n[workspace]") {
        return Vec::new();
    }
    let wanted = ["license.workspace = true", "rust-version.workspace = true", "[lints]\nworkspace = true"];
    let missing = wanted.iter().filter(|line| !file.text.contains(*line));
    missing.map(|line| format!("{}: lacks {line:?}", file.path)).collect()
}

/// The lock file must name the public registry alone, or nobody else can build from it.
fn lock_file_is_public(file: &File) -> Vec<String> {
    if !file.path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let lines =
        file.text.lines().enumerate().filter(|(_, line)| line.starts_with("source = ") && *line != public);
    lines.map(|(n, line)| format!("{}: not the public registry: {line}", file.at(n + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::text::file;
    use super::*;

    #[test]
    fn files_say_what_they_are_for() {
        assert_eq!(opens_with_its_purpose(&file("a.rs", "//! What.\n")).len(), 0);
        assert_eq!(opens_with_its_purpose(&file("a.rs", "use std;\n")).len(), 1);
        assert_eq!(opens_with_its_purpose(&file("a.md", "# Title\n")).len(), 0);
    }

    #[test]
    fn long_files_are_named() {
        for name in ["a.rs", "a.py", "a.js", "a.sh"] {
            assert_eq!(is_short(&file(name, &"\n".repeat(600))).len(), 0);
            let expected = format!("{name}: 601 lines, more than 600");
            assert_eq!(is_short(&file(name, &"\n".repeat(601))), [expected]);
        }
        assert_eq!(is_short(&file("a.md", &"\n".repeat(601))).len(), 0);
    }

    #[test]
    fn allowing_and_ignoring_are_found() {
        let text = ["//! x", "#![", "allow(dead_code)]", "#[", "ignore]"];
        let text = format!("{}\n{}{}\n    {}{}\n", text[0], text[1], text[2], text[3], text[4]);
        let complaints = expects_and_never_ignores(&file("a.rs", &text));
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].starts_with("a.rs:2:") && complaints[1].starts_with("a.rs:3:"));
    }

    #[test]
    fn unfinished_work_is_found_in_text_and_not_in_data() {
        let text = format!("fine\n// {}: later\n", UNFINISHED[0].concat());
        assert_eq!(is_finished(&file("a.py", &text)).len(), 1);
        assert_eq!(is_finished(&file("a.jsonl", &text)).len(), 0);
    }

    #[test]
    fn foreign_registries_are_found() {
        let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert_eq!(lock_file_is_public(&file("Cargo.lock", good)).len(), 0);
        assert_eq!(
            lock_file_is_public(&file("Cargo.lock", "source = \"registry+https://mirror/\"\n")).len(),
            1
        );
    }

    #[test]
    fn manifests_must_inherit() {
        let good = "license.workspace = true\nrust-version.workspace = true\n[lints]\nworkspace = true\n";
        assert_eq!(manifest_inherits(&file("crates/a/Cargo.toml", good)).len(), 0);
        assert_eq!(manifest_inherits(&file("crates/a/Cargo.toml", "[package]\n")).len(), 3);
        assert_eq!(manifest_inherits(&file("examples/a/b/Cargo.toml", "[package]\n")).len(), 0);
    }
}
