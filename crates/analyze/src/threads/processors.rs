//! Who used the processors between the deep steps of a process, and what allocations and page faults cost it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::SectionKind;
use stepscope_core::identity::mix;
use stepscope_model::{Figure, Trace};

use crate::accumulate::gauge::GaugeAcc;
use crate::accumulate::{Merge, accumulate, keep_smallest};
use crate::step_view::group::Group;
use crate::threads::summary::Clock;

/// Steps of which it is kept in between.
const COURSE: usize = 128;

/// At the end of a step with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct AtStep(pub(crate) u64, pub(crate) Clock);

impl Merge for AtStep {
    fn absorb(&mut self, other: &Self) {
        *self = (*self).max(*other);
    }
}

/// The first and the last that a process says, and some in between, by a hash of the step's number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Processors {
    pub(crate) first: Option<Clock>,
    pub(crate) last: Option<Clock>,
    pub(crate) course: BTreeMap<u64, AtStep>,
}

accumulate!(Processors { least: first; max: last; merge: course; });

impl Processors {
    /// What the root of a step says.
    pub(crate) fn of(group: &Group<'_>) -> Self {
        let (host, process) = (group.root.amount(Figure::HostCpuNs), group.root.amount(Figure::ProcessCpuNs));
        let clock = host.zip(process).map(|(host_ns, process_ns)| Clock {
            time_ns: group.window.end_ns,
            host_ns,
            process_ns,
        });
        let step = group.root.amount(Figure::Step);
        let course = step.zip(clock).map(|(step, clock)| (mix(step), AtStep(step, clock)));
        Self { first: clock, last: clock, course: course.into_iter().collect() }
    }

    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.absorb(other);
        keep_smallest(&mut self.course, COURSE);
    }

    /// Time between both, and CPU time of all processes and of this one in it; absent where there is none.
    pub(crate) fn between(&self) -> Option<(u64, u64, u64)> {
        self.last?.since(self.first?)
    }
}

/// What is done often, each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Costs {
    pub(crate) alloc_ns: GaugeAcc,
    pub(crate) fault_ns: GaugeAcc,
}

accumulate!(Costs { merge: alloc_ns, fault_ns; });

impl Costs {
    /// What the spans of a run say.
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        let run = trace.spans.first().filter(|span| span.kind == SectionKind::Run)?;
        let (alloc, fault) = (run.amount(Figure::AllocCostNs), run.amount(Figure::FaultCostNs));
        (alloc.is_some() || fault.is_some())
            .then(|| Self { alloc_ns: GaugeAcc::of(alloc), fault_ns: GaugeAcc::of(fault) })
    }
}
