//! The tables, read back by a parser of the test's own, against the JSON report.

use std::collections::BTreeMap;

use serde_json::Value;
use stepscope_analyze::report::Report;

use super::{HOSTILE, files_in, full, hostile, json_of, report_of};
use crate::fixture::nothing;

type Row = BTreeMap<String, String>;

/// RFC 4180: fields, quotes doubled inside of quotes, CR LF.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(letters.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.push(letter),
        }
    }
    assert!(row.is_empty() && field.is_empty() && !quoted, "the last line ends");
    rows
}

fn tables(report: &Report) -> BTreeMap<&'static str, Vec<Row>> {
    let read = |text: &str| {
        let mut lines = parse(text);
        let header = lines.remove(0);
        let row = |line: Vec<String>| {
            assert_eq!(line.len(), header.len());
            header.iter().cloned().zip(line).collect::<Row>()
        };
        lines.into_iter().map(row).collect::<Vec<_>>()
    };
    files_in("csv", report).iter().map(|file| (file.name, read(&file.text))).collect()
}

/// What a cell must hold for a value of the JSON report.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        // 1.0 and 1 are one number; the tables write the short one.
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => format!("{number}"),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Every figure of a JSON object against a row: `_ns` may follow the JSON name, nested names may be joined.
fn compare(place: &str, object: &Value, row: &Row, names: &BTreeMap<String, String>) {
    let mut seen = 0;
    walk("", object, &mut |path, value| {
        let plain = path.replace('/', "_");
        let candidates = [names.get(path).cloned().unwrap_or_default(), plain.clone(), format!("{plain}_ns")];
        let found = candidates.iter().find_map(|name| row.get(name));
        assert_eq!(found, Some(&cell(value)), "{place}: {path} in {row:?}");
        seen += 1;
    });
    assert!(seen > 0, "{place}");
}

/// Leaves of an object; lists are tables of their own.
fn walk(path: &str, value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                walk(&path, value, visit);
            }
        }
        Value::Array(_) => {}
        leaf => visit(path, leaf),
    }
}

fn names(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(json, csv)| ((*json).to_owned(), (*csv).to_owned())).collect()
}

#[test]
fn every_figure_of_a_section_is_in_its_row() {
    let report = report_of(&full());
    let (json, tables) = (json_of(&report), tables(&report));
    let mut map = names(&[
        ("cv", "cv_ratio"),
        ("robust_cv", "robust_cv_ratio"),
        ("alloc/spans", "alloc_spans"),
        ("alloc/alloc_bytes", "alloc_bytes"),
        ("alloc/free_bytes", "free_bytes"),
        ("alloc/alloc_count", "alloc_count"),
        ("alloc/self_alloc_bytes", "self_alloc_bytes"),
        ("alloc/self_free_bytes", "self_free_bytes"),
        ("alloc/self_net_bytes", "self_net_bytes"),
        ("alloc/peak_bytes", "peak_bytes"),
        ("alloc", "alloc_bytes"),
    ]);
    for figure in ["busy_ns", "idle_ns", "cpu_ns", "run_queue_ns", "samples", "tokens", "bytes", "flops"] {
        map.insert(format!("{figure}/sum"), figure.to_owned());
        map.insert(format!("{figure}/spans"), format!("{figure}_spans"));
    }
    let sections = json["sections"].as_array().unwrap();
    assert_eq!(sections.len(), tables["sections.csv"].len());
    let mut parts = tables["section_modes.csv"].iter();
    for (section, row) in sections.iter().zip(&tables["sections.csv"]) {
        compare("sections", section, row, &map);
        for part in section["in_steps"].as_array().unwrap() {
            let row = parts.next().unwrap();
            assert_eq!(row["path"], section["path"]);
            compare("in_steps", part, row, &names(&[]));
        }
    }
    assert!(parts.next().is_none());
}

