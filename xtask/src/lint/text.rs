//! A file of the repository as the checks see it: its lines, and which of them are product code.

/// A text file.
#[derive(Debug)]
pub(super) struct File {
    /// From the workspace's root, with `/`.
    pub(super) path: String,
    /// Its content.
    pub(super) text: String,
}

impl File {
    /// Whether it is Rust.
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is for tests, benches or examples.
    pub(super) fn is_test(&self) -> bool {
        let folders = ["tests", "benches", "examples", "fuzz"];
        self.path.split('/').any(|part| folders.contains(&part)) || self.path.ends_with("tests.rs")
    }

    /// The lines of Rust that end up in the product, with their numbers from 1: no comments, and nothing from
    /// an inline test module on.
    pub(super) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let end = inline_tests(&self.text);
        let lines = self.text.lines().enumerate().take(end).map(|(index, line)| (index + 1, line));
        let wanted = self.is_rust() && !self.is_test();
        lines.filter(move |(_, line)| wanted && !line.trim_start().starts_with("//"))
    }

    /// How many lines are before an inline test module.
    pub(super) fn lines_before_tests(&self) -> usize {
        inline_tests(&self.text)
    }

    /// `path:line`.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }
}

/// The index of the line that starts an inline test module; `mod tests;` is a file of its own and ends
/// nothing.
fn inline_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let start = lines.windows(2).position(|pair| {
        matches!(pair, [cfg, module] if cfg.starts_with("#[cfg(") && cfg.contains("test")
            && module.starts_with("mod ") && module.ends_with('{'))
    });
    start.unwrap_or(lines.len())
}

#[cfg(test)]
pub(super) fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_code_ends_at_the_inline_tests() {
        let text = "//! doc\nuse a;\n#[cfg(test)]\nmod tests;\n  // note\nfn f() {}\n#[cfg(test)]\nmod more {\n fn t() {}\n}\n";
        let lines: Vec<_> =
            file("crates/a/src/lib.rs", text).product_lines().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!(lines, [2, 3, 4, 6]);
        assert_eq!(file("crates/a/tests/x.rs", text).product_lines().count(), 0);
        assert_eq!(file("crates/a/src/b/tests.rs", text).product_lines().count(), 0);
        assert_eq!(file("a.md", text).product_lines().count(), 0);
    }
}
