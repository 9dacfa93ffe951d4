//! Rule `input_bound`: the step waits for its data. Preparation on the training thread is the business of
//! `slow_preprocessing`.

use stepscope_core::{Phase, SectionKind};

use super::common::once::severity_beside;
use super::common::others::Others;
use super::common::program::Recorder;
use super::common::taking::Taking;
use super::{Config, Rule, Steps, TOLD, slow_preprocessing};
use crate::report::units::{count, duration, percent, things};
use crate::report::{BottleneckType, Evidence, Finding, Gain, Verdict, rounded};
use crate::sharing::Beside;
use crate::steps::{PREPARATION, WAITING};
use crate::summary::{LoaderRow, SectionRow, Summary, WaitSummary, WhileAwaited};

pub(super) const RULE: Rule = Rule {
    id: "input_bound",
    since: "0.1.0",
    name: "Input bound",
    kind: BottleneckType::DataLoading,
    may_hold_up_ranks: true,
    page: include_str!("input_bound.md"),
    check,
};

thresholds! {
    /// Share of the step time from which waiting is a finding.
    min_share: f64 = 0.05;
    /// What a step waits on average from which it is a finding whatever its share.
    long_wait_ns: u64 = 1_000_000_000;
    /// And from which it is told, without a finding; also what one wait in ten takes at least.
    noted_wait_ns: u64 = 100_000_000;
    /// Share of their time from which loader threads count as busy all the time.
    busy_share: f64 = 0.85;
    /// Share of their time for which loader threads that are not busy wait for a place in the queue, from which a deeper
    /// queue is advised before more of them.
    slot_wait_share: f64 = 0.1;
    /// Finished batches in the queue (median) from which loaders are ahead, if the step usually waits all the same.
    ready_batches: u64 = 2;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
    /// Places that a queue is made deeper by at most, to bridge a time in which batches are slow.
    max_places: u64 = 64;
}

/// What its loaders are to a run.
pub(super) struct Judged {
    pub(super) busy_share: f64,
    pub(super) slot_wait_share: Option<f64>,
    /// By how many batches their queue could be shorter.
    pub(super) unused: u64,
    /// What to do about them.
    pub(super) advice: String,
}

/// The loader that limits the steps; nothing where threads beside the steps make no batches, or one process is slower than
/// the others.
pub(super) fn judged(summary: &Summary, steps: &Steps<'_>, thresholds: &Thresholds) -> Option<Judged> {
    let rest_ns = steps.mean_ns().saturating_sub(steps.per_step(steps.exposed_ns(WAITING)));
    let beside = Beside::of(summary, steps.mode);
    let loader = Producers::of(summary, steps, &beside, (thresholds, rest_ns));
    let limiting = loader.limiting();
    let is_one_alone = limiting.of_rank.is_some();
    let busy_share = limiting.busy_share.filter(|_| !limiting.drives_steps && !is_one_alone)?;
    Some(Judged {
        busy_share,
        slot_wait_share: limiting.slot_wait_share,
        unused: limiting.waits.unused.unwrap_or(0),
        advice: loader.advice(thresholds),
    })
}

