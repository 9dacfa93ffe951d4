//! The registries and the directories beside them hold the same.

use std::collections::BTreeSet;
use std::path::Path;

use stepscope_analyze::render::RENDERERS;
use stepscope_analyze::rules::{self, Config, RULES};

/// Names of the Rust files of a directory below `src`, `mod.rs` aside.
fn files(directory: &str) -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(directory);
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "mod")
        .collect()
}

#[test]
fn every_rule_file_is_registered() {
    assert_eq!(files("rules"), RULES.iter().map(|rule| rule.id.to_owned()).collect());
}

#[test]
fn every_renderer_file_is_registered() {
    assert_eq!(files("render"), RENDERERS.iter().map(|renderer| renderer.name.to_owned()).collect());
}

#[test]
fn every_rule_explains_itself() {
    for rule in RULES {
        let words = rule.page.split_whitespace().count();
        assert!(words <= 120, "{}: {words} words", rule.id);
        let headings: Vec<&str> = rule.parts().map(|(heading, _)| heading).collect();
        assert_eq!(headings, ["What it finds", "How it judges", "What to do", "Limits"], "{}", rule.id);
        for (heading, text) in rule.parts() {
            assert!(text.ends_with(['.', '`']), "{}, {heading}: {text:?}", rule.id);
        }
        assert!(rule.since.split('.').count() == 3, "{}", rule.id);
        let thresholds = Config::default().thresholds(rule.id);
        assert!(!thresholds.is_empty(), "{}", rule.id);
        for threshold in thresholds {
            assert!(threshold.doc.ends_with('.'), "{} {}", rule.id, threshold.key);
        }
        assert_eq!(rules::find(rule.id).map(|found| found.id), Some(rule.id));
    }
    assert!(rules::find("nothing").is_none());
}

#[test]
fn thresholds_are_read_by_rule_and_key() {
    let config: Config = serde_json::from_str(
        r#"{"input_bound": {"moderate_share": 0.1}, "memory_growth": {"limit_bytes": 7}}"#,
    )
    .unwrap();
    assert_eq!(config.input_bound.moderate_share, 0.1);
    assert_eq!(config.input_bound.high_share, Config::default().input_bound.high_share);
    assert_eq!(config.memory_growth.limit_bytes, 7);
    for wrong in [
        r#"{"no_rule": {}}"#,
        r#"{"input_bound": {"min_share": 0.1}}"#,
        r#"{"input_bound": {"no_threshold": 1}}"#,
    ] {
        assert!(serde_json::from_str::<Config>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn thresholds_lie_where_they_can() {
    let fault = |text: &str| serde_json::from_str::<Config>(text).unwrap().fault();
    assert_eq!(Config::default().fault(), None);
    let share = |value: &str| format!(r#"{{"slow_section": {{"long_call_min_share": {value}}}}}"#);
    for (value, said) in [("10", "10"), ("-0.1", "-0.1"), ("1.001", "1.001")] {
        let expected = format!(
            "[rules.slow_section] `long_call_min_share = {said}` is not within 0 and 1; a share is a part of one: 0.1 \
             for 10 %"
        );
        assert_eq!(fault(&share(value)), Some(expected));
    }
    assert_eq!((fault(&share("0")), fault(&share("1"))), (None, None));
    let severity = |value: &str| fault(&format!(r#"{{"deep_prefetch": {{"severity": {value}}}}}"#));
    for value in ["101", "-1"] {
        assert!(severity(value).unwrap().ends_with("is not within 0 and 100, as severities are"));
    }
    assert_eq!([severity("0"), severity("100")], [None, None]);
    let disorder = fault(r#"{"input_bound": {"moderate_share": 0.3}}"#).unwrap();
    assert_eq!(disorder, "[rules.input_bound] `moderate_share` is more than `high_share`");
    // What is no share may be more than one.
    assert_eq!(fault(r#"{"slow_calls": {"min_ratio": 200}}"#), None);
    let negative = fault(r#"{"slow_calls": {"min_ratio": -1}}"#);
    assert_eq!(negative.unwrap(), "[rules.slow_calls] `min_ratio = -1` is not a number from 0 on");
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut config = Config::default();
        config.io_stalls.slow_bytes_per_s = value;
        assert!(config.fault().unwrap().starts_with("[rules.io_stalls] `slow_bytes_per_s = "), "{value}");
    }
}
