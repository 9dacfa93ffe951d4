//! Kineto's steps: slices `ProfilerStep#N` of a process, into which everything falls that begins within them.

use std::collections::HashMap;

use stepscope_core::identity::{TraceId, hash_parts, mix};

use super::event::Event;
use super::names::PROFILER_STEP;

/// Steps of one file that are told apart.
const MAX_STEPS: usize = 1 << 20;

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    pub(super) number: i64,
    /// The thread that went through it.
    pub(super) lane: u64,
    pub(super) span: u64,
    pub(super) trace: TraceId,
}

/// All of a file's, by process.
#[derive(Debug, Default)]
pub(super) struct Steps {
    by_process: HashMap<String, Vec<Step>>,
    count: usize,
    /// The step's own span, by trace.
    roots: HashMap<TraceId, u64>,
}

/// Sixteen bytes of a hash; never all zeros.
pub(super) fn trace_id(hash: u64) -> TraceId {
    (u128::from(hash) << 64 | u128::from(mix(hash) | 1)).to_be_bytes()
}

/// The id of a slice: the same whenever the file is read.
pub(super) fn span_id(seed: u64, lane: u64, at_ns: i128, name: &str, repeated: u64) -> u64 {
    let (at, repeated) = (at_ns.to_le_bytes(), repeated.to_le_bytes());
    hash_parts(&[&seed.to_le_bytes(), &lane.to_le_bytes(), &at, name.as_bytes(), &repeated]).max(1)
}

/// The number of a step, by the name of its slice.
pub(super) fn number(name: &str) -> Option<i64> {
    name.strip_prefix(PROFILER_STEP)?.strip_prefix('#')?.trim().parse().ok()
}

/// Whether a name says that its slice is a step, with a number beyond 64 bits.
pub(super) fn is_beyond(name: &str) -> bool {
    let digits =
        name.strip_prefix(PROFILER_STEP).and_then(|rest| rest.strip_prefix('#')).unwrap_or("").trim();
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) && number(name).is_none()
}

impl Steps {
    /// Takes a slice if it is a step. What runs on a device for it has the same name, and is none.
    pub(super) fn note(&mut self, event: &Event<'_>, lane: u64, start_ns: i128, end_ns: i128) {
        if self.count >= MAX_STEPS || event.category.starts_with("gpu") || event.owner.is_some() {
            return;
        }
        if let Some(number) = number(&event.name) {
            self.count += 1;
            let step = Step { start_ns, end_ns, number, lane, span: 0, trace: [0; 16] };
            self.by_process.entry(event.pid.to_string()).or_default().push(step);
        }
    }

    /// Sorts them and gives them their ids.
    pub(super) fn finish(&mut self, seed: u64) {
        for (process, steps) in &mut self.by_process {
            for step in steps.iter_mut() {
                let name = format!("{PROFILER_STEP}#{}", step.number);
                step.span = span_id(seed, step.lane, step.start_ns, &name, 0);
                step.trace = trace_id(hash_parts(&[&step.span.to_le_bytes(), process.as_bytes()]));
            }
            steps.sort_unstable();
            steps.dedup();
            self.roots.extend(steps.iter().map(|step| (step.trace, step.span)));
        }
    }

    /// The only process that has steps.
    pub(super) fn process(&self) -> Option<&str> {
        let mut processes = self.by_process.keys();
        processes.next().map(String::as_str).filter(|_| processes.next().is_none())
    }

    /// The span that is the step of a trace.
    pub(super) fn root(&self, trace: &TraceId) -> Option<u64> {
        self.roots.get(trace).copied()
    }

    /// The step in which something of a process begins; devices are processes of their own here, which have the
    /// steps of the only process that has some.
    pub(super) fn at(&self, process: &str, at_ns: i128) -> Option<&Step> {
        let only = || self.by_process.get(self.process()?);
        let steps = self.by_process.get(process).or_else(only)?;
        let after = steps.partition_point(|step| step.start_ns <= at_ns);
        steps.get(after.checked_sub(1)?).filter(|step| at_ns < step.end_ns)
    }
}
