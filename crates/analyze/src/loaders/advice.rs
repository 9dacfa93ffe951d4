//! What to do about the loader that limits the steps, in words.

use super::Thresholds;
use super::judge::{LoaderJudgement, MOST};
use crate::report::finding::rounded;
use crate::report::units::{count, duration, percent, things};
use crate::steps::judged::TOLD;

/// What loaders compute at most and need no processor for, as a part of one.
const A_PROCESSOR: u64 = 20;

impl LoaderJudgement<'_> {
    /// What to do about it; of several loaders, which one it is about.
    pub(crate) fn advice(&self, thresholds: &Thresholds) -> String {
        let waits = |who: &str, share: f64| {
            let share = percent(share);
            format!("{who} for {share} of the time it takes to make batches: more workers would not help.")
        };
        let first = self.taken_by.map(|(first, _)| first).or(self.name);
        let about = match (first, self.waiting_share) {
            (Some(name), Some(share)) => {
                format!("Of the time spent waiting for loaders, {} is for `{name}`. ", percent(share))
            }
            (Some(name), None) => format!("The waits do not say for which loader; `{name}` works most. "),
            (None, _) => String::new(),
        };
        let by = self
            .taken_by
            .map(|(first, share)| waits(&format!("The loader `{first}` waits itself"), share) + " ");
        let advice = match self.own_waiting_share.filter(|&share| share >= MOST) {
            Some(share) => format!(
                "{} Look at what {} for.",
                waits(&format!("{} {}", self.subject(), self.verb("wait themselves", "waits itself")), share),
                self.verb("they wait", "it waits")
            ),
            None => format!("{}{}", self.own_advice(thresholds), self.qualified()),
        };
        format!("{about}{}{advice}", by.unwrap_or_default())
    }

    /// Batches of it that a step takes, where that is not one.
    pub(crate) fn batches_per_step(&self) -> Option<f64> {
        self.pace.unusual_per_step()
    }

    /// What the figures of the advice are of, where that is not one batch a step in one process.
    fn qualified(&self) -> String {
        if self.needed.is_none() {
            return String::new();
        }
        let batches = self.batches_per_step().map_or_else(String::new, |batches| {
            format!(" A step takes {} of its batches.", rounded(batches, 2))
        });
        let is_each = self.has_ranks && self.rank.is_none();
        format!("{batches}{}", if is_each { " These are the workers of each process." } else { "" })
    }

    const fn verb<'b>(&self, several: &'b str, one: &'b str) -> &'b str {
        if self.name.is_some() { one } else { several }
    }

    fn subject(&self) -> String {
        let rank = self.rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
        match self.name {
            Some(name) => format!("The loader `{name}`{rank}"),
            None => format!("The loaders{rank}"),
        }
    }

    /// Whether batches usually lie ready, and the usual wait is long all the same. (Where few long waits make up for most of
    /// the time, the usual queue says nothing of these.)
    fn lie_ready(&self, thresholds: &Thresholds) -> Option<(u64, u64)> {
        let (depth, queue_ns) = self.waits.depth.p50.zip(self.waits.queue.p50)?;
        let wait = &self.waits.wait;
        let is_usual = wait.p50.zip(wait.mean).is_none_or(|(p50, mean)| p50 as f64 * 2.0 >= mean);
        let are_ready = depth >= thresholds.ready_batches && queue_ns >= self.pace.every_ns();
        (are_ready && is_usual).then_some((depth, queue_ns))
    }

    fn own_advice(&self, thresholds: &Thresholds) -> String {
        if let Some((depth, queue_ns)) = self.lie_ready(thresholds) {
            return format!(
                "Batches lay ready when the step took them ({} in the queue, for {}), so more or faster loaders would not \
                 help. Look at what taking a batch does (copies, locks), and give the training thread a processor of its own.",
                count(depth),
                duration(queue_ns)
            );
        }
        let (Some(produce_ns), Some(needed)) = (self.produce_ns, self.needed) else {
            return self.recorder.unknown_loader().into();
        };
        let is_busy = self.under_demand.is_some()
            || self.busy_share.is_some_and(|share| share >= thresholds.busy_share);
        let cannot_keep_up = is_busy || self.workers.is_none_or(|workers| needed > workers);
        let lacks_places = self.slot_wait_share.is_some_and(|share| share >= thresholds.slot_wait_share);
        let (subject, figures) = (self.subject(), self.figures(produce_ns));
        if !cannot_keep_up {
            format!(
                "{subject} could keep up ({figures}), yet the step waits: deepen the queue to bridge slow batches."
            )
        } else if lacks_places && !is_busy {
            format!(
                "Batches are uneven: {} held up by a full queue at times, and the step by an empty one ({figures}). So deepen \
                 the queue first; then {} may be needed.",
                lower(&subject, self.verb("are", "is")),
                things(needed, "worker", "workers")
            )
        } else {
            self.too_slow(&subject, produce_ns, needed)
        }
    }

    /// `2 workers, busy 60 % of the time, waiting for a place in the queue 33 %; a batch takes 24.0 ms`.
    fn figures(&self, produce_ns: u64) -> String {
        let workers = things(self.workers.unwrap_or(1), "worker", "workers");
        let busy = self.busy_share.map(|share| format!(", busy {} of the time", percent(share)));
        let room = self.slot_wait_share.filter(|&share| share >= TOLD);
        let room = room.map(|share| format!(", waiting for a place in the queue {}", percent(share)));
        let batch = duration(produce_ns);
        format!("{workers}{}{}; a batch takes {batch}", busy.unwrap_or_default(), room.unwrap_or_default())
    }

    /// Why more workers do not help, and how many may work at once: where processors are too few.
    fn lacks_processors(&self, needed: u64) -> Option<(String, u64)> {
        let (step_ns, workers) = (self.pace.step_ns, self.workers.unwrap_or(1));
        let cpus = self.cpus?;
        match self.computing {
            Some((computing_ns, free)) => {
                let is_more = computing_ns > free.saturating_mul(step_ns).max(step_ns / A_PROCESSOR);
                let why = format!(
                    "what {} takes {:.1} processors, and the training leaves {} of {}",
                    self.verb("they compute", "all loaders compute"),
                    computing_ns as f64 / step_ns.max(1) as f64,
                    count(free),
                    count(cpus)
                );
                is_more.then(|| (why, workers.min(free.max(1))))
            }
            // What loaders that sleep need of processors only their CPU time tells.
            None => {
                let why = format!("the machine has {}", things(cpus, "processor", "processors"));
                (needed > cpus).then_some((why, workers))
            }
        }
    }

    fn too_slow(&self, subject: &str, produce_ns: u64, needed: u64) -> String {
        // By what it did while it was waited for, where that differs.
        let (produce_ns, now, when) = match (self.under_demand, self.busy_share) {
            (Some(then), Some(share)) => {
                let when = format!(
                    " while {} waited for (busy {} then, {} of all time)",
                    self.verb("they are", "it is"),
                    percent(then.utilisation),
                    percent(share)
                );
                (then.produce_mean_ns, "then", when)
            }
            _ => (produce_ns, "now", String::new()),
        };
        let lacking = self.lacks_processors(needed);
        let at_once = lacking.as_ref().map_or(self.workers.unwrap_or(1), |&(_, at_once)| at_once);
        let with =
            self.workers.map_or("the present workers".into(), |_| things(at_once, "worker", "workers"));
        let faster = format!(
            "make a batch in less than {} ({now} {}) with {with}",
            duration(self.pace.every_ns().saturating_mul(at_once)),
            duration(produce_ns)
        );
        let workers = things(needed, "worker", "workers");
        let advice = match (lacking, self.workers) {
            (Some((why, _)), _) => format!(
                "{subject} cannot keep up{when}: {workers} would be needed, but {why}. So {faster}: decode once and cache, use \
                 a cheaper format, do less per sample."
            ),
            (None, Some(present)) if present >= needed => format!(
                "{subject} {} busy all the time and only just {}: add a worker or two, or {faster}.",
                self.verb("are", "is"),
                self.verb("keep up", "keeps up")
            ),
            (None, present) => format!(
                "{subject} cannot keep up{when}: use {workers} instead of {}, or {faster}.",
                present.map_or("the present".into(), count)
            ),
        };
        let part = self
            .largest_part
            .as_ref()
            .map(|(path, share)| format!(" Most of a batch, {}, is `{path}`: begin there.", percent(*share)));
        format!("{advice}{}", part.unwrap_or_default())
    }
}

/// `the loaders are`.
fn lower(subject: &str, verb: &str) -> String {
    format!("t{} {verb}", subject.strip_prefix('T').unwrap_or(subject))
}
