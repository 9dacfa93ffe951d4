//! A run of this process, and the reports that it writes of itself. One test: a process has one run at a time.

use std::time::Duration;

use stepscope_report::{ReportError, WriteReport as _};

fn train(steps: u64) {
    for number in 0..steps {
        let _step = stepscope::step!(number, samples = 4);
        drop(stepscope::section!("forward"));
        drop(stepscope::section!("backward"));
    }
}

#[test]
fn a_program_reports_on_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let start_with = |builder: stepscope::Builder| builder.directory(path("profiles")).install();
    let start = || start_with(stepscope::builder());
    let run = start();
    train(50);
    // While it goes on.
    assert!(run.flush(Duration::from_secs(60)).is_complete());
    stepscope_report::write(run.directory().unwrap(), path("half.json")).unwrap();
    train(50);
    let (directory, handle) = (run.directory().unwrap().to_owned(), run.handle());
    run.write_report(path("report.json")).unwrap();
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(&read(name)).unwrap();
    let (half, whole) = (json("half.json"), json("report.json"));
    let count = |report: &serde_json::Value, path: &str| {
        let rows = report["sections"].as_array().unwrap();
        rows.iter().find(|row| row["path"] == path).map(|row| row["count"].as_u64().unwrap())
    };
    assert_eq!((count(&half, "step/forward"), count(&half, "run")), (Some(50), None));
    // What the handle says at the end is what the report says.
    let figures = handle.figures();
    assert_eq!(whole["sections"].as_array().unwrap().len(), figures.sections().len());
    for section in figures.sections() {
        assert_eq!(count(&whole, &section.path), Some(section.count), "{}", section.path);
    }
    assert_eq!(figures.section("step/forward").map(|section| section.count), Some(100));

    for (name, holds) in
        [("a.html", "</html>"), ("a.HTM", "</html>"), ("a.md", "step/forward"), ("a.txt", "forward")]
    {
        stepscope_report::write(&directory, path(name)).unwrap();
        assert!(read(name).contains(holds), "{name}");
    }

    // What the set-up names, all of it, whatever becomes of the first.
    let named = start_with(stepscope::builder().report(path("named.csv")).report(path("named.md")));
    train(10);
    let refused = named.write_reports().unwrap_err();
    assert!(matches!(&refused, ReportError::Format(file) if *file == path("named.csv")), "{refused}");
    assert!(read("named.md").contains("step/forward"));
    let both = start_with(stepscope::builder().report(path("second.md")));
    train(10);
    both.write_report(path("first.md")).unwrap();
    assert_eq!(read("first.md"), read("second.md"));
    let none = start();
    train(10);
    none.write_reports().unwrap();

    let refused = stepscope_report::write(&directory, path("a.csv")).unwrap_err();
    assert!(matches!(refused, ReportError::Format(_)), "{refused}");
    let refused = stepscope_report::write(&directory, path("none/a.md")).unwrap_err();
    assert!(matches!(refused, ReportError::Write(..)), "{refused}");
    let refused = stepscope_report::write(path("nowhere"), path("a.md")).unwrap_err();
    assert!(matches!(refused, ReportError::Read(_)), "{refused}");
    let off = stepscope::builder().level(stepscope::Level::Off).directory(path("off")).install();
    assert!(matches!(off.write_report(path("off.md")), Err(ReportError::NoFiles)));
    assert!(!path("off.md").exists());
}
