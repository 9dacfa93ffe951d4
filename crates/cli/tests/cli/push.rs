//! `--push` to a small receiver: what arrives is decoded and held against the report of the same input; what nobody takes is
//! told, and changes the exit code only where nothing else was asked for.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::Value;
use stepscope_otlp::{MetricHead, Number, PointData, PointHead, Value as Attribute, Visitor, proto};
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder};

use crate::program::{Ended, command, folder, json};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const LIMIT: Duration = Duration::from_secs(60);

/// A request that has come: its line, its headers in small letters, its body.
struct Request {
    line: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((key, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(key.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: line.trim_end().to_owned(), headers, body })
}

/// Answers one request after the other with these answers, the last one again and again; gives its URL and what came.
fn receiver(answers: &'static [&'static str]) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    let (send, receive) = sync_channel(100);
    let work = move || {
        for (index, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let Some(request) = read(&stream) else { continue };
            let answer = answers.get(index).or(answers.last()).copied().unwrap_or_default();
            // Who has the answer finds the request there.
            let is_wanted = send.send(request).is_ok();
            let _ = stream.write_all(answer.as_bytes());
            if !is_wanted {
                return;
            }
        }
    };
    std::thread::Builder::new().name("receiver".into()).spawn(work).expect("a thread starts");
    (url, receive)
}

const TAKEN: &[&str] = &["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"];
const BUSY_AT_FIRST: &[&str] =
    &["HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n", TAKEN[0]];

fn analyze(folder: &TempFolder, arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
    let all = [&["analyze", "a.otlp"], arguments].concat();
    let mut call = command(folder.path(), &all);
    call.envs(settings.iter().copied());
    call.output().expect("the program starts").into()
}

fn with_a_run(label: &str) -> TempFolder {
    let folder = folder(label);
    // One that did not end, which is a finding.
    let options =
        ForestOptions { run_id: "the-run".into(), ended: false, steps: 60, ..ForestOptions::default() };
    Forest::new(options).write_file(Format::Proto, &folder.join("a.otlp")).expect("a file can be written");
    folder
}

/// Attributes by name.
type Attributes = BTreeMap<String, String>;
/// A point: its attributes, and its value.
type Point = (Attributes, f64);

/// Points by metric, each with its attributes and its value; and the attributes of the resource.
#[derive(Default)]
struct Points {
    resource: Attributes,
    metric: String,
    waiting: Attributes,
    all: BTreeMap<String, Vec<Point>>,
}