#[test]
fn every_point_of_a_series_is_a_row() {
    let report = report_of(&full());
    let (json, tables) = (json_of(&report), tables(&report));
    let gauge = |name: &str, short: &str| {
        ["count", "min", "mean", "max"].map(|figure| {
            let unit = if figure == "count" { "" } else { "_bytes" };
            (format!("{name}/{figure}"), format!("{short}_{figure}{unit}"))
        })
    };
    let mut map: BTreeMap<String, String> =
        gauge("live_bytes", "live").into_iter().chain(gauge("rss_bytes", "rss")).collect();
    map.insert("live_bytes".into(), "live_count".into());
    map.insert("rss_bytes".into(), "rss_count".into());
    let points = json["detailed_metrics"]["series"][0]["points"].as_array().unwrap();
    let rows = &tables["steps.csv"];
    assert_eq!((points.len(), rows.len()), (200, 200));
    for (point, row) in points.iter().zip(rows) {
        compare("series", point, row, &map);
        assert_eq!((row["mode"].as_str(), row["step_numbers"].as_str()), ("train", "2"));
    }
    // Absent is not zero.
    assert_eq!((rows[7]["live_mean_bytes"].as_str(), rows[7]["rss_count"].as_str()), ("", ""));
    let changes = json["detailed_metrics"]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), tables["changes.csv"].len()), (1, 1));
    compare("changes", &changes[0], &tables["changes.csv"][0], &BTreeMap::new());
    let periodic = &json["detailed_metrics"]["periodic"][0];
    let rows = &tables["periods.csv"];
    assert_eq!((rows.len(), &rows[0]["mode"]), (1, &cell(&periodic["mode"])));
    compare("periods", &periodic["periods"][0], &rows[0], &BTreeMap::new());
    compare("usual", &periodic["usual"]["p95"], &rows[0], &names(&[("", "usual_p95_ns")]));
    let values = &tables["values.csv"];
    assert_eq!(values.len(), 2);
    assert_eq!(
        (values[0]["step"].as_str(), values[0]["last"].as_str(), values[0]["mean"].as_str()),
        ("0", "", "0.5")
    );
    assert_eq!((values[1]["step"].as_str(), values[1]["count"].as_str()), ("", "2"));
}

#[test]
fn what_sections_hold_has_its_rows() {
    let report = report_of(&full());
    let (json, tables) = (json_of(&report), tables(&report));
    let held = &json["memory"]["by_section"];
    let rows = &tables["memory_sections.csv"];
    let whats: Vec<&str> = rows.iter().map(|row| row["what"].as_str()).collect();
    assert_eq!(whats, ["section", "section", "other", "total"]);
    let map = names(&[("path", "section")]);
    for (section, row) in held["sections"].as_array().unwrap().iter().zip(rows) {
        compare("sections", section, row, &map);
    }
    compare("other", &held["other"], &rows[2], &map);
    compare("total", &held["total"], &rows[3], &map);
    let mut rows = tables["memory_over_steps.csv"].iter();
    for point in held["points"].as_array().unwrap() {
        let bytes = point["sections"].as_array().unwrap().iter().chain([&point["other_bytes"]]);
        let paths = ["step/history", "step/forward", ""];
        for (path, bytes) in paths.iter().zip(bytes) {
            let row = rows.next().unwrap();
            let expected = [&point["step"], &point["net_bytes"], &point["held_bytes"], bytes].map(cell);
            let columns =
                ["step", "all_net_bytes", "all_held_bytes", "held_bytes"].map(|name| row[name].clone());
            assert_eq!((columns, row["section"].as_str()), (expected, *path));
            assert_eq!((row["mode"].as_str(), row["step_numbers"].as_str()), ("train", "2"));
        }
    }
    assert!(rows.next().is_none());
}

