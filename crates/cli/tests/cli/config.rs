//! The configuration file: thresholds reach the rules, and mistakes in it are told.

use serde_json::{Value, json};
use stepscope_testkit::{Forest, ForestOptions, Format};

use crate::program::{folder, json, run, write};

#[test]
fn thresholds_reach_the_rules() {
    let folder = folder("config");
    let options = ForestOptions { ended: false, steps: 60, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    write(&folder, "stepscope.toml", b"[rules.spans_lost]\nnot_ended_severity = 42\n");
    let severity = |report: &Value| {
        let found = report["bottlenecks"].as_array().expect("a list").iter();
        let lost: Vec<&Value> = found.filter(|found| found["rule"] == json!("spans_lost")).collect();
        lost.first().map(|found| found["severity"].clone())
    };
    assert_eq!(severity(&json(folder.path(), &["analyze", "a.otlp"])), Some(json!(5.0)));
    let configured = json(folder.path(), &["analyze", "a.otlp", "--config", "stepscope.toml"]);
    assert_eq!(severity(&configured), Some(json!(42.0)));
}

#[test]
fn mistakes_are_told() {
    let folder = folder("config-wrong");
    write(&folder, "rule.toml", b"[rules.no_such_rule]\nx = 1\n");
    write(&folder, "threshold.toml", b"[rules.input_bound]\nmin_shaer = 0.1\n");
    write(&folder, "type.toml", b"[rules.input_bound]\nmin_share = \"high\"\n");
    write(&folder, "syntax.toml", b"[rules\n");
    let cases = [
        ("rule.toml", 2, "no_such_rule"),
        ("threshold.toml", 2, "min_shaer"),
        ("type.toml", 2, "min_share"),
        ("syntax.toml", 2, "syntax.toml"),
        ("missing.toml", 3, "missing.toml"),
    ];
    for (name, code, words) in cases {
        let ended = run(folder.path(), &["analyze", ".", "--config", name]);
        assert_eq!(ended.code, code, "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
    }
}
