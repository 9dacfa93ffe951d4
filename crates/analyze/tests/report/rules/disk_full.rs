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
    // Half of the way from 80 % to 100 %: half of the way from 5 to 30.
    assert_eq!(finding.severity, 18.0);
    assert!(
        finding.recommendation.ends_with("It filled by 9.0 % during the run."),
        "{}",
        finding.recommendation
    );
}

#[test]
fn fine_names_the_fullest_and_nothing_measured_is_unknown() {
    assert_eq!(
        fine(RULE, &healthy().build()),
        "the fullest file system, `/data`, was at 50 % (limit 80 %); measured in 500 of 500 steps"
    );
    assert!(unknown(RULE, &Run::of(100, MS).build()).starts_with("needs metrics"));
}
