//! `record` around small shell programs: exit codes, signals, the environment, what is said when nothing comes, and
//! the report of what does.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use stepscope_otlp::{Signal, detect};
use stepscope_testkit::{Forest, ForestOptions, Format, process};

use crate::program::{command, folder, json, run, write};

/// Sends the messages that lie in a folder, each to the place of its signal.
const SENDER: &str = r#"
import os, urllib.request
for name in sorted(os.listdir("messages")):
    url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/" + name.split("-")[1]
    body = open(f"messages/{name}", "rb").read()
    request = urllib.request.Request(url, body, {"content-type": "application/x-protobuf"})
    assert urllib.request.urlopen(request).status == 200
"#;

/// Becomes its arguments, with no signal ignored: who runs tests in the background has some ignored, and what is
/// ignored stays so in whatever is started.
const HEEDING: &str = "
import os, signal, sys
for name in (signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
";

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn the_program_s_exit_code_comes_first() {
    let folder = folder("record-codes");
    for (script, code) in [("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137), ("exit 0", 3)] {
        let ended = run(folder.path(), &["record", "--", "sh", "-c", script]);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{script}: {}", ended.stderr);
        assert!(ended.stderr.contains("the program sent nothing"), "{script}: {}", ended.stderr);
    }
    let ended = run(folder.path(), &["record", "--", "./no-such-program"]);
    assert_eq!(ended.code, 127, "{}", ended.stderr);
    assert!(ended.stderr.contains("there is no program ./no-such-program"), "{}", ended.stderr);
    let ended = run(folder.path(), &["record", "--", "."]);
    assert_eq!(ended.code, 126, "{}", ended.stderr);
    let left = std::fs::read_dir(folder.join("profiles")).expect("it was made").count();
    assert_eq!(left, 0, "empty folders do not stay");
}

#[test]
fn the_environment_leads_here_and_keeps_what_the_user_set() {
    let folder = folder("record-environment");
    let mut call = command(folder.path(), &["record", "--", "sh", "-c"]);
    call.arg("echo $OTEL_EXPORTER_OTLP_ENDPOINT $OTEL_EXPORTER_OTLP_PROTOCOL _${OTEL_EXPORTER_OTLP_TRACES_ENDPOINT}_");
    call.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    call.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");
    call.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector:4318/v1/traces");
    let output = call.output().expect("the program starts");
    let (said, notes) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("http://127.0.0.1:") && said.ends_with(" grpc __\n"), "{said}");
    assert!(notes.contains("OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317 is not used"), "{notes}");
    assert!(notes.contains("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http"), "{notes}");
}

#[test]
fn signals_are_the_program_s_business() {
    let folder = folder("record-signals");
    for (signal, code) in [("TERM", 41), ("INT", 42), ("HUP", 43), ("USR1", 44)] {
        let script = format!("trap 'exit {code}' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut call = Command::new("python3");
        call.args(["-c", HEEDING, env!("CARGO_BIN_EXE_stepscope"), "record", "--", "sh", "-c", &script]);
        call.current_dir(folder.path()).stdin(Stdio::null());
        let mut child =
            call.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it is ready");
        assert_eq!(line, "ready\n");
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill is there").success());
        let (status, timed_out) = process::wait(&mut child, LIMIT).expect("it can be waited for");
        assert_eq!((status.code(), timed_out), (Some(code), false), "{signal}");
    }
}

#[test]
fn what_is_sent_is_reported_as_if_it_were_read_from_a_file() {
    let folder = folder("record-report");
    let forest = Forest::new(ForestOptions { steps: 60, ..ForestOptions::default() });
    forest.write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    let (messages, truth) = forest.messages(Format::Proto);
    for (number, message) in messages.iter().enumerate() {
        let is_metrics = detect(message).and_then(|found| found.signal) == Some(Signal::Metrics);
        let signal = if is_metrics { "metrics" } else { "traces" };
        write(&folder, &format!("messages/{number:03}-{signal}"), message);
    }
    write(&folder, "sender.py", SENDER.as_bytes());
    let arguments =
        ["record", "--format", "json", "--out", "recorded", "--fail-on", "100", "--", "python3", "sender.py"];
    let ended = run(folder.path(), &arguments);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut recorded: Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!(recorded["run"]["spans"], Value::from(truth.spans));
    // Where it was read from is all that differs.
    let mut read = json(folder.path(), &["analyze", "a.otlp"]);
    assert_ne!(recorded["inputs"].take(), read["inputs"].take());
    assert_eq!(recorded, read);
    let arguments = ["-q", "record", "--fail-on", "0", "--output", "r.txt", "--", "python3", "sender.py"];
    let ended = run(folder.path(), &arguments);
    let failed = read["findings"].as_array().is_some_and(|found| !found.is_empty());
    assert_eq!((ended.code, ended.stderr.as_str()), (i32::from(failed), ""));
}
