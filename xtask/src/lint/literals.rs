//! Names of attributes and metrics are written once, in stepscope-core: product code elsewhere uses the
//! constants. Tests and examples may write them out, which is how a user meets them.

use super::text::File;
use stepscope_core::{attr, metric};

/// Strings that only look like ours.
const ALLOWED: [&str; 1] = ["stepscope.toml"];

/// Names written out in product code.
pub(super) fn vocabulary(file: &File) -> Vec<String> {
    if file.path.starts_with("crates/core/") || file.path.starts_with("xtask/") {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (number, line) in file.product_lines() {
        for literal in literals(line).filter(|literal| is_name(literal)) {
            complaints.push(format!("{}: {literal:?} has a constant in stepscope-core", file.at(number)));
        }
    }
    complaints
}

fn is_name(literal: &str) -> bool {
    let dotted = literal.contains('.');
    let declared = || attr::TABLE.iter().map(|row| row.key).chain(metric::all().map(|row| row.name));
    let ours = literal.starts_with("stepscope.") && !literal.contains([' ', '/']);
    !ALLOWED.contains(&literal) && dotted && (ours || declared().any(|name| name == literal))
}

/// The string literals of a line that are complete on it and without escapes, which names are.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::super::text::file;
    use super::*;

    #[test]
    fn names_in_product_code_are_found() {
        let text = "//! x\nlet a = (\"stepscope.step\", \"thread.id\");\nlet b = \"stepscope.new_name\";\n";
        assert_eq!(vocabulary(&file("crates/model/src/a.rs", text)).len(), 3);
        assert_eq!(vocabulary(&file("crates/core/src/a.rs", text)).len(), 0);
        assert_eq!(vocabulary(&file("crates/model/tests/a.rs", text)).len(), 0);
    }

    #[test]
    fn other_strings_are_left_alone() {
        let text = "//! x\nlet a = (\"stepscope.toml\", \"level\", \"stepscope. A tool.\", \"a.b\");\n// \"stepscope.step\"\n";
        assert_eq!(vocabulary(&file("crates/model/src/a.rs", text)), [""; 0]);
    }
}