const WAIT: &[Phase] = &[Phase::DataWait];
const LOADING: &[Phase] = &[Phase::DataLoading];

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.input_bound;
    let steps = match Steps::of(summary, thresholds.min_steps).and_then(Steps::with_phases) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let exposed_ns = steps.exposed_ns(WAITING);
    let share = steps.share(exposed_ns);
    let waiting_ns = steps.per_step(exposed_ns);
    if share < thresholds.min_share && waiting_ns < thresholds.long_wait_ns {
        let of = steps.base().as_str();
        let tenth_ns = summary.waits.wait.p90.filter(|&ns| ns >= thresholds.noted_wait_ns);
        let noted = match tenth_ns {
            _ if waiting_ns >= thresholds.noted_wait_ns => format!(", {} a step", duration(waiting_ns)),
            Some(ns) => format!(", {} or longer in one of ten waits", duration(ns)),
            None => String::new(),
        };
        // The verdict calls both of them input.
        let prepared = steps.share(steps.exposed_ns(PREPARATION));
        let prepared = (prepared >= thresholds.min_share).then(|| {
            format!(
                "; the {} of preparation are the business of `{}`",
                percent(prepared),
                slow_preprocessing::RULE.id
            )
        });
        return Verdict::fine(format!(
            "{} of {of} is spent waiting for batches{}{noted}{}",
            percent(share),
            steps.by(),
            prepared.unwrap_or_default()
        ));
    }
    let beside = Beside::of(summary, steps.mode);
    let Some((gain, sharing_ns)) = gain(&steps, exposed_ns, beside) else {
        return Verdict::unknown("steps have no duration");
    };
    let rest_ns = steps.mean_ns().saturating_sub(waiting_ns);
    let serial = steps.exposed_ns(LOADING) > steps.exposed_ns(WAIT);
    let loader = Producers::of(summary, &steps, &beside, (thresholds, rest_ns));
    let waits_for = loader.waits_for.as_ref();
    let evidence = Evidence::new()
        .with("waiting_share", rounded(share, 6))
        .with("data_wait_share", rounded(steps.share(steps.exposed_ns(WAIT)), 6))
        .with("data_loading_share", rounded(steps.share(steps.exposed_ns(LOADING)), 6))
        .with("waiting_per_step_ns", waiting_ns)
        .with("step_without_waiting_ns", rest_ns)
        .with_known("loaders_compute_per_step_ns", Some(beside.computing_ns).filter(|&ns| ns > 0))
        .with("sharing_may_add_share", rounded(sharing_ns as f64 / steps.mean_ns().max(1) as f64, 6))
        .with_known("loader", loader.one_of.map(|one| one.name))
        .with_known("loader_waiting_share", loader.one_of.and_then(|one| one.waiting_share).map(six))
        .with_known("wait_p50_ns", loader.waits.wait.p50)
        .with_known("wait_p95_ns", loader.waits.wait.p95)
        .with_known("produce_mean_ns", loader.produce_ns)
        .with_known("queue_time_p50_ns", loader.waits.queue.p50)
        .with_known("queue_depth_p50", loader.waits.depth.p50)
        .with_known("batches_per_step", loader.taking.unusual_per_step().map(six))
        .with_known("loader_rank", loader.of_rank)
        .with_known("workers", loader.workers)
        .with_known("workers_busy_share", loader.busy_share.map(six))
        .with_known("workers_slot_wait_share", loader.slot_wait_share.map(six))
        .with_known("produce_mean_while_awaited_ns", loader.awaited.map(|then| then.produce_mean_ns))
        .with_known("workers_busy_while_awaited_share", loader.awaited.map(|then| six(then.utilisation)))
        .with_known("queue_places_needed", loader.places)
        .with_known("workers_needed", loader.needed)
        .with_known("waits_for_loader", waits_for.and_then(|(row, _)| row.name()))
        .with_known("waits_for_loader_share", waits_for.map(|(_, share)| six(*share)))
        .with_known("limiting_loader", waits_for.and_then(|_| loader.limiting().name()));
    let phase = if serial { Phase::DataLoading } else { Phase::DataWait };
    let section = steps.worst_section(&[phase]);
    let advice =
        if serial { serial_advice(rest_ns, loader.cpus, beside.ranks) } else { loader.advice(thresholds) };
    let recommendation = format!("{advice}{}", steps.caveat());
    Verdict::Found(vec![Finding {
        title: title(&steps, exposed_ns, serial),
        severity: severity_beside(&gain, section, exposed_ns, &steps),
        section: section.map(|row| row.path.clone()),
        phase: Some(phase.as_str().into()),
        rank: None,
        evidence,
        recommendation,
        predicted_gain: Some(gain),
    }])
}

/// What share the step waits and loads, and how much of it is which, where both are worth telling and one is not all.
fn title(steps: &Steps<'_>, exposed_ns: u64, serial: bool) -> String {
    let share = |phases| steps.share(steps.exposed_ns(phases));
    let (of, all) = (steps.base().as_str(), percent(steps.share(exposed_ns)));
    let place = if steps.sums.is_some() { steps.by() } else { " on the training thread" };
    let are_told = |most: f64, other: f64| other >= TOLD && percent(most) != all;
    match (serial, share(LOADING), share(WAIT)) {
        (true, loading, waiting) if are_told(loading, waiting) => format!(
            "{all} of {of} goes into loading data ({}) and waiting for batches ({}){place}.",
            percent(loading),
            percent(waiting)
        ),
        (true, ..) => format!("{all} of {of} goes into loading data{place}."),
        (false, loading, waiting) if are_told(waiting, loading) => format!(
            "{all} of {of} is spent waiting for batches ({}) and loading data ({}){}.",
            percent(waiting),
            percent(loading),
            steps.by()
        ),
        (false, ..) => format!("{all} of {of} is spent waiting for batches{}.", steps.by()),
    }
}

