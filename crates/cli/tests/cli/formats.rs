//! Formats of reports: one file or standard output, or a folder of tables.

use crate::program::{folder, json, output, recording, run, write};

#[test]
fn markdown_goes_where_it_is_sent() {
    let folder = folder("format-md");
    write(&folder, "run.otlp", &recording("run-1", 1));
    let text = output(folder.path(), &["analyze", "run.otlp", "--format", "md"]);
    assert!(text.starts_with("## ") && text.contains("\n### Sections\n"), "{text}");
    assert_eq!(
        output(folder.path(), &["analyze", "run.otlp", "--format", "markdown", "--output", "a.md"]),
        ""
    );
    assert_eq!(std::fs::read_to_string(folder.join("a.md")).expect("it was written"), text);
}

#[test]
fn tables_go_into_a_folder() {
    let folder = folder("format-csv");
    write(&folder, "run.otlp", &recording("run-1", 1));
    let arguments = ["analyze", "run.otlp", "--format", "csv", "--output", "deep/tables"];
    assert_eq!(output(folder.path(), &arguments), "");
    let read = |name: &str| std::fs::read_to_string(folder.join("deep/tables").join(name)).expect("a table");
    let report = json(folder.path(), &["analyze", "run.otlp"]);
    let sections = report["sections"].as_array().expect("a list").len();
    assert_eq!(read("sections.csv").matches("\r\n").count(), sections + 1);
    // Written again, over the ones of before.
    assert_eq!(output(folder.path(), &arguments), "");
    assert_eq!(read("sections.csv").matches("\r\n").count(), sections + 1);
}

#[test]
fn a_folder_of_tables_needs_a_folder() {
    let folder = folder("format-csv-file");
    write(&folder, "run.otlp", &recording("run-1", 1));
    let ended = run(folder.path(), &["analyze", "run.otlp", "--format", "csv"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (2, ""));
    assert!(ended.stderr.contains("name a folder with --output"), "{}", ended.stderr);
    let ended = run(folder.path(), &["analyze", "run.otlp", "--format", "csv", "--output", "run.otlp"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("run.otlp is a file"), "{}", ended.stderr);
}

#[test]
fn a_page_is_one_file() {
    let folder = folder("format-html");
    write(&folder, "run.otlp", &recording("run-1", 1));
    assert_eq!(output(folder.path(), &["analyze", "run.otlp", "--format", "html", "--output", "a.html"]), "");
    let page = std::fs::read_to_string(folder.join("a.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.contains("run-1") && page.ends_with("</html>\n"));
    assert_eq!(output(folder.path(), &["analyze", "run.otlp", "--format", "html"]), page);
}
