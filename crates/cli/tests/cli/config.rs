//! The configuration file: thresholds reach the rules, and mistakes in it are told.

use serde_json::{Value, json};
use stepscope_testkit::{Forest, ForestOptions, Format};

use crate::program::{command, folder, json, output, run, write};

#[test]
fn thresholds_reach_the_rules() {
    let folder = folder("config");
    let options = ForestOptions { ended: false, steps: 60, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    write(&folder, "limits.toml", b"[rules.spans_lost]\nnot_ended_severity = 42\n");
    let severity = |report: &Value| {
        let found = report["findings"].as_array().expect("a list").iter();
        let lost: Vec<&Value> = found.filter(|found| found["rule"] == json!("spans_lost")).collect();
        lost.first().map(|found| found["severity"].clone())
    };
    assert_eq!(severity(&json(folder.path(), &["analyze", "a.otlp"])), Some(json!(5.0)));
    let configured = json(folder.path(), &["analyze", "a.otlp", "--config", "limits.toml"]);
    assert_eq!(severity(&configured), Some(json!(42.0)));
}

#[test]
fn the_file_of_the_folder_is_read_and_named() {
    let folder = folder("config-here");
    let options = ForestOptions { ended: false, steps: 60, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    write(&folder, "stepscope.toml", b"[rules.spans_lost]\nnot_ended_severity = 42\n");
    write(&folder, "other.toml", b"[rules.spans_lost]\nnot_ended_severity = 43\n");
    let here = run(folder.path(), &["analyze", "a.otlp", "--fail-on", "42"]);
    assert_eq!((here.code, here.stderr.contains("stepscope.toml")), (1, true), "{}", here.stderr);
    let named = run(folder.path(), &["analyze", "a.otlp", "--fail-on", "43", "--config", "other.toml"]);
    assert_eq!((named.code, named.stderr.contains(".toml")), (1, false), "{}", named.stderr);
}

#[test]
fn every_setting_is_told_with_its_source() {
    let folder = folder("config-shown");
    let defaults = output(folder.path(), &["config"]);
    assert!(defaults.contains("the defaults, as there is no stepscope.toml here"), "{defaults}");
    let setting = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} ")));
        line.unwrap_or_else(|| panic!("no {key}: {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(setting(&defaults, "not_ended_severity"), "not_ended_severity = 5 # default");
    // What is printed can be read, and says the same.
    write(&folder, "all.toml", defaults.as_bytes());
    let again = output(folder.path(), &["config", "--config", "all.toml"]);
    assert_eq!(setting(&again, "not_ended_severity"), "not_ended_severity = 5 # all.toml (default 5)");
    write(&folder, "stepscope.toml", b"[rules.spans_lost]\nnot_ended_severity = 42\n");
    let changed = output(folder.path(), &["config"]);
    let expected = "not_ended_severity = 42 # stepscope.toml (default 5)";
    assert_eq!(setting(&changed, "not_ended_severity"), expected);
    assert_eq!(setting(&changed, "busy_share"), "busy_share = 0.85 # default");
    assert!(changed.contains("# STEPSCOPE_LEVEL: not set"), "{changed}");
}

#[test]
fn the_layers_settings_stand_beside_the_thresholds() {
    let folder = folder("config-recording");
    let text = b"[recording]\nlevel = \"basic\"\nstep_span = [\n  \"a\", # ours\n]\nlevle = 1\n[rules.spans_lost]\nnot_ended_severity = 42\n";
    write(&folder, "both.toml", text);
    let shown = |path: &str| {
        let mut call = command(folder.path(), &["config"]);
        call.env("STEPSCOPE_CONFIG", path).env("STEPSCOPE_LEVEL", "detailed").env("STEPSCOPE_RANK", "3");
        String::from_utf8(call.output().expect("the program starts").stdout).expect("text")
    };
    let first = shown("both.toml");
    for line in [
        "not_ended_severity = 42              # both.toml (default 5)",
        "# STEPSCOPE_LEVEL: both.toml\nlevel = \"basic\"\n# STEPSCOPE_LEVEL = \"detailed\" (environment, which wins)",
        "# STEPSCOPE_STEP_SPAN: both.toml\nstep_span = [\n  \"a\", # ours\n]\n",
        "# STEPSCOPE_DIR: not set (dir = \"profiles\")",
        "# STEPSCOPE_RANK = \"3\" (environment)",
    ] {
        assert!(first.contains(line), "{line}: {first}");
    }
    // What is printed says the same again.
    write(&folder, "again.toml", first.as_bytes());
    let recording = |text: &str| text.split_once("[recording]").expect("the layer's").1.to_owned();
    assert_eq!(recording(&shown("again.toml").replace("again.toml", "both.toml")), recording(&first));
    // The analysis leaves the layer's to the layer.
    write(&folder, "stepscope.toml", text);
    assert_eq!(run(folder.path(), &["config"]).code, 0);
}

#[test]
fn mistakes_are_told() {
    let folder = folder("config-wrong");
    write(&folder, "rule.toml", b"[rules.no_such_rule]\nx = 1\n");
    write(&folder, "threshold.toml", b"[rules.input_bound]\nmoderate_shaer = 0.1\n");
    write(&folder, "old.toml", b"[rules.input_bound]\nmin_share = 0.1\n");
    write(&folder, "type.toml", b"[rules.input_bound]\nmoderate_share = \"high\"\n");
    write(&folder, "whole.toml", b"# Ours.\n\n[rules]\ninput_bound = { ready_batches = -1 }\n");
    write(&folder, "dotted.toml", b"rules.input_bound.moderate_share = true\n");
    write(&folder, "table.toml", b"[rules]\ninput_bound = 3\n");
    write(&folder, "outside.toml", b"[thresholds]\nx = 1\n");
    write(&folder, "syntax.toml", b"[rules\n");
    write(&folder, "percent.toml", b"[rules.input_bound]\nmoderate_share = 10\n");
    let cases = [
        (
            "percent.toml",
            2,
            "percent.toml does not fit: [rules.input_bound] `moderate_share = 10` is not within 0 and 1",
        ),
        (
            "rule.toml",
            2,
            "rule.toml does not fit: line 1: there is no `no_such_rule`; there is `input_bound`, ",
        ),
        (
            "threshold.toml",
            2,
            "threshold.toml does not fit: line 2: there is no `moderate_shaer`; there is `moderate_share`",
        ),
        ("old.toml", 2, "old.toml does not fit: line 2: `min_share` is called `moderate_share` now"),
        (
            "type.toml",
            2,
            "type.toml does not fit: line 2: `moderate_share = \"high\"` is not a number; an example is the default, `moderate_share = 0.05`",
        ),
        (
            "whole.toml",
            2,
            "whole.toml does not fit: line 4: `ready_batches = -1` is not a whole number, 0 or more; an example is the default, `ready_batches = 2`",
        ),
        ("dotted.toml", 2, "dotted.toml does not fit: line 1: `moderate_share = true` is not a number"),
        (
            "table.toml",
            2,
            "table.toml does not fit: line 2: `input_bound = 3` is not a table; an example is `[rules.input_bound]`",
        ),
        (
            "outside.toml",
            2,
            "outside.toml does not fit: line 1: there is no `thresholds`; there is `rules` or `recording`",
        ),
        ("syntax.toml", 2, "syntax.toml"),
        ("missing.toml", 3, "missing.toml"),
    ];
    for (name, code, words) in cases {
        let ended = run(folder.path(), &["analyze", ".", "--config", name]);
        assert_eq!(ended.code, code, "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
    }
}
