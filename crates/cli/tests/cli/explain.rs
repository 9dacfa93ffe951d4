//! `explain`: the list, and every rule on it.

use crate::program::{folder, output, run};

#[test]
fn every_rule_of_the_list_is_explained() {
    let folder = folder("explain");
    let list = output(folder.path(), &["explain"]);
    let rules: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(rules.contains(&"input_bound") && rules.len() >= 7, "{rules:?}");
    for rule in rules {
        let text = output(folder.path(), &["explain", rule]);
        assert!(text.lines().next().is_some_and(|line| line.ends_with(&format!("({rule})"))), "{text}");
        for heading in ["What it finds", "How it judges", "What to do", "Limits", "Thresholds"] {
            assert!(text.contains(heading), "{rule}: {heading}");
        }
    }
}

#[test]
fn analyze_lists_the_rules_too_and_reads_nothing() {
    let folder = folder("list-rules");
    let list = output(folder.path(), &["analyze", "--list-rules"]);
    assert_eq!(list, output(folder.path(), &["explain"]));
    let ended = run(folder.path(), &["analyze", "--list-rules", "profiles"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let ended = run(folder.path(), &["analyze", "--list-rules", "--format", "json"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
}

#[test]
fn an_unknown_rule_names_the_known_ones() {
    let ended = run(folder("unknown-rule").path(), &["explain", "input-bound"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("input_bound"), "{}", ended.stderr);
}