#[test]
fn every_finding_has_its_row_and_its_evidence() {
    let report = report_of(&full());
    let (json, tables) = (json_of(&report), tables(&report));
    let gain = ["of", "method", "saved_ns_per_step", "step_time_ns", "share", "direct_share", "because"];
    let mut map: BTreeMap<String, String> =
        gain.map(|name| (format!("predicted_gain/{name}"), format!("gain_{name}"))).into();
    map.insert("predicted_gain".into(), "gain_share".into());
    let evidence: BTreeMap<(&str, &str), &str> = tables["evidence.csv"]
        .iter()
        .map(|row| ((row["finding"].as_str(), row["key"].as_str()), row["value"].as_str()))
        .collect();
    let mut figures = 0;
    for (finding, row) in json["findings"].as_array().unwrap().iter().zip(&tables["findings.csv"]) {
        let mut plain = finding.clone();
        plain.as_object_mut().unwrap().remove("evidence");
        compare("findings", &plain, row, &map);
        for (key, value) in finding["evidence"].as_object().unwrap() {
            let place = (finding["id"].as_str().unwrap(), key.as_str());
            assert_eq!(evidence.get(&place), Some(&cell(value).as_str()), "{place:?}");
            figures += 1;
        }
    }
    assert_eq!((figures, tables["evidence.csv"].len()), (evidence.len(), evidence.len()));
}

#[test]
fn every_figure_of_a_process_is_in_its_row() {
    let mut report = report_of(&full());
    report.ranks[0].communication_per_step_ns = Some(1_234);
    report.ranks[0].usual_gap_ns = Some(5_678);
    let tables = tables(&report);
    let row = &tables["ranks.csv"][0];
    let figures =
        ["communication_per_step_ns", "usual_gap_ns", "steps_overlap"].map(|name| row[name].as_str());
    assert_eq!(figures, ["1234", "5678", "false"]);
}

#[test]
fn no_number_of_the_report_is_in_no_table() {
    let report = report_of(&full());
    let cells: std::collections::BTreeSet<String> =
        tables(&report).into_values().flatten().flat_map(Row::into_values).collect();
    // The width of a point is written as a number of steps, not as its logarithm.
    all_numbers("", &json_of(&report), &mut |path, number| {
        let known = path.ends_with("/shift") || path.contains("/evidence/");
        assert!(known || cells.contains(number), "{path}: {number}");
    });
}

fn all_numbers(path: &str, value: &Value, visit: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| all_numbers(&format!("{path}/{name}"), value, visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| all_numbers(&format!("{path}/{n}"), item, visit));
        }
        Value::Number(_) => visit(path, &cell(value)),
        _ => {}
    }
}

#[test]
fn columns_say_their_units() {
    for file in files_in("csv", &report_of(&full())) {
        let header = file.text.lines().next().unwrap();
        for name in ["mean", "p50", "p99", "total", "mad", "duration", "cv", "utilisation"] {
            let bare = header.split(',').any(|column| column == name);
            // Waits and values have their units in their rows.
            assert!(!bare || ["waits.csv", "values.csv"].contains(&file.name), "{}: {name}", file.name);
        }
        assert!(file.text.is_ascii() || file.name != "sections.csv");
    }
}

#[test]
fn names_run_nothing_and_come_back() {
    for name in HOSTILE {
        let report = report_of(&hostile(name));
        let tables = tables(&report);
        let back = &tables["summary.csv"][0]["run_id"];
        assert_eq!(back.strip_prefix('\'').unwrap_or(back), name);
        for (table, rows) in &tables {
            for (column, cell) in rows.iter().flatten() {
                let is_number = cell.parse::<f64>().is_ok();
                assert!(is_number || !cell.starts_with(['=', '+', '-', '@']), "{table} {column}: {cell}");
            }
        }
    }
}

#[test]
fn every_report_has_every_table() {
    let names = |report: &Report| files_in("csv", report).iter().map(|file| file.name).collect::<Vec<_>>();
    let empty = report_of(&nothing());
    assert_eq!(names(&empty), names(&report_of(&full())));
    assert_eq!(tables(&empty)["sections.csv"].len(), 0);
    assert_eq!(tables(&empty)["summary.csv"][0]["run_id"], "");
}
