//! The Markdown report: snapshots, and names that try to be more than names. Figures are those of the page, whose tables
//! are the same, and are held there against the JSON report.

use super::{HOSTILE, hostile, report_of, text_in};
use crate::fixture::healthy;
use crate::text::{snapshot, troubled};

#[test]
fn a_troubled_run_reads_well() {
    snapshot("troubled.md", &text_in("md", &report_of(&troubled())));
}

#[test]
fn a_healthy_run_reads_well() {
    snapshot("healthy.md", &text_in("md", &report_of(&healthy().build())));
}

#[test]
fn names_stay_names() {
    for name in HOSTILE {
        let text = text_in("md", &report_of(&hostile(name)));
        assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
        assert!(!text.contains("@team") && !text.contains("[link]("), "{text}");
        for line in text.lines() {
            assert!(!line.starts_with("# "), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
        // A bar in a name is no border of a column.
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut previous: Option<usize> = None;
        for line in text.lines() {
            let now = line.starts_with('|').then(|| columns(line));
            assert!(previous.is_none() || now.is_none() || now == previous, "{line}");
            previous = now;
        }
    }
}
