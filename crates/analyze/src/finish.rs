//! From accumulators to a [`Summary`]. Each part of the summary is its subject's; this one picks the run and puts the parts together.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::Mode;

use crate::between_steps::finish as between_steps;
use crate::changepoints::finish as changes;
use crate::config::Config;
use crate::context::Context;
use crate::critical_path::finish as critical;
use crate::exemplars::finish as examples;
use crate::live_memory::finish as live_memory;
use crate::loaders::finish as input;
use crate::memory::finish as memory;
use crate::metrics::{Metrics, finish as metrics};
use crate::run::{RunAcc, RunKey, coverage_finish as coverage, finish as run};
use crate::sections::finish as sections;
use crate::steps::few_steps::FewSteps;
use crate::steps::warmup_sections::finish as warmup_sections;
use crate::steps::{finish as step_times, series_finish as series, step_gaps};
use crate::summary::{OtherRun, RunIdentity, Summary};
use crate::threads::finish as threads;

/// A run that is asked for: all attempts of an id, or one.
struct Wanted<'n> {
    id: &'n str,
    attempt: Option<i64>,
}

impl<'n> Wanted<'n> {
    /// `RUN/ATTEMPT`, unless there is a run that is called so as a whole.
    fn of(name: &'n str, runs: &BTreeMap<RunKey, RunAcc>) -> Self {
        let parts = || {
            let (id, attempt) = name.rsplit_once('/')?;
            Some(Self { id, attempt: Some(attempt.parse().ok()?) })
        };
        let is_whole = runs.keys().any(|key| *key.id == *name);
        (!is_whole).then(parts).flatten().unwrap_or(Self { id: name, attempt: None })
    }

    fn is(&self, key: &RunKey) -> bool {
        *key.id == *self.id && self.attempt.is_none_or(|attempt| attempt == key.attempt)
    }
}

/// The summary of the selected run, or of the one that started last.
pub(crate) fn summary(
    (runs, measured): (&BTreeMap<RunKey, RunAcc>, &Metrics),
    is_cut: bool,
    config: &Config,
    select: Option<&str>,
) -> Summary {
    let wanted = select.map(|name| Wanted::of(name, runs));
    let chosen = runs
        .iter()
        .filter(|(key, _)| wanted.as_ref().is_none_or(|wanted| wanted.is(key)))
        .max_by_key(|(key, run)| (run.tally.first_ns, *key))
        .map(|latest| if wanted.is_none() { with_steps(runs, latest) } else { latest });
    let (job, others) = chosen.map_or_else(Default::default, |chosen| same_job(runs, chosen, config));
    let is_in_job = |key: &RunKey| chosen.is_some_and(|(chosen, _)| chosen == key) || others.contains(key);
    let other_runs = runs
        .iter()
        .filter(|(key, _)| !is_in_job(key))
        .map(|(key, run)| OtherRun { run: identity(key), first_ns: run.tally.first_ns, steps: steps(run) })
        .collect();
    match chosen {
        Some((key, run)) => of_run(key, (job.as_ref().unwrap_or(run), measured), is_cut, config, other_runs),
        None => Summary { other_runs, ..Summary::default() },
    }
}

/// A run and what was read of it.
type Read<'r> = (&'r RunKey, &'r RunAcc);

fn steps(run: &RunAcc) -> u64 {
    let all = run.instances.values().flat_map(|instance| &instance.steps);
    all.fold(0, |sum, steps| steps.count().saturating_add(sum))
}

fn are_together(a: &RunAcc, b: &RunAcc) -> bool {
    let (a, b) = (&a.tally, &b.tally);
    a.first_ns <= b.last_ns && b.first_ns <= a.last_ns
}

/// The run to report on where the latest is of a program that does no steps, or is not known: the latest of those that do, first
/// of those beside it. Other programs' spans come with those of a run, before and after it, and devices are programs of their own
/// to some profilers; damage takes the name of the program from its last spans.
fn with_steps<'r>(runs: &'r BTreeMap<RunKey, RunAcc>, latest: Read<'r>) -> Read<'r> {
    let (key, run) = latest;
    let (own, is_named) = (steps(run), !key.id.is_empty());
    if !key.is_foreign || own > 0 && is_named {
        return latest;
    }
    let others = runs.iter().filter(|(other, acc)| *other != key && steps(acc) > 0);
    let better = others.filter(|(other, acc)| own == 0 || !other.id.is_empty() && steps(acc) > own);
    better.max_by_key(|(key, acc)| (are_together(run, acc), acc.tally.first_ns, *key)).unwrap_or(latest)
}