/// What it brings at most if nobody waited, and nobody computed beside the step; the latter's part a step.
fn gain(steps: &Steps<'_>, exposed_ns: u64, beside: Beside) -> Option<(Gain, u64)> {
    let mean_ns = steps.mean_ns();
    let waiting_ns = steps.per_step(exposed_ns);
    let quick_ns = steps.least_without_ns(exposed_ns, steps.mode.quick_without_waiting_ns);
    let sharing_ns = beside.cost_ns(quick_ns);
    let saved_ns = mean_ns.saturating_sub(quick_ns.saturating_sub(sharing_ns));
    let mut gain = Gain::with_side_effects(waiting_ns, saved_ns, mean_ns)?.of(steps.base());
    let beside_ns = gain.saved_ns_per_step.saturating_sub(waiting_ns);
    let sharing_share = sharing_ns as f64 / mean_ns.max(1) as f64;
    let sharing = (sharing_share >= TOLD).then(|| {
        format!("{} is what loaders that compute beside the step may cost it", percent(sharing_share))
    });
    let others = Steps::quicker(beside_ns.saturating_sub(sharing_ns), mean_ns);
    if sharing.is_some() || others.is_some() {
        let waiting = format!("{} is waiting", percent(gain.direct_share));
        let parts: Vec<String> = [Some(waiting), sharing, others].into_iter().flatten().collect();
        gain.because = Some(parts.join("; "));
    }
    Some((gain, sharing_ns))
}

fn serial_advice(step_ns: u64, cpus: Option<u64>, ranks: u64) -> String {
    let idle = cpus.map(|cpus| (cpus.saturating_sub(ranks), cpus)).filter(|&(idle, _)| idle > 0);
    let idle = idle.map(|(idle, cpus)| {
        let processors = things(cpus, "processor", "processors");
        format!(" The training leaves {} of {processors} for them.", count(idle))
    });
    format!(
        "Load in threads of their own and hand the batches over through a bounded queue: the step itself \
         needs {}, and loading can go on meanwhile.{}",
        duration(step_ns),
        idle.unwrap_or_default()
    )
}

fn six(share: f64) -> f64 {
    rounded(share, 6)
}

/// One of several loaders.
#[derive(Debug, Clone, Copy)]
struct OneOf<'a> {
    name: &'a str,
    /// Its part in the waits that name their loader; absent where none held up the steps.
    waiting_share: Option<f64>,
}

/// The loader that the steps wait for most, of equals the one that works most, and the waits for its batches.
#[derive(Debug)]
struct Producers<'a> {
    /// Absent where it is the only one.
    one_of: Option<OneOf<'a>>,
    waits: WaitSummary,
    taking: Taking,
    /// The rank of the process that it is judged by, where one is slower than others.
    of_rank: Option<i64>,
    /// Whether threads that drive steps make its batches.
    drives_steps: bool,
    /// Whether there are other processes that make its batches.
    has_ranks: bool,
    /// Of a process, at once.
    workers: Option<u64>,
    busy_share: Option<f64>,
    /// Share of their time for which the workers wait for a place in the queue.
    slot_wait_share: Option<f64>,
    produce_ns: Option<u64>,
    /// What it did while it was waited for, where only then its workers are busy all the time and too slow.
    awaited: Option<WhileAwaited>,
    /// By how many places the queue would have to be deeper to bridge such a time, where it can be and they keep up else.
    places: Option<u64>,
    needed: Option<u64>,
    cpus: Option<u64>,
    /// What all loaders of a host compute a step, and the processors that its training threads leave for it;
    /// absent where either is not known.
    computing: Option<(u64, u64)>,
    /// The section that takes most of a batch, and its share of it.
    largest_part: Option<(String, f64)>,
    /// The loader whose batches it waits for most of the time in which it makes its own, and the share of that; this one
    /// may wait for the next.
    waits_for: Option<(Box<Self>, f64)>,
    /// Share of the time in which it makes batches for which it waits, for whatever; absent where that is not known.
    own_waiting_share: Option<f64>,
    recorder: Recorder,
}

