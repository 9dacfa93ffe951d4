//! The board with its data inside: figures are those of the JSON report, frames are whole, and its size is bounded.

use serde_json::Value;

use super::{HOSTILE, full, hostile, html::long, json_of, report_of, text_in};
use stepscope_analyze::Summary;

fn board(summary: &Summary) -> Value {
    serde_json::from_str(&text_in("grafana", &report_of(summary))).unwrap()
}

fn frame<'b>(board: &'b Value, title: &str) -> &'b Value {
    let panels = board["panels"].as_array().unwrap();
    let panel = panels.iter().find(|panel| panel["title"] == title).unwrap_or_else(|| panic!("no {title}"));
    &panel["targets"][0]["snapshot"][0]
}

fn column(board: &Value, title: &str, name: &str) -> Vec<Value> {
    let frame = frame(board, title);
    let fields = frame["schema"]["fields"].as_array().unwrap();
    let at = fields.iter().position(|field| field["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    frame["data"]["values"][at].as_array().unwrap().clone()
}

fn each(rows: &Value, value: impl Fn(&Value) -> Value) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(value).collect()
}

#[test]
fn figures_are_those_of_the_json_report() {
    let (board, json) = (board(&full()), json_of(&report_of(&full())));
    for (title, value) in [
        ("Steps", &json["summary"]["steps"]),
        ("Step time, median", &json["summary"]["step_time"]["p50"]),
        ("Step time, p95", &json["summary"]["step_time"]["p95"]),
        ("Input", &json["summary"]["input"]["share"]),
    ] {
        assert_eq!(column(&board, title, title), std::slice::from_ref(value), "{title}");
    }
    assert_eq!(
        column(&board, "Findings", "Severity"),
        each(&json["findings"], |row| row["severity"].clone())
    );
    assert_eq!(column(&board, "Findings", "Rule"), each(&json["findings"], |row| row["rule"].clone()));
    let points = &json["detailed_metrics"]["series"][0]["points"];
    assert_eq!(
        column(&board, "Step times", "Longest"),
        each(points, |point| point["duration_max_ns"].clone())
    );
    assert_eq!(column(&board, "Memory", "Live"), each(points, |point| point["live_bytes"]["mean"].clone()));
    let mut totals = each(&json["sections"], |row| row["total"].clone());
    totals.sort_by_key(|total| std::cmp::Reverse(total.as_u64()));
    assert_eq!(column(&board, "Sections", "Total"), totals);
}

#[test]
fn frames_have_as_many_values_in_every_field() {
    let board = board(&full());
    for panel in board["panels"].as_array().unwrap() {
        let frame = &panel["targets"][0]["snapshot"][0];
        let fields = frame["schema"]["fields"].as_array().unwrap();
        let values = frame["data"]["values"].as_array().unwrap();
        let lengths: Vec<usize> = values.iter().map(|column| column.as_array().unwrap().len()).collect();
        assert_eq!(fields.len(), values.len(), "{}", panel["title"]);
        assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{}: {lengths:?}", panel["title"]);
        for (field, column) in fields.iter().zip(values) {
            let is_number = field["type"] == "number";
            let fits = |value: &Value| value.is_null() || value.is_number() == is_number;
            assert!(column.as_array().unwrap().iter().all(fits), "{} {}", panel["title"], field["name"]);
        }
    }
}

#[test]
fn a_hundred_thousand_steps_fit_and_keep_their_extremes() {
    let summary = long();
    let text = text_in("grafana", &report_of(&summary));
    assert!(text.len() <= 1 << 20, "{} bytes", text.len());
    let board: Value = serde_json::from_str(&text).unwrap();
    let longest = summary.series[0].points.iter().map(|point| point.duration_max_ns).max();
    assert_eq!(column(&board, "Step times", "Longest").iter().filter_map(Value::as_u64).max(), longest);
    assert!(column(&board, "Step times", "Step").len() <= 1_000);
}

#[test]
fn names_are_data_and_bounded() {
    let long_name = "x".repeat(10_000);
    for name in HOSTILE.into_iter().chain([&*long_name]) {
        let board = board(&hostile(name));
        for panel in board["panels"].as_array().unwrap() {
            assert_ne!(panel["type"], "text", "names are in no Markdown");
        }
        assert!(board.to_string().len() <= 1 << 20);
    }
}
