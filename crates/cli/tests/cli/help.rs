//! Help, version, completions, and what wrong usage gives.

use crate::program::{folder, output, run};

const COMMANDS: [&str; 10] = [
    "demo",
    "record",
    "capture",
    "doctor",
    "monitor",
    "analyze",
    "merge",
    "convert",
    "explain",
    "completions",
];

#[test]
fn help_teaches() {
    let folder = folder("help");
    let text = output(folder.path(), &["--help"]);
    for command in COMMANDS {
        assert!(text.contains(&format!("\n  {command} ")), "{command}: {text}");
    }
    assert!(text.starts_with("Where does the training time go?"), "{text}");
    assert!(text.contains("First steps:"), "{text}");
    for code in 0..=4 {
        assert!(text.contains(&format!("\n  {code}  ")), "exit code {code}: {text}");
    }
    for command in
        ["demo", "record", "capture", "doctor", "monitor", "analyze", "merge", "convert", "explain"]
    {
        let text = output(folder.path(), &[command, "--help"]);
        assert!(text.contains("Examples:"), "{text}");
        assert!(text.contains("Exit codes:"), "{text}");
        assert!(text.contains("--no-color") && text.contains("--quiet"), "{text}");
    }
}

#[test]
fn the_version_is_the_package_s() {
    let text = output(folder("version").path(), &["--version"]);
    assert_eq!(text, format!("stepscope {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_code_2() {
    let folder = folder("usage");
    let cases: [&[&str]; 23] = [
        &[],
        &["no-such-command"],
        &["analyze", "--no-such-option"],
        &["analyze", "--format", "xml"],
        &["analyze", "--fail-on", "101"],
        &["analyze", "--fail-on", "high"],
        &["analyze", "--partial", "x", "--format", "json"],
        &["analyze", "-", "-"],
        // A folder of tables goes to no standard output.
        &["analyze", "-", "--format", "csv"],
        &["demo", "--format", "csv"],
        &["merge"],
        &["record"],
        &["doctor", "--format", "md"],
        &["doctor", "profiles", "--", "true"],
        &["record", "true"],
        &["explain", "no_such_rule"],
        &["demo", "--steps", "0"],
        &["monitor", "--listen", "9101"],
        &["monitor", "--listen", "0.0.0.0:0"],
        &["monitor", "--interval", "0"],
        &["monitor", "--pid", "0"],
        &["monitor", "--once", "--listen", "127.0.0.1:0"],
        &["completions", "no-such-shell"],
    ];
    for case in cases {
        let ended = run(folder.path(), case);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{case:?}: {}", ended.stderr);
        assert!(!ended.stderr.is_empty(), "{case:?}");
    }
}

#[test]
fn without_input_the_way_on_is_shown() {
    let ended = run(folder("no-input").path(), &["analyze"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("profiles/") && ended.stderr.contains("stepscope demo"),
        "{}",
        ended.stderr
    );
}

#[test]
fn every_shell_has_completions() {
    let folder = folder("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output(folder.path(), &["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}
