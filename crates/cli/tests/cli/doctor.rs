//! `doctor`: every planted fault is named, with its fix, and told by the exit code; what is well is said to be.

use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;
use stepscope_testkit::{Forest, ForestOptions, Format};

use crate::program::{command, folder, run, write};

/// The checks of a call with settings, and its exit code.
fn doctor(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> (i32, Vec<Value>) {
    let arguments = [&["doctor", "--format", "json"][..], arguments].concat();
    let mut call = command(folder, &arguments);
    let output =
        call.env_remove("RUST_LOG").envs(settings.iter().copied()).output().expect("the program starts");
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let checks = said["checks"].as_array().expect("a list").clone();
    let broken = checks.iter().filter(|check| check["state"] == "broken").count();
    assert_eq!(said["broken"], broken, "{said}");
    for check in &checks {
        assert_eq!(check["state"] == "fine", check["fix"].is_null(), "what is not well has a fix: {check}");
    }
    (output.status.code().unwrap_or(-1), checks)
}

/// What is said of a check, which must be in this state.
fn said<'c>(checks: &'c [Value], check: &str, state: &str) -> &'c str {
    let found = checks.iter().find(|found| found["check"] == check && found["state"] == state);
    found
        .and_then(|found| found["text"].as_str())
        .unwrap_or_else(|| panic!("{check} is not {state}: {checks:#?}"))
}

#[test]
fn a_machine_that_is_well_is_said_to_be() {
    let folder = folder("doctor-well");
    let (code, checks) = doctor(folder.path(), &[], &[]);
    assert_eq!(code, 0, "{checks:#?}");
    for check in ["version", "directory", "variables", "filter", "memory"] {
        said(&checks, check, "fine");
    }
    assert!(!folder.join("profiles").exists(), "looking leaves nothing behind");
    let text = run(folder.path(), &["doctor"]);
    assert!(text.stdout.contains("\nNothing is broken; "), "{}", text.stdout);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
}

#[test]
fn planted_faults_of_the_surroundings_are_named() {
    let folder = folder("doctor-faults");
    write(&folder, "file", b"");
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let (nobody, nobody_safe) = (format!("http://{nobody}"), format!("https://{nobody}"));
    let cases: [(&str, &str, &str, &str); 9] = [
        ("STEPSCOPE_LEVLE", "basic", "variables", "STEPSCOPE_LEVLE"),
        ("STEPSCOPE_LEVEL", "off", "variables", "nothing is recorded"),
        ("OTEL_SDK_DISABLED", "true", "variables", "nothing is recorded"),
        ("STEPSCOPE_RING_BYTES", "many", "variables", "whole number"),
        ("STEPSCOPE_DIR", "file/profiles", "directory", "cannot be written"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &nobody, "endpoint", "refused"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &nobody_safe, "endpoint", "refused"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "absent.pem", "variables", "cannot be read"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &nobody, "endpoint", "refused"),
    ];
    for (name, value, check, words) in cases {
        let (code, checks) = doctor(folder.path(), &[], &[(name, value)]);
        assert_eq!(code, 1, "{name}={value}");
        assert!(said(&checks, check, "broken").contains(words), "{name}={value}: {checks:#?}");
    }
    let (code, checks) =
        doctor(folder.path(), &[], &[("RUST_LOG", "warn"), ("OTEL_TRACES_SAMPLER", "always_off")]);
    assert_eq!(code, 0, "notes break nothing");
    assert!(said(&checks, "filter", "note").contains("RUST_LOG=warn"));
    assert!(said(&checks, "variables", "note").contains("OTEL_TRACES_SAMPLER"));
}

