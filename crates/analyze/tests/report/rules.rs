//! Every rule: found, fine, unknown.

mod between_steps;
mod checkpoint_stalls;
mod communication_waits;
mod cpu_contention;
mod cpu_saturated;
mod deep_prefetch;
mod disk_full;
mod evaluation_stalls;
mod gpu_memory;
mod gpu_underutilised;
mod host_bound;
mod host_memory;
mod input_bound;
mod io_stalls;
mod iowait;
mod loader_bound;
mod lock_contention;
mod long_warmup;
mod low_parallelism;
mod memory_churn;
mod memory_growth;
mod off_cpu;
mod periodic_steps;
mod slow_calls;
mod slow_preprocessing;
mod slow_rank;
mod slow_section;
mod slower_since;
mod spans_lost;
mod step_jitter;
mod swap;
mod sync_waits;
mod throttling;
mod tiny_sections;

use stepscope_analyze::Summary;
use stepscope_analyze::report::{Finding, Note, Verdict};
use stepscope_analyze::rules::{self, Config, RULES};

use crate::fixture::{Run, healthy, nothing};

fn check(rule: &str, summary: &Summary) -> Verdict {
    (rules::find(rule).unwrap().check)(summary, &Config::default())
}

/// The findings of a rule that must find something.
fn found(rule: &str, summary: &Summary) -> Vec<Finding> {
    match check(rule, summary) {
        Verdict::Found(findings) => findings,
        other => panic!("{rule}: {other:?}"),
    }
}

/// Why a rule that must be fine is fine.
fn fine(rule: &str, summary: &Summary) -> String {
    match check(rule, summary) {
        Verdict::Fine { because } => because,
        other => panic!("{rule}: {other:?}"),
    }
}

/// What a rule that cannot know is missing.
fn unknown(rule: &str, summary: &Summary) -> String {
    match check(rule, summary) {
        Verdict::Unknown { because } => because,
        other => panic!("{rule}: {other:?}"),
    }
}

/// The notes of a rule, whatever it finds.
fn notes(rule: &str, summary: &Summary, config: &Config) -> Vec<Note> {
    let rule = rules::find(rule).unwrap();
    let found = match (rule.check)(summary, config) {
        Verdict::Found(findings) => findings,
        _ => Vec::new(),
    };
    (rule.notes)(summary, config, &found)
}

#[test]
fn a_healthy_run_is_fine_by_every_rule() {
    let summary = healthy().build();
    for rule in RULES {
        let because = fine(rule.id, &summary);
        assert!(because.contains(|letter: char| letter.is_ascii_digit()), "{}: {because}", rule.id);
        assert!(because.split_whitespace().count() <= 30, "{}: {because}", rule.id);
    }
}

#[test]
fn nothing_is_known_about_nothing() {
    for rule in RULES {
        assert!(!unknown(rule.id, &nothing()).is_empty(), "{}", rule.id);
    }
}

#[test]
fn steps_without_duration_divide_nothing_by_zero() {
    let summary = Run::of(200, 0).build();
    for rule in RULES {
        if let Verdict::Found(findings) = check(rule.id, &summary) {
            panic!("{}: {findings:?}", rule.id);
        }
    }
}
