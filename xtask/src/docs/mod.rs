//! Documents generated from the tables in stepscope-core, the rules' pages and the types of the report, and the check
//! that the first are current.

mod attributes;
mod metrics;
mod variants;

use crate::Outcome;
use crate::process::{cargo, root, run};
use std::fs;

/// A generated document.
struct Document {
    path: &'static str,
    generate: fn() -> Outcome<String>,
}

const DOCUMENTS: &[Document] = &[
    Document { path: "docs/attributes.md", generate: attributes::generate },
    Document { path: "docs/metrics.md", generate: metrics::generate },
];

/// Writes every document.
pub(crate) fn write() -> Outcome {
    for document in DOCUMENTS {
        let path = root().join(document.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .map_err(|error| format!("failed to create {}: {error}", folder.display()))?;
        }
        fs::write(&path, (document.generate)()?)
            .map_err(|error| format!("failed to write {}: {error}", document.path))?;
        eprintln!("wrote {}", document.path);
    }
    // Only the analyzer knows its rules and its report: its tests hold their documents, and write them where they are told to.
    let mut rules =
        cargo(&["test", "-p", "stepscope-analyze", "--test", "report", "--", "document::", "schema::"]);
    rules.env("BLESS", "1");
    run(rules)
}

/// Fails where a committed document differs from what would be written.
pub(crate) fn check() -> Outcome {
    let mut stale = Vec::new();
    for document in DOCUMENTS {
        let committed = fs::read_to_string(root().join(document.path)).unwrap_or_default();
        if let Some(hint) = difference(&committed, &(document.generate)()?) {
            stale.push(format!("{} is out of date, {hint}", document.path));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nrun `cargo xtask docs` and commit the result", stale.join("\n")))
}

/// The first line that differs, of both texts.
pub(crate) fn difference(committed: &str, current: &str) -> Option<String> {
    if committed == current {
        return None;
    }
    let (old, new): (Vec<_>, Vec<_>) = (committed.lines().collect(), current.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let line = |lines: &[&str]| {
        lines.get(same).map_or_else(|| "(end of file)".to_owned(), |line| (*line).to_owned())
    };
    Some(format!("from line {}:\n  - {}\n  + {}", same + 1, line(&old), line(&new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "from line 2:\n  - b\n  + c");
        assert_eq!(difference("a\n", "a\nc\n").unwrap(), "from line 2:\n  - (end of file)\n  + c");
        assert!(difference("", "a\n").unwrap().contains("line 1"));
    }

    #[test]
    fn committed_documents_are_current() {
        assert_eq!(check(), Ok(()));
    }
}
