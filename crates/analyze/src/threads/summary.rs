//! What threads did: the figures of a run.

use serde::{Deserialize, Serialize};
use stepscope_core::{Mode, ThreadState};

use crate::phases::summary::PhaseName;
use crate::threads::Round;

/// CPU time counted since the machine and the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Clock {
    pub(crate) time_ns: u64,
    pub(crate) host_ns: u64,
    pub(crate) process_ns: u64,
}

impl Clock {
    /// Time since `first`, and CPU time of all processes and of this one in it; absent where there is none.
    pub(crate) fn since(self, first: Self) -> Option<(u64, u64, u64)> {
        let elapsed_ns = self.time_ns.checked_sub(first.time_ns).filter(|&ns| ns > 0)?;
        let process_ns = self.process_ns.checked_sub(first.process_ns)?;
        // The host's count is coarser than the process' own.
        let host_ns = self.host_ns.checked_sub(first.host_ns)?.max(process_ns);
        Some((elapsed_ns, host_ns, process_ns))
    }
}

/// What the own threads of steps did. The parts add up to the duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadShares {
    /// Steps that say it.
    pub steps: u64,
    /// Their durations.
    pub duration_ns: u64,
    /// On a CPU.
    pub cpu_ns: u64,
    /// Runnable without one; absent where systems do not say it.
    pub run_queue_ns: Option<u64>,
    /// Blocked; absent as `run_queue_ns` is.
    pub blocked_ns: Option<u64>,
}

impl ThreadShares {
    /// A part of the duration as a share.
    #[must_use]
    pub fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.duration_ns.max(1) as f64
    }
}

/// What costs time where it is often done, of a step on average.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepUseRow {
    /// Allocations of its thread; absent where no step says it.
    pub alloc_count: Option<f64>,
    /// Page faults of its thread that needed no storage; absent where no step says it.
    pub minor_faults: Option<f64>,
}

/// What threads did while steps ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threads {
    /// Who used the processors.
    pub processors: Processors,
    /// What deep steps tell, by mode; modes of which none tells anything are left out.
    pub modes: Vec<ModeThreads>,
}

impl Threads {
    /// What deep steps of a mode tell.
    #[must_use]
    pub fn of(&self, mode: Mode) -> Option<&ModeThreads> {
        self.modes.iter().find(|row| row.mode == mode)
    }
}

/// Who used the processors from the first deep step of a process to its last one, as a number of processors; and what is
/// done often costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Processors {
    /// Processors that a process may use.
    pub cpus: Option<u64>,
    /// Used by the process.
    pub own: Option<f64>,
    /// Used by other processes of the run on the same host.
    pub other_ranks: Option<f64>,
    /// Used by other programs.
    pub others: Option<f64>,
    /// Time of a small allocation and its release, as measured in the process.
    pub alloc_cost_ns: Option<u64>,
    /// Time of a page fault that needs no storage, as measured in the process.
    pub fault_cost_ns: Option<u64>,
    /// What others had used by the end of a step, by its number: of the process that knows it for most steps.
    #[serde(skip)]
    pub(crate) course: Vec<(u64, Clock)>,
}

impl Processors {
    /// Used by other programs from one step to another, as far as it is known.
    pub(crate) fn others_between(&self, from: u64, to: u64) -> Option<f64> {
        let inside = || self.course.iter().filter(|(step, _)| (from..=to).contains(step));
        let (first, last) = (inside().next()?.1, inside().next_back()?.1);
        let (elapsed_ns, host_ns, own_ns) = last.since(first)?;
        let ranks = self.other_ranks.unwrap_or(0.0);
        Some((host_ns.saturating_sub(own_ns) as f64 / elapsed_ns as f64 - ranks).max(0.0))
    }
}

/// Looks at threads in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateLooks {
    /// The state.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<ThreadState>"))]
    pub state: ThreadState,
    /// How many.
    pub looks: u64,
}

