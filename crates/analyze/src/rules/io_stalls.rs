//! Rule `io_stalls`: the training thread reads or writes itself, other than batches and checkpoints.

use stepscope_core::Phase;

use super::{Config, Judged, Rule};
use crate::phases::waits::PhaseWait;
use crate::report::finding::{FindingType, rounded};
use crate::report::units::{bytes, duration};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule { may_hold_up_ranks: true, ..Rule::new("I/O stalls", FindingType::Io) };

thresholds! {
    /// Share of the step time from which I/O is a finding.
    min_share: f64 = 0.05;
    /// Bytes a second below which the section is slow for what it moves: small pieces, or a slow disk.
    slow_bytes_per_s: f64 = 50_000_000.0;
}

const WHAT: &str = "reading and writing";

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.io_stalls;
    let wait = PhaseWait::judged(summary, Phase::Io, WHAT, thresholds.min_share)?;
    let moved = wait.throughput();
    wait.finding(WHAT, &advice(&wait, thresholds), None, |evidence| {
        evidence
            .with_known("bytes", moved.map(|(sum, _)| sum))
            .with_known("bytes_per_s", moved.map(|(_, rate)| rounded(rate, 0)))
    })
}

fn advice(wait: &PhaseWait<'_>, thresholds: &Thresholds) -> String {
    let mut advice = format!(
        "Read and write in a thread of its own: the training thread spends {} a step on it.",
        duration(wait.per_step_ns())
    );
    if let Some((_, rate)) = wait.throughput() {
        let why = if rate < thresholds.slow_bytes_per_s {
            ", which is slow: gather small pieces to large ones, or look at the disk"
        } else {
            ": move less"
        };
        advice.push_str(&format!(" It moves {} a second{why}.", bytes(rate as u64)));
    } else if let Some(often) = wait.often() {
        advice.push_str(&format!(" {often}: gather small pieces to large ones."));
    }
    advice
}
