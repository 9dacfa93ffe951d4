//! Rule `io_stalls`: the training thread reads or writes itself, other than batches and checkpoints.

use stepscope_core::Phase;

use super::common::waits::Wait;
use super::{Config, Doc, Rule};
use crate::report::units::{bytes, duration};
use crate::report::{BottleneckType, Verdict, rounded};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    id: "io_stalls",
    since: "0.1.0",
    name: "I/O stalls",
    kind: BottleneckType::Io,
    may_hold_up_ranks: true,
    doc: Doc {
        finds: "Reading and writing on the training thread: its time in phase `io`, inside steps (forward and backward \
                pass included) and between them. \
                Batches are the business of `input_bound`, checkpoints that of `checkpoint_stalls`.",
        why: "A disk or a network answers when it likes; every step waits for it, and some for long.",
        how: "The exposed time of the phase (the training thread is inside it, or has nothing else to do than to wait \
              for it on another thread), divided by the time of the steps plus that of input and I/O between them, \
              warm-up excluded. Where too few steps were read with their sections, their sums tell it, on whatever \
              thread, and the finding says so. Where sections say how many bytes they move (`section!(\"…\", bytes = \
              n)`), the finding says how many a second.",
        advice: "Hand what is to be written to a thread of its own, through a bounded queue; gather small writes to \
                 large ones; write less often. Read ahead, and keep open what is read again.",
        example: "17 % of the step time goes into reading and writing.\n\
                  \x20   step/write_metrics: 1.9 ms a step, 2.1 MB a second\n\
                  Written by a thread of its own, the step took 9.2 ms instead of 11.1 ms.",
    },
    check,
};

thresholds! {
    /// Share of the step time from which I/O is a finding.
    min_share: f64 = 0.05;
    /// Bytes a second below which the section is slow for what it moves: small pieces, or a slow disk.
    slow_bytes_per_s: f64 = 50_000_000.0;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

const WHAT: &str = "reading and writing";

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.io_stalls;
    let wait = match Wait::of(summary, Phase::Io, WHAT, thresholds.min_share, thresholds.min_steps) {
        Ok(wait) => wait,
        Err(verdict) => return verdict,
    };
    let moved = wait.throughput();
    wait.finding(WHAT, &advice(&wait, thresholds), None, |evidence| {
        evidence
            .with_known("bytes", moved.map(|(sum, _)| sum))
            .with_known("bytes_per_s", moved.map(|(_, rate)| rounded(rate, 0)))
    })
}

fn advice(wait: &Wait<'_>, thresholds: &Thresholds) -> String {
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
