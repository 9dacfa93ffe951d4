//! The analysis is a function of its input: its product code has no files, network, threads, clock or
//! environment.

use super::text::File;

const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::io",
    "std::time::Instant",
    "Instant::now",
    "SystemTime",
];

/// Where a word is no use of the outside world: the traits of a library name what it writes to, which is memory here.
const ALLOWED: [(&str, &str); 1] = [("crates/analyze/src/render/json.rs", "std::io")];

/// Uses of the outside world in the analysis crate.
pub(super) fn analysis(file: &File) -> Vec<String> {
    if !file.path.starts_with("crates/analyze/src/") {
        return Vec::new();
    }
    let found = file.product_lines().flat_map(|(number, line)| {
        let is_allowed = |word: &str| ALLOWED.contains(&(file.path.as_str(), word));
        let words = IMPURE.iter().filter(move |word| line.contains(*word) && !is_allowed(word));
        words.map(move |word| format!("{}: the analysis is pure, without {word}", file.at(number)))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::text::file;
    use super::*;

    #[test]
    fn the_outside_world_is_found_in_the_analysis_alone() {
        let text = "//! x\nlet now = Instant::now();\nuse std::fs;\n";
        assert_eq!(analysis(&file("crates/analyze/src/a.rs", text)).len(), 2);
        assert_eq!(analysis(&file("crates/analyze/src/a/tests.rs", text)).len(), 0);
        assert_eq!(analysis(&file("crates/model/src/a.rs", text)).len(), 0);
    }
}
