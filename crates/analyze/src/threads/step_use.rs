//! What the thread of a step used, as its root says it, and the sums of that over steps.

use serde::{Deserialize, Serialize};
use stepscope_model::{Figure, Span};

use crate::accumulate::accumulate;
use crate::accumulate::saturate::saturate;
use crate::sections::Sum;
use crate::threads::section::Time;
use crate::threads::summary::{StepUseRow, ThreadShares};

/// What the thread of one step used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct StepUse {
    pub(crate) cpu_ns: Option<u64>,
    /// Time for which it could have run and had no processor.
    pub(crate) run_queue_ns: Option<u64>,
    pub(crate) alloc_count: Option<u64>,
    pub(crate) minor_faults: Option<u64>,
}

impl StepUse {
    /// Of a step that took so long: clocks differ a little, and no step is on a CPU for longer than it takes.
    pub(crate) fn of(root: &Span, duration_ns: u64) -> Self {
        let cpu_ns = root.amount(Figure::CpuNs).map(|ns| ns.min(duration_ns));
        let rest_ns = duration_ns.saturating_sub(cpu_ns.unwrap_or(0));
        Self {
            cpu_ns,
            run_queue_ns: root.amount(Figure::RunQueueNs).map(|ns| ns.min(rest_ns)),
            alloc_count: root.amount(Figure::AllocCount),
            minor_faults: root.amount(Figure::MinorFaults),
        }
    }
}

/// Sums over steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct UseSums {
    /// Of steps that say both how long they were on a CPU and how long they waited for one.
    both: Time,
    /// Of those that say only the former.
    cpu_only: Time,
    allocs: Sum,
    minor_faults: Sum,
}

accumulate!(UseSums { merge: both, cpu_only, allocs, minor_faults; });

impl UseSums {
    /// Adds one step.
    pub(crate) fn add(&mut self, used: &StepUse, duration_ns: u64) {
        let time = match used.run_queue_ns {
            Some(_) => &mut self.both,
            None => &mut self.cpu_only,
        };
        if let Some(cpu_ns) = used.cpu_ns {
            time.calls = time.calls.saturating_add(1);
            time.duration_ns = time.duration_ns.saturating_add(duration_ns.into());
            time.cpu_ns = time.cpu_ns.saturating_add(cpu_ns.into());
            time.run_queue_ns = time.run_queue_ns.saturating_add(used.run_queue_ns.unwrap_or(0).into());
        }
        self.allocs.add(used.alloc_count);
        self.minor_faults.add(used.minor_faults);
    }

    /// What threads did, of the steps that say most of it; absent where none says anything.
    pub(crate) fn shares(&self) -> Option<ThreadShares> {
        let has_both = self.both.calls > 0;
        let time = if has_both { &self.both } else { &self.cpu_only };
        (time.calls > 0).then(|| ThreadShares {
            steps: time.calls,
            duration_ns: saturate(time.duration_ns),
            cpu_ns: saturate(time.cpu_ns),
            run_queue_ns: has_both.then(|| saturate(time.run_queue_ns)),
            blocked_ns: has_both.then(|| saturate(time.blocked_ns())),
        })
    }

    /// The mean of a step of those that say it.
    pub(crate) fn per_step(&self) -> StepUseRow {
        let mean = |sum: &Sum| (sum.spans > 0).then(|| sum.sum as f64 / sum.spans as f64);
        StepUseRow { alloc_count: mean(&self.allocs), minor_faults: mean(&self.minor_faults) }
    }
}
