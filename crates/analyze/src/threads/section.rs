//! What threads did in the calls of one section in deep steps, nested sections on their thread left out.

use serde::{Deserialize, Serialize};
use stepscope_core::ThreadState;

use crate::accumulate::{Merge, accumulate};

/// Looks at threads by their state.
pub(crate) type Looks = [u64; ThreadState::ALL.len()];

/// Time of threads in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) calls: u64,
    pub(crate) duration_ns: u128,
    pub(crate) cpu_ns: u128,
    pub(crate) run_queue_ns: u128,
}

accumulate!(Time { sum: calls, duration_ns, cpu_ns, run_queue_ns; });

impl Time {
    pub(crate) fn blocked_ns(&self) -> u128 {
        self.duration_ns.saturating_sub(self.cpu_ns).saturating_sub(self.run_queue_ns)
    }
}

/// Of the steps of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct InMode {
    /// On whatever thread.
    pub(crate) time: Time,
    /// On the step's own.
    pub(crate) own_time: Time,
    pub(crate) minor_faults: u64,
    pub(crate) looks: Looks,
    pub(crate) own_looks: Looks,
    /// Looks at the step's own thread in a futex while others ran in sections of the step.
    pub(crate) awaiting: u64,
    /// Looks at other threads that ran in it while the step's own waited for them.
    pub(crate) awaited: u64,
    /// Looks at threads in a futex while another thread ran in it.
    pub(crate) contended: u64,
    /// Steps with such looks.
    pub(crate) contended_steps: u64,
    /// Those of them in which threads took turns, one at a time.
    pub(crate) turns_steps: u64,
    /// The most threads that took turns in one step.
    pub(crate) turns_threads: u64,
    /// CPU time of calls in these steps, and the time for which any of them was open.
    pub(crate) turns_cpu_ns: u128,
    pub(crate) turns_open_ns: u128,
}

accumulate!(InMode {
    merge: time, own_time;
    sum: minor_faults, looks, own_looks, awaiting, awaited, contended, contended_steps, turns_steps,
        turns_cpu_ns, turns_open_ns;
    max: turns_threads;
});

/// By mode. Most runs have sections that no deep step saw: it is on the heap.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SectionThreads(pub(crate) Box<[InMode; 3]>);

impl Merge for SectionThreads {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

impl SectionThreads {
    /// Of one mode.
    pub(crate) fn of(&mut self, mode: usize) -> Option<&mut InMode> {
        self.0.get_mut(mode)
    }
}
