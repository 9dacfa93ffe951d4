//! The Markdown report: a snapshot, and its tables read back against the JSON report.

use serde_json::Value;
use stepscope_analyze::summary::{HeldUp, WaitedBy, WhileAwaited};

use super::{HOSTILE, full, hostile, json_of, report_of, text_in};
use crate::fixture::{healthy, nothing};
use crate::text::{snapshot, troubled};

/// The rows of the table whose first title is `first` below a heading.
fn table(text: &str, heading: &str, first: &str) -> Vec<Vec<String>> {
    let from = text.find(&format!("### {heading}\n")).unwrap_or_else(|| panic!("{heading}: {text}"));
    let from = from + text[from..].find(&format!("\n| {first} |")).unwrap();
    let lines = text[from..].trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let line = line.trim_start_matches("| ").trim_end_matches(" |");
        line.split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    lines.map(cells).collect()
}

/// A figure with its unit as a plain number.
fn number(cell: &str) -> f64 {
    let (digits, unit) = cell.split_once(' ').unwrap_or((cell, ""));
    let digits: f64 = digits.replace(',', "").replace('−', "-").parse().unwrap_or_else(|_| panic!("{cell}"));
    let scale = match unit {
        "" | "ns" | "B" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "%" => 0.01,
        other => panic!("{other} in {cell}"),
    };
    digits * scale
}

fn assert_shows(cell: &str, value: &Value, place: &str) {
    match value.as_f64() {
        None => assert!(["–", ""].contains(&cell), "{place}: {cell} for {value}"),
        Some(value) => {
            let shown = number(cell);
            // Three significant digits, of shares two.
            let off = if cell.ends_with('%') { value.abs() * 0.05 } else { value.abs() * 0.005 };
            assert!((shown - value).abs() <= off + 1e-9, "{place}: {cell} for {value}");
        }
    }
}

#[test]
fn a_troubled_run_reads_well() {
    snapshot("troubled.md", &text_in("md", &report_of(&troubled())));
}

#[test]
fn a_healthy_run_reads_well() {
    snapshot("healthy.md", &text_in("md", &report_of(&healthy().build())));
}