impl<'a> Producers<'a> {
    fn of(
        summary: &'a Summary,
        steps: &Steps<'_>,
        beside: &Beside,
        (thresholds, step_ns): (&Thresholds, u64),
    ) -> Self {
        let loaders = &summary.batches.loaders;
        let held_up_ns = |row: &LoaderRow| row.held_up_ns(steps.mode.mode);
        // Of equals the first name.
        let loader = loaders.iter().rev().max_by_key(|row| (held_up_ns(row), row.busy_ns));
        let all_ns: u128 = loaders.iter().map(|row| u128::from(held_up_ns(row))).sum();
        let one_of = loader.filter(|_| loaders.len() > 1).map(|row| OneOf {
            name: &row.name,
            waiting_share: (all_ns > 0).then(|| held_up_ns(row) as f64 / all_ns as f64),
        });
        // What it waits for other ranks is no time that it needs.
        let others_ns = Others::of(summary, steps).map_or(0, |others| others.waits_ns);
        let by = (thresholds, Taking::of(summary, steps, loader, step_ns.saturating_sub(others_ns)));
        match loader {
            Some(loader) => Self::with_stages(summary, loader, one_of, beside, by, &mut Vec::new()),
            None => Self::of_loader(summary, None, one_of, beside, by),
        }
    }

    /// A loader and those that it waits for, one after the other; `seen` are those before it, so that nothing goes in
    /// circles.
    fn with_stages(
        summary: &'a Summary,
        loader: &'a LoaderRow,
        one_of: Option<OneOf<'a>>,
        beside: &Beside,
        by: (&Thresholds, Taking),
        seen: &mut Vec<&'a str>,
    ) -> Self {
        seen.push(&loader.name);
        let mut judged = Self::of_loader(summary, Some(loader), one_of, beside, by);
        let next = waited_for(loader, &summary.batches.loaders);
        if let Some((row, share)) = next.filter(|(row, _)| !seen.contains(&row.name.as_str())) {
            let one_of = Some(OneOf { name: &row.name, waiting_share: None });
            // More of its workers would wait for the same.
            judged.needed = None;
            let by = (by.0, by.1.of_stage(row, loader));
            let next = Self::with_stages(summary, row, one_of, beside, by, seen);
            judged.waits_for = Some((Box::new(next), share));
        }
        judged
    }

