//! Fixtures of `disk_full`.

use stepscope_analyze::summary::FigureRow;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};
use crate::measured::{figure, set};

const RULE: &str = "disk_full";

#[test]
fn a_file_system_that_fills_is_found() {
    let mut summary = healthy().build();
    let row = figure("filesystem_used_share", |at| 0.81 + at as f64 / 100.0);
    set(&mut summary, FigureRow { about: Some("/scratch".into()), ..row });
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "The file system `/scratch` was full to 90 %.");
    // As much again takes nine tenths of what is left: so far from 5 to 30.
    assert_eq!(finding.severity, 28.0);
    assert!(
        finding.recommendation.ends_with("It filled by 9.0 % during the run."),
        "{}",
        finding.recommendation
    );
}

#[test]
fn a_full_one_that_does_not_fill_stands_below_what_takes_time() {
    let mut summary = healthy().build();
    let full = |at: &str, share: fn(u64) -> f64| FigureRow {
        about: Some(at.into()),
        ..figure("filesystem_used_share", share)
    };
    // Files that are removed meanwhile are no growth.
    set(&mut summary, full("/", |at| 0.99 - at as f64 / 1000.0));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.severity == 9.0 && finding.evidence.get("grown_share").is_none(), "{finding:?}");
    // One that fills is named before it: as much again takes 3.6 of the 15.4 % that are left.
    summary.metrics.hosts[0].figures.push(full("/scratch", |at| 0.81 + at as f64 / 250.0));
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "The file system `/scratch` was full to 85 %.");
    assert_eq!(finding.severity, 11.0);
}

#[test]
fn fine_names_the_fullest_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "the fullest file system, `/data`, was at 50 % (limit 80 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
}
