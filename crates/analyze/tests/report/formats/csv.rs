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

#[test]
fn rows_of_what_lists_partition_are_there_and_absent_is_not_zero() {
    let report = report_of(&full());
    let (json, tables) = (json_of(&report), tables(&report));
    let column = |table: &str, name: &str| -> Vec<String> {
        tables[table].iter().map(|row| row[name].clone()).collect()
    };
    let steps = &tables["steps.csv"];
    assert_eq!(
        (steps.len(), steps[0]["mode"].as_str(), steps[0]["step_numbers"].as_str()),
        (200, "train", "2")
    );
    assert_eq!((steps[7]["live_mean_bytes"].as_str(), steps[7]["rss_count"].as_str()), ("", ""));
    assert_eq!(column("values.csv", "step"), ["0", ""]);
    assert_eq!(
        (column("values.csv", "last"), column("values.csv", "count")[1].as_str()),
        (vec!["".into(), "2".to_owned()], "2")
    );
    assert_eq!(column("memory_sections.csv", "what"), ["section", "section", "other", "total"]);
    let of_points = column("memory_over_steps.csv", "section");
    assert_eq!(of_points[..3], ["step/history", "step/forward", ""]);
    let held = &json["memory"]["by_section"]["points"][0];
    let bytes = [&held["sections"][0], &held["sections"][1], &held["other_bytes"]].map(cell);
    assert_eq!(column("memory_over_steps.csv", "retained_bytes")[..3], bytes);
    let evidence: usize = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["evidence"].as_object().unwrap().len())
        .sum();
    assert!(evidence > 0 && tables["evidence.csv"].len() == evidence);
    assert_eq!(column("phases_over_steps.csv", "phase").last().map(String::as_str), Some(""));
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