/// What deep steps of one mode tell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeThreads {
    /// The mode.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// Deep steps with looks at their threads.
    pub steps: u64,
    /// Their durations.
    pub duration_ns: u64,
    /// Looks at threads.
    pub looks: u64,
    /// Looks that were due and are not there.
    pub dropped: u64,
    /// Looks at the steps' own threads, by state; those in none are left out.
    pub own_looks: Vec<StateLooks>,
    /// How many threads of the process ran in no section, a round of looks, on average.
    pub running_elsewhere: f64,
    /// The same of those in sections outside of all steps.
    #[serde(skip)]
    pub(crate) running_beside: f64,
    /// How often a round of looks was like that.
    #[serde(skip)]
    pub(crate) rounds: Vec<(Round, u64)>,
    /// The last of the deep steps, thread by thread.
    pub timeline: Option<ThreadTimeline>,
    /// Sections in deep steps, longest blocked on the steps' own threads first, then by path.
    pub sections: Vec<SectionThreads>,
}

/// What threads did in a section in deep steps, nested sections on their thread left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SectionThreads {
    /// Its path.
    pub path: String,
    /// Its phase.
    pub phase: Option<PhaseName>,
    /// Calls that say what their threads did.
    pub calls: u64,
    /// Their time.
    pub duration_ns: u64,
    /// Of it, on a CPU.
    pub cpu_ns: u64,
    /// Runnable without one.
    pub run_queue_ns: u64,
    /// Blocked.
    pub blocked_ns: u64,
    /// Page faults that needed no storage.
    pub minor_faults: u64,
    /// Time of these calls on the steps' own threads.
    pub own_duration_ns: u64,
    /// Of it, on a CPU.
    pub own_cpu_ns: u64,
    /// Of it, blocked.
    pub own_blocked_ns: u64,
    /// Looks at threads in it, by state.
    pub looks: Vec<StateLooks>,
    /// The same of the steps' own threads.
    pub own_looks: Vec<StateLooks>,
    /// Of `own_looks` those in a futex while other threads ran in sections of the step.
    pub awaiting: u64,
    /// Looks at other threads that ran in it while the step's own thread waited for them.
    pub awaited: u64,
    /// Looks at threads in a futex while another thread ran in it.
    pub contended: u64,
    /// Steps with such looks.
    pub contended_steps: u64,
    /// Those of them in which threads took turns, one at a time.
    pub turns_steps: u64,
    /// The most threads that took turns in one step.
    pub turns_threads: u64,
    /// CPU time of calls in these steps, and the time for which any of them was open.
    #[serde(skip)]
    pub(crate) turns_ns: (u64, u64),
}

impl SectionThreads {
    /// Processors that its calls used while any of them was open, in steps in which threads took turns; absent without these.
    pub(crate) fn turns_cpus(&self) -> Option<f64> {
        let (cpu_ns, open_ns) = self.turns_ns;
        (open_ns > 0).then(|| cpu_ns as f64 / open_ns as f64)
    }

    /// Looks at threads other than the steps' own in a futex.
    pub(crate) fn others_in_futex(&self) -> u64 {
        let of = |looks: &[StateLooks]| {
            looks.iter().find(|of| of.state == ThreadState::Futex).map_or(0, |of| of.looks)
        };
        of(&self.looks).saturating_sub(of(&self.own_looks))
    }

    /// Looks at the steps' own threads in one state.
    pub(crate) fn own(&self, state: ThreadState) -> u64 {
        self.own_looks.iter().filter(|row| row.state == state).map(|row| row.looks).sum()
    }

    /// Looks at the steps' own threads while they were blocked.
    pub(crate) fn own_blocked(&self) -> u64 {
        let blocked = self.own_looks.iter().filter(|row| row.state != ThreadState::Running);
        blocked.map(|row| row.looks).sum()
    }
}

/// One deep step, thread by thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadTimeline {
    /// Its number.
    pub step: Option<u64>,
    /// Its duration.
    pub duration_ns: u64,
    /// Sections directly in it, on its own thread.
    pub sections: Vec<TimedSection>,
    /// Its threads, its own first.
    pub threads: Vec<ThreadLine>,
}

/// A section of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimedSection {
    /// Its name.
    pub name: String,
    /// Its start after that of the step.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
}

/// What a thread was seen doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadLine {
    /// The operating system's id of it.
    pub thread_id: i64,
    /// Its name.
    pub thread_name: Option<String>,
    /// In the order of time; from one look to the next.
    pub states: Vec<TimedState>,
}

/// A state of a thread for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimedState {
    /// The state.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<ThreadState>"))]
    pub state: ThreadState,
    /// Its start after that of the step.
    pub offset_ns: u64,
    /// Its length.
    pub duration_ns: u64,
}
