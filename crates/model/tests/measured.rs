//! Points of metrics of machines, devices and processes: names and words of other writers, units, what is damaged.

#![expect(clippy::unwrap_used, reason = "a test's helper that fails, fails the test")]

mod common;

use common::{kinds, read};
use serde_json::{Value, json};
use stepscope_core::metric::{device, host};
use stepscope_model::{IssueKind, Measured, MeasuredKind, MetricPoint, label};

/// The points of a message of one metric, and the issues.
fn points(metric: &Value) -> (Vec<Measured>, Vec<(IssueKind, u64)>) {
    let message = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [metric] }] }] });
    let (collected, outcome) = read(format!("{message}\n").as_bytes());
    let measured = collected.points.into_iter().filter_map(|(.., point)| match point {
        MetricPoint::Measured(measured) => Some(measured),
        _ => None,
    });
    // That a file has no spans is said where nothing else has any.
    let issues = kinds(&outcome).into_iter().filter(|(kind, _)| *kind != IssueKind::Empty);
    (measured.collect(), issues.collect())
}

fn attributes(labels: &[(&str, &str)]) -> Value {
    labels.iter().map(|(key, text)| json!({ "key": key, "value": { "stringValue": text } })).collect()
}

fn sum(name: &str, unit: &str, labels: &[(&str, &str)], value: &Value) -> Value {
    let point = json!({
        "attributes": attributes(labels), "startTimeUnixNano": "5", "timeUnixNano": "7", "asDouble": value
    });
    json!({ "name": name, "unit": unit, "sum": {
        "dataPoints": [point], "aggregationTemporality": 2, "isMonotonic": true
    } })
}

fn gauge(name: &str, unit: &str, labels: &[(&str, &str)], value: &Value) -> Value {
    let point = json!({ "attributes": attributes(labels), "timeUnixNano": "7", "asDouble": value });
    json!({ "name": name, "unit": unit, "gauge": { "dataPoints": [point] } })
}

fn one(metric: &Value) -> Measured {
    let (points, issues) = points(metric);
    assert_eq!(issues, []);
    let [point] = <[Measured; 1]>::try_from(points).unwrap();
    point
}

#[test]
fn own_names_and_those_of_the_collector_are_the_same() {
    let own = one(&sum("system.cpu.time", "s", &[("cpu.mode", "iowait")], &json!(1.25)));
    assert_eq!(
        (own.name.as_ref(), own.kind, own.millionths),
        (host::CPU_TIME, MeasuredKind::Total, 1_250_000)
    );
    assert_eq!(label(&host::row::CPU_TIME, &own.labels, "cpu.mode"), Some("iowait"));
    let theirs = one(&sum("system.cpu.time", "s", &[("cpu", "cpu3"), ("state", "wait")], &json!(1.25)));
    assert_eq!(label(&host::row::CPU_TIME, &theirs.labels, "cpu.mode"), Some("iowait"));
    assert_eq!(label(&host::row::CPU_TIME, &theirs.labels, "cpu.logical_number"), Some("cpu3"));
    // Ours are pages, the collector's bytes of pages.
    let labels = [("system.paging.fault.type", "major"), ("system.paging.direction", "in")];
    let own = one(&sum("system.paging.operations", "{operation}", &labels, &json!(300.0)));
    let labels = [("type", "major"), ("direction", "page_in")];
    let theirs = one(&sum("system.paging.operations", "{operations}", &labels, &json!(300.0 * 4_096.0)));
    assert_eq!((&theirs.labels, theirs.millionths), (&own.labels, own.millionths));
    assert_eq!(theirs.millionths, 300_000_000);
    let load = one(&gauge("system.cpu.load_average.5m", "{thread}", &[], &json!(3.0)));
    assert_eq!(load.name, host::LOAD);
    assert_eq!(label(&host::row::LOAD, &load.labels, "stepscope.load.window"), Some("5m"));
    let labels = [("device", "eth0"), ("direction", "receive")];
    let network = one(&sum("system.network.io", "By", &labels, &json!(10.0)));
    assert_eq!(label(&host::row::NETWORK_IO, &network.labels, "network.interface.name"), Some("eth0"));
    assert_eq!(label(&host::row::NETWORK_IO, &network.labels, "network.io.direction"), Some("receive"));
    assert_eq!(network.others, 0);
}

#[test]
fn values_are_in_the_units_of_the_vocabulary() {
    let busy = one(&gauge("hw.gpu.utilization", "%", &[("hw.id", "GPU-1")], &json!(37.5)));
    assert_eq!((busy.name.as_ref(), busy.millionths), (device::GPU_UTILIZATION, 375_000));
    let (points, issues) = points(&gauge("hw.power", "BTU/h", &[], &json!(1.0)));
    assert_eq!((points, issues), (vec![], vec![(IssueKind::BadValue, 1)]));
}

#[test]
fn what_is_no_number_is_left_out_and_counted() {
    for value in ["NaN", "Infinity", "-Infinity"] {
        let (points, issues) = points(&gauge("system.memory.limit", "By", &[], &json!(value)));
        assert_eq!((points, issues), (vec![], vec![(IssueKind::BadValue, 1)]), "{value}");
    }
    let large = points(&gauge("system.memory.limit", "By", &[], &json!(1e30)));
    assert_eq!(large, (vec![], vec![(IssueKind::BadValue, 1)]));
    // A point that says that it has none is sound.
    let mut metric = gauge("system.memory.limit", "By", &[], &json!("NaN"));
    metric["gauge"]["dataPoints"][0]["flags"] = json!(1);
    assert_eq!(points(&metric), (vec![], vec![]));
}

#[test]
fn gauges_of_any_name_are_read_and_other_kinds_are_not() {
    let depth = one(&gauge("queue.depth", "1", &[("queue", "b"), ("a", "1")], &json!(2.0)));
    assert_eq!((depth.name.as_ref(), depth.labels.as_ref()), ("queue.depth", "a=1, queue=b"));
    assert_eq!(points(&sum("requests", "1", &[], &json!(2.0))), (vec![], vec![]));
}

#[test]
fn attributes_that_are_not_known_tell_series_apart() {
    let of = |rack: &str| one(&gauge("system.memory.limit", "By", &[("rack", rack)], &json!(1.0)));
    assert_eq!(of("a").labels, of("b").labels);
    assert_ne!(of("a").others, of("b").others);
}

#[test]
fn changes_of_what_goes_up_and_down_are_not_read_and_those_of_counters_are() {
    let mut metric = sum("system.cpu.time", "s", &[("cpu.mode", "user")], &json!(1.0));
    metric["sum"]["aggregationTemporality"] = json!(1);
    assert_eq!(one(&metric).kind, MeasuredKind::Increment);
    let mut metric = sum("system.memory.usage", "By", &[("state", "used")], &json!(1.0));
    metric["sum"]["aggregationTemporality"] = json!(1);
    assert_eq!(points(&metric), (vec![], vec![]));
}
