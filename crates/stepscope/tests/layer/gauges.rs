//! Gauges in the directory of a program: there by default, whole after a kill, and an alert that is the same in all that tells of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stepscope_core::{attr, metric};
use stepscope_otlp::{MetricHead, Number, PointData, PointHead, Value, Visitor, proto};

#[cfg(feature = "facade")]
use crate::common::recording::Attribute;
use crate::common::recording::{Event, files};
use crate::common::{Ended, Program};

const PATIENCE: Duration = Duration::from_secs(60);

/// One reading: its series, as `name{value of each label,…}`.
type Reading = BTreeMap<String, f64>;

#[derive(Default)]
struct Reader {
    name: String,
    labels: Vec<String>,
    reading: Reading,
    times: Vec<u64>,
}

impl Visitor for Reader {
    fn metric(&mut self, head: &MetricHead<'_>) {
        self.name = head.name.to_owned();
    }

    fn point_attribute(&mut self, _: &str, value: Value<'_>) {
        let Value::Str(text) = value else { panic!("{value:?}") };
        self.labels.push(text.to_owned());
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let value = match head.data {
            PointData::Number(Some(Number::Int(value))) => value as f64,
            PointData::Number(Some(Number::Double(value))) => value,
            ref other => panic!("{other:?}"),
        };
        let labels = std::mem::take(&mut self.labels);
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.reading.insert(format!("{}{labels}", self.name), value);
        self.times.push(head.time_unix_ns);
    }
}

/// The readings below `directory` with their times, in their order; the last record may be torn.
fn readings(directory: &Path) -> Vec<(u64, Reading)> {
    let mut all = Vec::new();
    let is_gauges = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with("gauges-");
    for path in files(directory).iter().filter(|path| is_gauges(path)) {
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[..];
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            let Some((message, tail)) = tail.split_at_checked(u32::from_be_bytes(*len) as usize) else {
                break;
            };
            let mut reader = Reader::default();
            proto::decode_metrics(message, &mut reader).unwrap();
            all.push((reader.times[0], reader.reading));
            rest = tail;
        }
    }
    all.sort_by_key(|(time, _)| *time);
    all
}

fn gauged(what: &str) -> Program {
    Program::new(&["gauged", what]).env("OTEL_METRICS_EXPORTER", "otlp")
}

fn of_directory(ended: &Ended) -> Vec<Reading> {
    readings(&ended.path().join("profiles")).into_iter().map(|(_, reading)| reading).collect()
}

#[test]
fn a_short_program_leaves_its_last_reading_and_none_if_that_is_off() {
    let ended = gauged("short").succeed();
    let readings = of_directory(&ended);
    let last = readings.last().unwrap();
    assert_eq!(last[metric::program::STEP_NUMBER], 42.0);
    assert_eq!(last[&format!("{}{{loss}}", metric::program::VALUE)], 1.0 / 42.0);
    assert!(last[metric::host::PROCESS_THREADS] >= 2.0 && last[metric::host::MEMORY_LIMIT] > 0.0);
    assert!(last.keys().all(|name| !name.starts_with(metric::host::CPU_CORE_UTILIZATION)));
    let off = gauged("short").env("OTEL_METRICS_EXPORTER", "none").succeed();
    assert_eq!(of_directory(&off), Vec::<Reading>::new());
}

#[test]
fn another_rank_of_the_machine_leaves_what_is_its_own() {
    let ended = gauged("short").env("LOCAL_RANK", "1").env("RANK", "1").succeed();
    let readings = of_directory(&ended);
    let last = readings.last().unwrap();
    assert!(last[metric::host::PROCESS_THREADS] >= 2.0 && last[metric::program::STEP_NUMBER] == 42.0);
    assert!(last.keys().all(|name| !name.contains("system.") && !name.starts_with("hw.")), "{last:?}");
    assert!(
        last[metric::host::PROCESS_UPTIME] > 0.0,
        "what it is relative to is known without the machine's files"
    );
}

