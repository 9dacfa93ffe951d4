//! Loaders and the input that they make: whether the run waits for it ([`InputShare`], its only owner), which loader
//! limits the steps, and what to do about it. Rules read what is judged here; how batches are summed up is `finish`'s.

mod advice;
pub(crate) mod batches;
mod batches_per_step;
pub(crate) mod cpu_contention;
pub(crate) mod finish;
mod judge;
pub(crate) mod observe;
mod queue;
pub(crate) mod summary;
pub(crate) mod under_demand;
mod verdict;
pub(crate) mod worker_lifetimes;

pub(crate) use judge::LoaderJudgement;
pub(crate) use queue::Queue;
pub use verdict::{InputShare, InputVerdict};
pub(crate) use verdict::{goes_into, unjudged};

thresholds! {
    /// Share of the time of steps and the input between them from which a run is moderately input bound, and waiting for
    /// batches a finding.
    moderate_share: f64 = 0.05;
    /// And from which it is input bound.
    high_share: f64 = 0.2;
    /// What a step waits on average from which it is a finding whatever its share.
    long_wait_ns: u64 = 1_000_000_000;
    /// Share of their time from which loader threads count as busy all the time.
    busy_share: f64 = 0.85;
    /// Share of their time for which loader threads that are not busy wait for a place in the queue, from which a deeper
    /// queue is advised before more of them.
    slot_wait_share: f64 = 0.1;
    /// Finished batches in the queue (median) from which loaders are ahead, if the step usually waits all the same.
    ready_batches: u64 = 2;
}

impl Thresholds {
    /// What is wrong with the pair of shares, where it is in the wrong order.
    pub(crate) fn disorder(&self) -> Option<String> {
        (self.moderate_share > self.high_share)
            .then(|| "[rules.input_bound] `moderate_share` is more than `high_share`".into())
    }
}