fn text(value: Attribute<'_>) -> String {
    match value {
        Attribute::Str(text) => text.to_owned(),
        Attribute::Int(number) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

impl Visitor for Points {
    fn resource_attribute(&mut self, key: &str, value: Attribute<'_>) {
        self.resource.insert(key.to_owned(), text(value));
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.metric = head.name.to_owned();
    }

    fn point_attribute(&mut self, key: &str, value: Attribute<'_>) {
        self.waiting.insert(key.to_owned(), text(value));
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let PointData::Number(Some(Number::Double(value))) = head.data else { panic!("{head:?}") };
        assert!(head.time_unix_ns > 0);
        let point = (std::mem::take(&mut self.waiting), value);
        self.all.entry(self.metric.clone()).or_default().push(point);
    }
}

fn points(request: &Request) -> Points {
    assert_eq!(request.line, "POST /v1/metrics HTTP/1.1");
    assert_eq!(request.headers["content-type"], "application/x-protobuf");
    let mut points = Points::default();
    proto::decode_metrics(&request.body, &mut points).expect("it is a message");
    points
}

fn records(request: &Request) -> Vec<Value> {
    assert_eq!(request.line, "POST /v1/logs HTTP/1.1");
    assert_eq!(request.headers["content-type"], "application/json");
    let message: Value = serde_json::from_slice(&request.body).expect("it is JSON");
    message["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().expect("records").clone()
}

fn attribute<'v>(record: &'v Value, key: &str) -> &'v Value {
    let attributes = record["attributes"].as_array().expect("attributes");
    attributes.iter().find(|attribute| attribute["key"] == key).map_or(&Value::Null, |found| &found["value"])
}

#[test]
fn what_arrives_is_what_the_report_says() {
    let folder = with_a_run("push");
    let (url, requests) = receiver(TAKEN);
    let report = json(folder.path(), &["analyze", "a.otlp"]);
    let ended = analyze(&folder, &["--push", "--output", "r.txt"], &[(ENDPOINT, &url)]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let found = report["findings"].as_array().expect("findings");
    assert!(!found.is_empty(), "the run has something to find");
    let (metrics, logs) = (requests.recv_timeout(LIMIT), requests.recv_timeout(LIMIT));
    let points = points(&metrics.expect("metrics come"));
    assert_eq!(points.resource["stepscope.run.id"], "the-run");
    let of = |name: &str| points.all.get(name).cloned().unwrap_or_default();
    for points in points.all.values() {
        assert!(points.iter().all(|(labels, _)| labels["stepscope.run.id"] == "the-run"));
    }
    let severities = of("stepscope.finding.severity");
    for row in found {
        let is_it = |(labels, severity): &Point| {
            let same = |key: &str, label: &str| labels.get(label).map(String::as_str) == row[key].as_str();
            same("rule", "stepscope.finding.rule")
                && same("section", "stepscope.path")
                && Some(*severity) == row["severity"].as_f64()
        };
        assert_eq!(severities.iter().filter(|point| is_it(point)).count(), 1, "{row}");
    }
    assert_eq!(severities.len(), found.len());
    let one = |name: &str| of(name).first().map(|(_, value)| *value);
    let steps = &report["summary"];
    assert_eq!(one("stepscope.run.steps"), steps["steps"].as_f64());
    let median_s = steps["step_time"]["p50"].as_f64().map(|ns| ns / 1e9);
    assert_eq!(one("stepscope.run.step.duration.p50"), median_s);
    assert_eq!(one("stepscope.run.findings"), Some(found.len() as f64));
    let sections = report["sections"].as_array().expect("sections").len();
    assert_eq!(of("stepscope.run.section.duration").len(), sections.min(50));
    let place = &of("stepscope.run.report")[0].0["stepscope.report.path"];
    assert!(place.starts_with('/') && place.ends_with("/r.txt"), "{place}");
    let records = records(&logs.expect("logs come"));
    assert_eq!(records.len(), found.len());
    for (record, row) in records.iter().zip(found) {
        assert_eq!(record["eventName"], "stepscope.finding");
        assert_eq!(record["body"]["stringValue"], row["title"]);
        assert_eq!(attribute(record, "stepscope.finding.rule")["stringValue"], row["rule"]);
        let id = attribute(record, "stepscope.finding.id")["stringValue"].as_str().expect("an id");
        assert_eq!(id, format!("the-run/0/{}", row["id"].as_str().expect("an id")));
        let (key, _) =
            row["evidence"].as_object().and_then(|evidence| evidence.iter().next()).expect("evidence");
        assert!(attribute(record, &format!("stepscope.finding.evidence.{key}")).is_object(), "{record}");
    }
}

#[test]
fn the_same_run_again_has_the_same_identities_and_times() {
    let folder = with_a_run("push-again");
    let (url, requests) = receiver(TAKEN);
    let mut known = Vec::new();
    for _ in 0..2 {
        assert_eq!(analyze(&folder, &["--push"], &[(ENDPOINT, &url)]).code, 0);
        let metrics = requests.recv_timeout(LIMIT).expect("metrics come");
        let logs = requests.recv_timeout(LIMIT).expect("logs come");
        let series: Vec<_> = points(&metrics).all.into_iter().collect();
        let records = records(&logs);
        let identities: Vec<_> = records
            .iter()
            .map(|record| (attribute(record, "stepscope.finding.id").clone(), record["timeUnixNano"].clone()))
            .collect();
        assert!(identities.iter().all(|(_, time)| time.as_str().is_some_and(|time| time.len() == 19)));
        known.push((series, identities));
    }
    assert!(known[0] == known[1]);
}

#[test]
fn a_collector_that_is_not_there_is_named() {
    let folder = with_a_run("push-nobody");
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free");
    let url = format!("http://{nobody}");
    let settings = [(ENDPOINT, url.as_str())];
    let alone = analyze(&folder, &["--push"], &settings);
    assert_eq!(alone.code, 3);
    let said = format!("failed to push to {url}/v1/metrics: nobody listens there");
    assert!(alone.stderr.contains(&said), "{}", alone.stderr);
    assert!(!alone.stdout.is_empty(), "the report is written nevertheless");
    for (arguments, code) in [
        (&["--push", "--fail-on", "0"][..], 1),
        (&["--push", "--fail-on", "100"], 0),
        (&["--push", "--format", "md"], 0),
    ] {
        let ended = analyze(&folder, arguments, &settings);
        assert_eq!(ended.code, code, "{arguments:?}");
        assert!(ended.stderr.contains(&said), "{}", ended.stderr);
    }
}

#[test]
fn a_receiver_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let folder = with_a_run("push-busy");
    let (url, requests) = receiver(BUSY_AT_FIRST);
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x");
    let ended = analyze(&folder, &["--push"], &[(ENDPOINT, &url), headers]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let all: Vec<Request> =
        (0..3).map(|_| requests.recv_timeout(LIMIT).expect("three requests come")).collect();
    assert_eq!(all[0].body, all[1].body);
    assert!(all.iter().all(|request| request.headers["authorization"] == "Bearer x"));
    let (url, requests) = receiver(&["HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n"]);
    let refused = analyze(&folder, &["--push"], &[(ENDPOINT, &url)]);
    assert!(refused.code == 3 && refused.stderr.contains("answers with 400"), "{}", refused.stderr);
    assert_eq!(requests.try_iter().count(), 1);
}