    fn name(&self) -> Option<&'a str> {
        self.one_of.map(|one| one.name)
    }

    /// The last of those that wait for each other.
    fn limiting(&self) -> &Self {
        self.waits_for.as_ref().map_or(self, |(next, _)| next.limiting())
    }

    fn of_loader(
        summary: &'a Summary,
        loader: Option<&'a LoaderRow>,
        one_of: Option<OneOf<'a>>,
        beside: &Beside,
        (thresholds, taking): (&Thresholds, Taking),
    ) -> Self {
        // Waits that name no loader are those of the only one.
        let waits = loader.filter(|_| one_of.is_some()).map_or(summary.waits, |row| row.waits);
        // The batch's own span is nearest to the truth; waits carry the figure when batch traces were sampled
        // away.
        let mean = loader.and_then(|row| row.produce.mean).or(waits.produce.mean);
        let slowest = loader.and_then(|row| row.slowest);
        let steady = slowest.map(|process| process.after_warmup).or(loader.and_then(|row| row.after_warmup));
        let mean_ns = mean.map(|mean| mean.round() as u64);
        let produce_ns = steady.map(|steady| steady.produce_mean_ns).or(mean_ns);
        let cpus = summary.instances.iter().filter_map(|row| row.resource.cpus).max();
        let cpus = cpus.and_then(|cpus| u64::try_from(cpus).ok());
        // A loader that sleeps needs no processor: only measured time counts.
        let is_measured =
            summary.sections.iter().any(|row| row.kind == SectionKind::Batch && row.cpu_ns.is_some());
        let free = cpus.map(|cpus| cpus.saturating_sub(beside.ranks));
        let workers =
            slowest.map(|process| process.workers_at_once).or(loader.and_then(|row| row.workers_at_once));
        let every_ns = taking.every_ns();
        let busy_share = steady.map_or_else(|| loader?.utilisation, |steady| steady.utilisation);
        let slot_wait_share = steady.map_or_else(|| loader?.slot_wait_share, |steady| steady.slot_wait_share);
        let needed = |produce_ns: u64| (every_ns > 0).then(|| produce_ns.div_ceil(every_ns.max(1)).max(1));
        let is_too_slow = |then: &WhileAwaited| {
            busy_share.is_some_and(|share| share < thresholds.busy_share)
                && then.utilisation >= thresholds.busy_share
                && needed(then.produce_mean_ns) > workers
        };
        let awaited = loader.and_then(|row| row.while_awaited).filter(is_too_slow);
        let keeps_up =
            produce_ns.and_then(needed).zip(workers).is_some_and(|(needed, workers)| needed <= workers);
        let places = awaited.and_then(|then| then.at_once_ns).filter(|_| keeps_up && every_ns > 0);
        let places =
            places.map(|ns| ns.div_ceil(every_ns.max(1))).filter(|&places| places <= thresholds.max_places);
        let awaited = awaited.filter(|_| places.is_none());
        Self {
            one_of,
            waits,
            taking,
            of_rank: slowest.and_then(|process| process.rank),
            drives_steps: loader.is_some_and(|row| row.workers.iter().all(|worker| worker.drives_steps)),
            has_ranks: loader.is_some_and(has_ranks),
            workers,
            busy_share,
            slot_wait_share,
            produce_ns,
            awaited,
            places,
            needed: awaited.map(|then| then.produce_mean_ns).or(produce_ns).and_then(needed),
            cpus,
            computing: free.filter(|_| is_measured).map(|free| (beside.computing_ns, free)),
            largest_part: largest_part(summary, one_of.map(|one| one.name)),
            waits_for: None,
            own_waiting_share: loader
                .filter(|row| row.produce.total > 0)
                .map(|row| row.waiting_ns as f64 / row.produce.total as f64),
            recorder: Recorder::of(summary),
        }
    }

    /// What to do about it; of several loaders, which one it is about.
    fn advice(&self, thresholds: &Thresholds) -> String {
        let advice = self.stage_advice(thresholds);
        match self.one_of {
            Some(OneOf { name, waiting_share: Some(share) }) => {
                format!("Of the time spent waiting for loaders, {} is for `{name}`. {advice}", percent(share))
            }
            Some(OneOf { name, waiting_share: None }) => {
                format!("The waits do not say for which loader; `{name}` works most. {advice}")
            }
            None => advice,
        }
    }

    /// The same without why it is about this loader: about the last of those that wait for each other.
    fn stage_advice(&self, thresholds: &Thresholds) -> String {
        let waits = |share: f64| match self.one_of {
            Some(one) => format!(
                "The loader `{}` waits itself for {} of the time in which it makes batches, so more of its workers \
                 would not help",
                one.name,
                percent(share)
            ),
            None => format!(
                "The loaders wait themselves for {} of the time in which they make batches, so more workers would not \
                 help",
                percent(share)
            ),
        };
        match (&self.waits_for, self.own_waiting_share) {
            (Some((next, share)), _) => {
                format!("{}. {}", waits(*share), next.stage_advice(thresholds))
            }
            (None, Some(share)) if share >= MOST => {
                let who = self.one_of.map_or("they wait", |_| "it waits");
                format!("{}: look at what {who} for.", waits(share))
            }
            _ => {
                let advice = self.own_advice(thresholds);
                // (Figures of a loader that is not known are in no advice.)
                let known = self.needed.is_some();
                let batches = self.taking.unusual_per_step().filter(|_| known).map(|batches| {
                    let batches = rounded(batches, 2);
                    format!(" A step takes {batches} of its batches.")
                });
                let ranks = (known && self.has_ranks && self.of_rank.is_none())
                    .then_some(" These are the workers of each process.");
                format!("{advice}{}{}", batches.unwrap_or_default(), ranks.unwrap_or_default())
            }
        }
    }

    /// The subject of a sentence, with what the verb "to be" is for it.
    fn subject(&self) -> (String, &'static str) {
        let rank = self.of_rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default();
        match self.one_of {
            Some(one) => (format!("The loader `{}`{rank}", one.name), "is"),
            None => (format!("The loaders{rank}"), "are"),
        }
    }

    /// Whether the usual wait is no shorter than half of the mean: else few long ones make up for most of the time, and
    /// what the queue usually holds says nothing of these.
    fn waits_usually(&self) -> bool {
        let wait = &self.waits.wait;
        wait.p50.zip(wait.mean).is_none_or(|(p50, mean)| p50 as f64 * 2.0 >= mean)
    }

    fn own_advice(&self, thresholds: &Thresholds) -> String {
        let (subject, are) = self.subject();
        let (step_ns, every_ns) = (self.taking.step_ns, self.taking.every_ns());
        if let (Some(depth), Some(queue_ns)) = (self.waits.depth.p50, self.waits.queue.p50)
            && depth >= thresholds.ready_batches
            && queue_ns >= every_ns
            && self.waits_usually()
        {
            return format!(
                "Batches lay ready when the step took them ({} in the queue, for {}), so more or faster loaders \
                 would not help: look at what taking a batch does (copies, locks), and whether the machine has a \
                 processor to spare for the training thread.",
                count(depth),
                duration(queue_ns)
            );
        }
        let (Some(produce_ns), Some(needed)) = (self.produce_ns, self.needed) else {
            return self.recorder.unknown_loader().into();
        };
        let is_busy =
            self.awaited.is_some() || self.busy_share.is_some_and(|share| share >= thresholds.busy_share);
        let lacks_places = self.slot_wait_share.is_some_and(|share| share >= thresholds.slot_wait_share);
        let cannot_keep_up = match self.workers {
            _ if is_busy => true,
            Some(workers) => needed > workers,
            None => true,
        };
        if !cannot_keep_up || lacks_places && !is_busy {
            let busy = self.busy_share.map(|share| format!(", busy {} of the time", percent(share)));
            let room = self
                .slot_wait_share
                .filter(|&share| share >= TOLD)
                .map(|share| format!(", waiting for a place in the queue {}", percent(share)));
            let figures = format!(
                "{}{}{}; a batch takes {} to make",
                things(self.workers.unwrap_or(1), "worker", "workers"),
                busy.unwrap_or_default(),
                room.unwrap_or_default(),
                duration(produce_ns),
            );
            if !cannot_keep_up {
                let by = self.places.map(|places| format!(", by {},", things(places, "place", "places")));
                return format!(
                    "{subject} could keep up ({figures}), yet the step waits: deepen the queue between them{} so that it \
                     bridges slow batches.",
                    by.unwrap_or_default()
                );
            }
            return format!(
                "{subject} {are} held up by a full queue at some times and the step by an empty one at others \
                 ({figures}), since batches are uneven: deepen the queue between them first, so that it bridges slow \
                 batches; more workers do not help before. Then {} may be needed.",
                things(needed, "worker", "workers")
            );
        }
        // By what it did while it was waited for, where that differs.
        let (produce_ns, now, when) = match (self.awaited, self.busy_share) {
            (Some(then), Some(share)) => {
                let shares = (percent(then.utilisation), percent(share));
                let it_is = if self.one_of.is_some() { "it is" } else { "they are" };
                let when =
                    format!(" while {it_is} waited for (busy {} then, {} of all time)", shares.0, shares.1);
                (then.produce_mean_ns, "then", when)
            }
            _ => (produce_ns, "now", String::new()),
        };
        let workers = self.workers.map_or("the present".into(), count);
        let mut at_once = self.workers.unwrap_or(1);
        let mut why = None;
        match (self.computing, self.cpus) {
            (Some((computing_ns, free)), Some(cpus))
                if computing_ns > free.saturating_mul(step_ns).max(step_ns / A_PROCESSOR) =>
            {
                at_once = at_once.min(free.max(1));
                why = Some(format!(
                    "what {} takes {:.1} processors, and the training leaves {} of {}",
                    if self.one_of.is_some() { "all loaders compute" } else { "they compute" },
                    computing_ns as f64 / step_ns.max(1) as f64,
                    count(free),
                    count(cpus)
                ));
            }
            // What loaders that sleep need of processors only their CPU time tells.
            (None, Some(cpus)) if needed > cpus => {
                why = Some(format!("the machine has {}", things(cpus, "processor", "processors")));
            }
            _ => {}
        }
        let faster = format!(
            "make a batch in less than {} ({now} {}) with {}",
            duration(every_ns.saturating_mul(at_once)),
            duration(produce_ns),
            self.workers.map_or("the present workers".into(), |_| things(at_once, "worker", "workers"))
        );
        let part = self
            .largest_part
            .as_ref()
            .map(|(path, share)| format!(" Most of a batch, {}, is `{path}`: begin there.", percent(*share)));
        let advice = match why {
            Some(why) => format!(
                "{subject} cannot keep up{when}: {} would be needed, but {why}. So {faster}: decode once and cache, use a \
                 cheaper format, do less per sample.",
                things(needed, "worker", "workers"),
            ),
            None if self.workers.is_some_and(|workers| workers >= needed) => format!(
                "{subject} {are} busy all the time and only just {}: add a worker or two, or {faster}.",
                if self.one_of.is_some() { "keeps up" } else { "keep up" }
            ),
            None => format!(
                "{subject} cannot keep up{when}: use {} instead of {workers}, or {faster}.",
                things(needed, "worker", "workers")
            ),
        };
        format!("{advice}{}", part.unwrap_or_default())
    }
}