#[test]
fn a_killed_program_leaves_every_reading_as_it_came() {
    let mut program = gauged("until_killed");
    let mut child = program.start();
    let directory = program.path().join("profiles");
    let deadline = Instant::now() + PATIENCE;
    let found = loop {
        let found = readings(&directory);
        if found.len() >= 3 {
            break found;
        }
        assert!(Instant::now() < deadline, "{found:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let ended = program.end(output);
    let left = readings(&ended.path().join("profiles"));
    assert_eq!(left.get(..found.len()), Some(&found[..]), "what was there stays");
    let passes: Vec<f64> = left.iter().map(|(_, reading)| reading[metric::program::PASSES]).collect();
    assert!(
        passes[0] == 1.0 && passes.is_sorted_by(|earlier, later| earlier < later),
        "each once: {passes:?}"
    );
    assert!(left.last().unwrap().1[metric::program::STEP_NUMBER] > 0.0);
}

#[test]
fn a_section_that_is_too_long_is_an_alert_in_the_gauge_and_in_the_trace() {
    let ended = gauged("long").succeed();
    let firing = format!("{}{{section,warning}}", metric::program::ALERT_FIRING);
    let longest = format!("{}{{step/checkpoint}}", metric::program::SECTION_LONGEST);
    let readings = readings(&ended.path().join("profiles"));
    let (_, reading) = readings.iter().find(|(_, reading)| reading[&firing] > 0.0).unwrap();
    assert!((5.1..30.0).contains(&reading[&longest]), "{}", reading[&longest]);
    assert_eq!(readings.iter().filter(|(_, reading)| reading.contains_key(&longest)).count(), 1);
    let recording = ended.recording();
    let run = recording.only("run");
    let is_it = |event: &&Event| event.attributes.get(attr::ALERT_RULE).is_some_and(|rule| rule == "section");
    let alert = run.events.iter().find(is_it).unwrap();
    assert_eq!((&*alert.name, &*alert.attributes[attr::ALERT]), (attr::ALERT, "firing"));
    assert_eq!(alert.attributes[attr::ALERT_VALUE].parse::<f64>().unwrap(), reading[&longest]);
}

#[test]
fn a_loop_that_is_stuck_in_a_step_is_an_alert_while_it_is() {
    let mut program = gauged("stuck");
    let mut child = program.start();
    let firing = format!("{}{{no_step,critical}}", metric::program::ALERT_FIRING);
    let directory = program.path().join("profiles");
    let deadline = Instant::now() + PATIENCE;
    let reading = loop {
        let fires = |reading: &Reading| reading.get(&firing).is_some_and(|&firing| firing > 0.0);
        let found = readings(&directory).into_iter().map(|(_, reading)| reading).find(fires);
        if let Some(found) = found {
            break found;
        }
        assert!(Instant::now() < deadline, "it never fired");
        std::thread::sleep(Duration::from_millis(50));
    };
    // The step at hand has not ended.
    assert_eq!(reading[metric::program::STEP_NUMBER], 99.0);
    assert!(reading[metric::program::STEP_OVERDUE] > 10.0);
    drop(child.stdin.take());
    let ended = program.end(child.wait_with_output().unwrap());
    let recording = ended.recording();
    let is_it = |event: &&Event| event.attributes.get(attr::ALERT_RULE).is_some_and(|rule| rule == "no_step");
    let alerts: Vec<&Event> = recording.only("run").events.iter().filter(is_it).collect();
    assert_eq!(alerts[0].attributes[attr::ALERT], "firing");
    assert!(alerts[0].attributes[attr::ALERT_VALUE].parse::<f64>().unwrap() > 10.0);
}

#[cfg(feature = "facade")]
#[test]
fn what_a_crate_counts_by_the_facade_is_scraped_sent_and_kept() {
    use crate::common::collector::{Answer, Collector};

    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = gauged("facade")
        .env("STEPSCOPE_METRICS_ADDR", &address)
        .env("STEPSCOPE_METRICS_FACADE", "on")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .succeed();
    assert_eq!(ended.truth()["scraped"], 3);
    assert_eq!(of_directory(&ended).last().unwrap()["requests.total{/a}"], 3.0);
    let sent = collector.recording();
    assert_eq!(sent.count("requests.total", &[("path", "/a")]), 3);
    let resource = |key| match sent.resource.get(key) {
        Some(Attribute::Str(text)) => &**text,
        other => panic!("{key}: {other:?}"),
    };
    let labels = [
        (attr::RUN_ID, resource(attr::RUN_ID)),
        (attr::RUN_ATTEMPT, "0"),
        (attr::RANK, "0"),
        (attr::WORLD_SIZE, "1"),
        (attr::SERVICE_NAME, resource(attr::SERVICE_NAME)),
        (attr::HOST_NAME, resource(attr::HOST_NAME)),
    ];
    assert_eq!(sent.count(metric::run::RUN_INFO, &labels), 1, "whose all others are");
    assert_eq!(ended.truth()["run_infos"], 1);
}