#[test]
fn a_file_of_settings_is_told_and_looked_into() {
    let folder = folder("doctor-settings");
    write(&folder, "file", b"");
    write(&folder, "stepscope.toml", b"[recording]\nstep_span = \"train\"\nsums = false\n");
    let (code, checks) = doctor(folder.path(), &[], &[]);
    assert_eq!((code, said(&checks, "settings", "fine")), (0, "stepscope.toml sets step_span, sums."));
    let (code, checks) = doctor(folder.path(), &[], &[("STEPSCOPE_SUMS", "on")]);
    assert_eq!(code, 0);
    assert!(
        said(&checks, "settings", "note").contains("STEPSCOPE_SUMS in the environment wins"),
        "{checks:#?}"
    );
    write(&folder, "wrong.toml", b"[recording]\ndir = \"file/profiles\"\nlevel = \"lots\"\n");
    let (code, checks) = doctor(folder.path(), &[], &[("STEPSCOPE_CONFIG", "wrong.toml")]);
    assert_eq!(code, 1);
    assert!(
        said(&checks, "settings", "broken").starts_with("wrong.toml:3: level=lots is none of"),
        "{checks:#?}"
    );
    assert!(said(&checks, "directory", "broken").contains("cannot be written"), "{checks:#?}");
    let (code, checks) = doctor(folder.path(), &[], &[("STEPSCOPE_CONFIG", "absent.toml")]);
    assert_eq!(code, 1);
    assert!(said(&checks, "settings", "broken").starts_with("absent.toml cannot be read"), "{checks:#?}");
}

#[test]
fn an_endpoint_that_takes_otlp_is_fine() {
    let folder = folder("doctor-endpoint");
    // Inside of `record` there is one.
    let mut call = command(folder.path(), &["record", "--", env!("CARGO_BIN_EXE_stepscope"), "doctor"]);
    let output = call.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("ok     endpoint      http://127.0.0.1:"), "{text}");
}

#[test]
fn programs_are_run_and_looked_into() {
    let folder = folder("doctor-programs");
    let demo = [env!("CARGO_BIN_EXE_stepscope"), "--quiet", "demo", "--steps", "40"];
    let (code, checks) = doctor(folder.path(), &[&["--"][..], &demo].concat(), &[]);
    assert_eq!(code, 0, "{checks:#?}");
    for check in ["export", "layer", "steps", "run", "sections", "phases", "allocator", "losses", "filter"] {
        said(&checks, check, "fine");
    }
    // What is known of sections whose spans were left out.
    let sampled = |sums| [("STEPSCOPE_FILTER", "sample=2"), ("STEPSCOPE_SUMS", sums)];
    for (sums, known) in [("on", "the sums of all sections are whole"), ("off", "no sums of sections came")] {
        let (_, checks) = doctor(folder.path(), &[&["--"][..], &demo].concat(), &sampled(sums));
        let told = said(&checks, "losses", "note");
        assert!(told.contains("left out: sampled_out; ") && told.contains(known), "{told}");
    }
    let (code, checks) = doctor(folder.path(), &["--", "true"], &[]);
    assert_eq!(code, 1);
    assert!(said(&checks, "export", "broken").contains("sent nothing"));
    let (code, checks) = doctor(folder.path(), &["--", "sh", "-c", "exit 3"], &[]);
    assert_eq!(code, 1);
    assert!(said(&checks, "export", "broken").contains("exit code 3"));
    assert_eq!(run(folder.path(), &["doctor", "--", "./no-such-program"]).code, 127);
}

#[test]
fn recordings_are_looked_into() {
    let folder = folder("doctor-recordings");
    let options = ForestOptions { steps: 20, ended: false, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    let (code, checks) = doctor(folder.path(), &["a.otlp"], &[]);
    said(&checks, "layer", "fine");
    said(&checks, "steps", "fine");
    assert!(said(&checks, "run", "note").contains("did not end"));
    assert_eq!(code, i32::from(checks.iter().any(|check| check["state"] == "broken")));
    assert!(checks.iter().all(|check| check["check"] != "endpoint"), "a file says nothing of this machine");
    // A span of another SDK, and nothing else.
    let foreign = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}"#;
    write(&folder, "foreign.jsonl", foreign);
    let (code, checks) = doctor(folder.path(), &["foreign.jsonl"], &[]);
    assert_eq!(code, 1);
    assert!(said(&checks, "layer", "note").contains("none from stepscope's layer"));
    assert!(said(&checks, "steps", "broken").contains("no steps"));
    assert_eq!(run(folder.path(), &["doctor", "missing"]).code, 3);
}