/// Whether several processes make batches of this loader.
fn has_ranks(loader: &LoaderRow) -> bool {
    let mut ranks = loader.workers.iter().map(|worker| worker.rank);
    let first = ranks.next();
    ranks.any(|rank| Some(rank) != first)
}

/// Of the other loaders that a loader waits for most of the time in which it makes its batches the one that it waits
/// for longest, of equals the first name; and the share of that time. Where no wait is part of a batch, what holds up
/// no thread that drives steps holds up loaders: that tells it where there is only one such other loader.
fn waited_for<'a>(loader: &LoaderRow, loaders: &'a [LoaderRow]) -> Option<(&'a LoaderRow, f64)> {
    let others = || loaders.iter().filter(|row| row.name != loader.name);
    let share = |waited_ns: u64| waited_ns as f64 / loader.produce.total.max(1) as f64;
    if loaders.iter().any(|row| !row.waited_by.is_empty()) {
        let waited_ns = others().fold(0, |sum, row| u64::saturating_add(sum, row.waited_by_ns(&loader.name)));
        let longest = others().rev().max_by_key(|row| row.waited_by_ns(&loader.name))?;
        return (share(waited_ns) >= MOST).then(|| (longest, share(waited_ns).min(1.0)));
    }
    let elsewhere = |row: &LoaderRow| {
        let held_up = row.held_up.iter().fold(0, |sum, held| u64::saturating_add(sum, held.total_ns));
        share(row.waits.wait.total.saturating_sub(held_up))
    };
    let mut most =
        others().map(|row| (row, elsewhere(row))).filter(|row| row.1 >= MOST && loader.produce.count > 0);
    // Of several nobody knows which of them waits for which.
    most.next().filter(|_| most.next().is_none()).map(|(row, share)| (row, share.min(1.0)))
}

