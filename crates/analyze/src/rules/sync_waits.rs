//! Rule `sync_waits`: the training thread waits for threads, locks, or a device.

use stepscope_core::Phase;

use super::common::waits::Wait;
use super::{Config, Doc, Rule};
use crate::report::units::duration;
use crate::report::{BottleneckType, Verdict};
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    id: "sync_waits",
    since: "0.1.0",
    name: "Synchronization waits",
    kind: BottleneckType::Synchronization,
    may_hold_up_ranks: false,
    doc: Doc {
        finds: "Waits of the training thread for a device, a lock, a barrier or another thread: its time in phase \
                `synchronization`, inside steps and between them.",
        why: "A program that hands work to a device and then waits for it can prepare nothing meanwhile; every result \
              that is read (a loss that is printed, a metric) is such a wait. Locks and barriers cost as long as the \
              slowest of their threads.",
        how: "The exposed time of the phase (the training thread is inside it, and neither a copy nor communication \
              goes on; while a section of another thread is known to be what it waits for inside it, the time is that \
              section's), divided by the time of the steps plus that of input and synchronisation between them, \
              warm-up excluded. Where too few steps were read with their sections, their sums tell it, on whatever \
              thread, and the finding says so. The gain takes all of it away: what a device computes during the wait \
              has to be waited for once, so that the true gain may be less. Where the longest of its calls, in steps or between them, \
              is more than a quarter of it above the usual one, which may be chance, the severity is that of the rest, or 9.",
        advice: "Read results only where they are needed: the loss every fifty steps instead of every one, metrics kept \
                 on the device and read at the end of the epoch. Hold locks for shorter, share less between threads.",
        example: "22 % of the step time goes into waiting for threads, locks or devices.\n\
                  \x20   step/read_loss: 2.1 ms a step, 1 call a step\n\
                  Read every 50 steps, the step took 7.6 ms instead of 9.7 ms.",
    },
    check,
};

thresholds! {
    /// Share of the step time from which waiting is a finding.
    min_share: f64 = 0.10;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

const WHAT: &str = "waiting for threads, locks or devices";

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.sync_waits;
    let wait =
        match Wait::of(summary, Phase::Synchronization, WHAT, thresholds.min_share, thresholds.min_steps) {
            Ok(wait) => wait,
            Err(verdict) => return verdict,
        };
    wait.finding(WHAT, &advice(&wait), None, |evidence| evidence)
}

fn advice(wait: &Wait<'_>) -> String {
    let each = duration(wait.per_step_ns());
    match wait.often() {
        Some(often) => format!("{often}, {each} in all: wait once a step at most, or every so many steps."),
        None => format!(
            "Synchronise only where a result is really read, and read it less often: {each} a step is waited for."
        ),
    }
}
