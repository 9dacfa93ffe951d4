//! Fixtures of `io_stalls`.

use stepscope_analyze::summary::FigureSum;
use stepscope_core::Phase;

use super::{fine, found, unknown};
use crate::fixture::{MS, Run, healthy};

const RULE: &str = "io_stalls";

fn writing() -> Run {
    Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).phase(Phase::Io, "write", MS)
}

#[test]
fn writing_on_the_training_thread_is_found() {
    let [finding] = found(RULE, &writing().build()).try_into().unwrap();
    assert_eq!(finding.title, "10 % of the step time goes into reading and writing.");
    assert_eq!((finding.severity, finding.section.as_deref()), (10.0, Some("step/write")));
    assert_eq!(finding.evidence.get("bytes_per_s"), None, "nobody said how much");
}

#[test]
fn sections_that_count_bytes_say_how_fast_they_are() {
    let with_bytes = |sum: u64| {
        let mut summary = writing().build();
        // Half of the calls say it.
        summary.sections.iter_mut().filter(|row| row.name == "write").for_each(|row| {
            row.bytes = Some(FigureSum { spans: 50, sum });
        });
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding
    };
    let slow = with_bytes(50_000);
    assert_eq!(slow.evidence.get("bytes_per_s"), Some(&1_000_000.0.into()));
    assert!(slow.recommendation.contains("which is slow"), "{}", slow.recommendation);
    let fast = with_bytes(50_000_000);
    assert!(fast.recommendation.ends_with("a second: move less."), "{}", fast.recommendation);
}

#[test]
fn a_run_without_is_fine_where_the_rest_has_a_phase() {
    let because = "0 % of 2.00 s of steps goes into reading and writing, 99 % has a phase; limit 5.0 %";
    assert_eq!(fine(RULE, &healthy().build()), because);
    let half = Run::of(100, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).build();
    let because =
        "0 % of 1.00 s of steps goes into reading and writing, and 50 % has no phase: give sections theirs";
    assert_eq!(unknown(RULE, &half), because);
}