/// What loaders compute at most and need no processor for, as a part of one.
const A_PROCESSOR: u64 = 20;

/// Share of a batch from which one section is most of it.
const MOST: f64 = 0.5;

/// The section that takes most of the time in which batches are made, and its share of that. Of several loaders
/// only where the section of its batches has its name: others share theirs.
fn largest_part(summary: &Summary, one_of: Option<&str>) -> Option<(String, f64)> {
    let is_batch =
        |row: &&SectionRow| row.kind == SectionKind::Batch && one_of.is_none_or(|loader| row.name == loader);
    let all_ns =
        summary.sections.iter().filter(is_batch).fold(0u64, |sum, row| sum.saturating_add(row.stats.total));
    let own_ns = |row: &SectionRow| row.self_ns.or(row.self_busy_ns).unwrap_or(0);
    let is_inside = |row: &&SectionRow| {
        let batches = summary.sections.iter().filter(is_batch);
        batches
            .into_iter()
            .any(|batch| row.path.strip_prefix(&batch.path).is_some_and(|rest| rest.starts_with('/')))
    };
    // Of equals the first path.
    let works = |row: &&SectionRow| row.phase.as_ref().is_none_or(|phase| !phase.is(Phase::DataWait));
    let largest =
        summary.sections.iter().filter(is_inside).filter(works).rev().max_by_key(|row| own_ns(row))?;
    let share = own_ns(largest) as f64 / all_ns.max(1) as f64;
    (share >= MOST).then(|| (largest.path.clone(), share.min(1.0)))
}