#[test]
fn numbers_are_those_of_the_report() {
    let report = report_of(&full());
    let (text, json) = (text_in("md", &report), json_of(&report));
    let sections = table(&text, "Sections", "Section");
    assert_eq!(sections.len(), json["sections"].as_array().unwrap().len());
    for row in &sections {
        let section = json["sections"].as_array().unwrap().iter().find(|one| one["path"] == row[0]).unwrap();
        let figures = ["count", "total", "self_ns", "p50", "p95", "max"].map(|name| &section[name]);
        for (cell, value) in row[1..].iter().zip(figures) {
            assert_shows(cell, value, &row[0]);
        }
        assert_shows(&row[7], &section["alloc"]["alloc_bytes"], &row[0]);
    }
    let phases = table(&text, "Where the step time goes", "Phase");
    let rows = json["summary"]["phases"].as_array().unwrap();
    assert_eq!(phases.len(), rows.len() + 1);
    for (row, phase) in phases.iter().zip(rows) {
        assert_eq!(row[0], *phase["phase"].as_str().unwrap());
        for (cell, name) in row[1..].iter().zip(["exposed_share", "exposed_ns", "total_share", "total_ns"]) {
            assert_shows(cell, &phase[name], &row[0]);
        }
    }
    assert_shows(&phases[rows.len()][2], &json["summary"]["unattributed_ns"], "no phase");
    let findings = table(&text, "Findings", "#");
    for (row, finding) in findings.iter().zip(json["findings"].as_array().unwrap()) {
        assert_eq!(number(&row[1]), finding["severity"].as_f64().unwrap().round());
        assert_shows(row[4].trim_start_matches("at most "), &finding["predicted_gain"]["share"], &row[2]);
    }
    let memory = table(&text, "Memory at the ends of steps", "Memory");
    for (row, name) in memory.iter().zip(["live", "rss"]) {
        for (cell, figure) in row[1..].iter().zip(["first_bytes", "last_bytes", "max_bytes"]) {
            assert_shows(cell, &json["memory"][name][figure], name);
        }
    }
    let held = table(&text, "Memory held by sections", "Section");
    let by_section = &json["memory"]["by_section"];
    let rows = by_section["sections"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.chain([&by_section["other"], &by_section["total"]]).collect();
    assert_eq!((held.len(), held[0][0].as_str()), (rows.len(), "step/history"));
    assert_eq!(held[1][0], "step/forward` with all inside");
    for (row, figures) in held.iter().zip(rows) {
        for (cell, name) in row[1..].iter().zip(["first_bytes", "last_bytes", "peak_bytes", "peak_step"]) {
            assert_shows(cell, &figures[name], &row[0]);
        }
    }
}

#[test]
fn who_waited_for_which_loader_is_told() {
    let mut summary = full();
    let loader = &mut summary.batches.loaders[0];
    loader.held_up = vec![HeldUp { mode: None, waits: 3, total_ns: 70 }];
    loader.waited_by = vec![WaitedBy { loader: "a|b".into(), waits: 40, total_ns: 5_000_000 }];
    loader.while_awaited = Some(WhileAwaited { utilisation: 0.625, produce_mean_ns: 7, at_once_ns: None });
    let report = report_of(&summary);
    let (text, json) = (text_in("md", &report), json_of(&report));
    let loaders = json["detailed_metrics"]["batches"]["loaders"].as_array().unwrap();
    let rows = table(&text, "Batches", "Loader");
    assert_eq!(rows.len(), loaders.len());
    for (row, loader) in rows.iter().zip(loaders) {
        assert_eq!(row[0], loader["name"].as_str().unwrap());
        assert_eq!(number(&row[2]), loader["workers"].as_array().unwrap().len() as f64);
        let figures = [
            &loader["produce"]["count"],
            &loader["utilisation"],
            &loader["while_awaited"]["utilisation"],
            &loader["slot_wait_share"],
        ];
        for (cell, value) in [&row[1], &row[3], &row[4], &row[5]].into_iter().zip(figures) {
            assert_shows(cell, value, &row[0]);
        }
        for (cell, name) in row[6..].iter().zip(["p50", "p95"]) {
            assert_shows(cell, &loader["produce"][name], name);
        }
    }
    let kinds = |loader: &Value| {
        let of = |kind: &str| loader[kind].as_array().unwrap().clone();
        [of("held_up"), of("waited_by")].concat().into_iter().map({
            let name = loader["name"].clone();
            move |row| (name.clone(), row)
        })
    };
    let expected: Vec<(Value, Value)> = loaders.iter().flat_map(kinds).collect();
    let rows = table(&text, "Batches", "Waited for");
    assert!(expected.iter().any(|(_, row)| row.get("loader").is_some()), "a loader waits for another");
    assert_eq!(rows.len(), expected.len());
    for (row, (loader, waiter)) in rows.iter().zip(&expected) {
        assert_eq!(row[0], loader.as_str().unwrap());
        let is_loader = waiter.get("loader").is_some();
        assert_eq!(row[1], if is_loader { "batches of <code>a&#124;b</code>" } else { "outside of steps" });
        assert_shows(&row[2], &waiter["waits"], "waits");
        assert_shows(&row[3], &waiter["total_ns"], "total_ns");
    }
}

#[test]
fn names_stay_names() {
    for name in HOSTILE {
        let text = text_in("md", &report_of(&hostile(name)));
        assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
        assert!(!text.contains("@team") && !text.contains("[link]("), "{text}");
        for line in text.lines() {
            assert!(!line.starts_with("# "), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
        // A bar in a name is no border of a column.
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut previous: Option<usize> = None;
        for line in text.lines() {
            let now = line.starts_with('|').then(|| columns(line));
            assert!(previous.is_none() || now.is_none() || now == previous, "{line}");
            previous = now;
        }
    }
}

#[test]
fn an_input_without_a_run_says_so() {
    let text = text_in("md", &report_of(&nothing()));
    assert!(text.starts_with("## Nothing to report: the input holds no run.\n"), "{text}");
    assert!(!text.contains("Findings"), "{text}");
}