/// The run as a whole, and the others that it consists of: processes that each say another rank of a job of the same size do it
/// together, whatever their programs are called. Nothing where it is whole by itself.
fn same_job(
    runs: &BTreeMap<RunKey, RunAcc>,
    (key, run): Read<'_>,
    config: &Config,
) -> (Option<RunAcc>, Vec<RunKey>) {
    let ranks = |run: &RunAcc| -> Option<(BTreeSet<i64>, i64)> {
        let resources = || run.instances.keys().map(|instance| &instance.0);
        let size = resources().next()?.world_size.filter(|&size| size > 1)?;
        let ranks: BTreeSet<i64> = resources()
            .map(|own| own.rank.filter(|_| own.world_size == Some(size)))
            .collect::<Option<_>>()?;
        Some((ranks, size))
    };
    let (mut job, mut others) = (None, Vec::new());
    let Some((mut all, size)) = ranks(run).filter(|_| key.is_foreign) else { return (job, others) };
    for (other, theirs) in runs.iter().filter(|(other, _)| *other != key && other.is_foreign) {
        let is_part = |(own, of): &(BTreeSet<i64>, i64)| *of == size && own.is_disjoint(&all);
        if let Some((own, _)) = ranks(theirs).filter(is_part).filter(|_| are_together(run, theirs)) {
            all.extend(own);
            job.get_or_insert_with(|| run.clone()).merge(theirs, &config.bounds);
            others.push(other.clone());
        }
    }
    (job, others)
}

fn of_run(
    key: &RunKey,
    (run, measured): (&RunAcc, &Metrics),
    is_cut: bool,
    config: &Config,
    other_runs: Vec<OtherRun>,
) -> Summary {
    let state = run::state(run);
    let mut losses = run::losses(run);
    let mut sections = sections::Table::of(run);
    losses.unplaced = sections.unplaced;
    let context = Context::of(run, coverage::of(run, sections.steps, &losses), config);
    let Context { steps, series, .. } = &context;
    let mut modes = steps.modes(run, &context.periodic, config);
    step_gaps::fill(run, &steps.numbers, &mut modes);
    let warm = warmup_sections::Warm::of(run, steps, &modes);
    warm.fill(&mut modes, &mut sections.rows);
    let primary = step_times::primary(&modes);
    let outside = between_steps::BetweenSteps::of(run, steps, primary, config);
    outside.fill(primary, &mut modes);
    let waits = run.driving_waits();
    let of_primary = primary.and_then(|mode| modes.iter().find(|row| row.mode == mode));
    let p95_ns = of_primary.and_then(|row| row.steady.p95);
    let pace = input::Pace { from_ns: steps.warm_until_ns(primary), step_ns: p95_ns.unwrap_or(0) };
    let is_all = state.is_ended() == Some(true) && !run.instances.values().any(|acc| acc.aggregates.is_cut);
    let series_of = |mode| series.iter().find(|row| row.mode == mode);
    let memory = memory::summary(run, primary.and_then(series_of), steps);
    Summary {
        found: true,
        run: identity(key),
        limits: run::limits(run, &outside, is_cut),
        instances: run::instances(run, steps, primary, &outside),
        few_steps: FewSteps::all(&context, &modes, &sections.rows),
        input: input::share(of_primary, &outside, &sections.rows, (&context.coverage, is_all)),
        between_steps: outside.rows(),
        not_between_steps_ns: outside.beyond(&sections.rows),
        batches: input::batches(run, &waits, pace),
        waits: input::waits_of(&waits, input::begins(run, None), pace),
        critical_path: critical::of(run, primary, &sections.rows, warm.other_ns(primary), &waits.parts),
        slowest: sections::slowest(&sections.rows),
        most_variable: sections::most_variable(&sections.rows, config.min_calls),
        live_memory: live_memory::of(&context, primary, memory.fastest()),
        memory,
        metrics: metrics::summary(measured, &context, primary),
        values: series::values(run, steps.numbers.of_mode(Mode::Train)),
        changes: changes::of(&context, &sections.rows),
        exemplars: examples::of(&context, &modes),
        threads: threads::of(run, &sections.rows),
        sections: sections.rows,
        coverage: context.coverage,
        phase_series: context.phase_series,
        periodic: context.periodic,
        series: context.series,
        state,
        losses,
        modes,
        other_runs,
    }
}

fn identity(key: &RunKey) -> RunIdentity {
    RunIdentity { id: key.id.to_string(), attempt: key.attempt, is_foreign: key.is_foreign }
}
