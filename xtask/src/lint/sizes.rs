//! How large the parts of the repository are: lines of source (comments and blank lines count, inline test modules do not)
//! and of tests by crate, the largest files, words of documentation. It only counts; what is too large is said in `sources`.

use std::collections::BTreeMap;

use super::sources::files;
use super::text::File;
use crate::Outcome;

/// Lines of one crate or folder.
#[derive(Debug, Default, PartialEq, Eq)]
struct Size {
    files: usize,
    source: usize,
    tests: usize,
    /// Of its files of source.
    largest: (usize, String),
}

/// Languages that are counted.
const COUNTED: [&str; 4] = [".rs", ".py", ".js", ".sh"];

/// Files that are shown as the largest.
const LARGEST: usize = 10;

/// Prints the tables.
#[expect(clippy::print_stdout, reason = "tables for people")]
pub(crate) fn print() -> Outcome {
    let files = files()?;
    println!("{:>7} {:>7} {:>6}  largest file of source", "source", "tests", "files");
    for (place, size) in by_place(&files) {
        let (lines, path) = &size.largest;
        let largest = if *lines > 0 { format!(": {path} {lines}") } else { String::new() };
        println!("{:>7} {:>7} {:>6}  {place}{largest}", size.source, size.tests, size.files);
    }
    let mut largest: Vec<(usize, &str)> = files
        .iter()
        .filter(|file| is_counted(file))
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    println!("\nlargest files");
    for (lines, path) in largest.iter().take(LARGEST) {
        println!("{lines:>7}  {path}");
    }
    println!("\nwords");
    let is_rule =
        |file: &&File| file.path.starts_with("crates/analyze/src/rules/") && file.path.ends_with(".md");
    let is_doc = |file: &&File| file.path.starts_with("docs/") && file.path.ends_with(".md");
    println!("{:>7}  of rules beside them", words(files.iter().filter(is_rule)));
    println!("{:>7}  docs", words(files.iter().filter(is_doc)));
    Ok(())
}

fn words<'a>(files: impl Iterator<Item = &'a File>) -> usize {
    files.map(|file| file.text.split_whitespace().count()).sum()
}

fn is_counted(file: &File) -> bool {
    COUNTED.iter().any(|end| file.path.ends_with(end))
}

/// By crate, and by first folder of what is none.
fn by_place(files: &[File]) -> BTreeMap<String, Size> {
    let mut sizes = BTreeMap::<String, Size>::new();
    for file in files.iter().filter(|file| is_counted(file)) {
        let parts: Vec<&str> = file.path.split('/').collect();
        let depth =
            if matches!(parts.first(), Some(&("crates" | "tests" | "examples" | "integrations" | "benches")))
            {
                2
            } else {
                1
            };
        let place = parts
            .iter()
            .take(depth.min(parts.len().saturating_sub(1)))
            .copied()
            .collect::<Vec<_>>()
            .join("/");
        let size = sizes.entry(place).or_default();
        let lines = file.text.lines().count();
        let source = if file.is_test() { 0 } else { file.lines_before_tests() };
        size.files += 1;
        size.source += source;
        size.tests += lines - source;
        size.largest = std::mem::take(&mut size.largest).max((source, file.path.clone()));
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::super::text::file;
    use super::*;

    #[test]
    fn tests_are_told_from_source() {
        let files = [
            file("crates/a/src/lib.rs", "//! x\nfn f() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            file("crates/a/tests/t.rs", "//! x\n"),
            file("crates/a/front/b.js", "1\n2\n"),
            file("crates/a/README.md", "x\n"),
        ];
        let size = &by_place(&files)["crates/a"];
        assert_eq!((size.files, size.source, size.tests), (3, 4, 4));
    }
}
