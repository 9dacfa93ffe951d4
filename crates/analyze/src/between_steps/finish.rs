//! Time of driving threads between steps: what their outermost sections take from the first step after warm-up to the last
//! one, and in none of the steps of their process, which other threads may drive at that time.
//!
//! Neither all steps nor all sections are kept singly. Of sections of which it is not known which steps they lie beside as
//! large a part counts as of those of their phase of which it is known, and of all of them no more than steps leave room for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Mode;

use crate::accumulate::saturate::saturate;
use crate::between_steps::accumulator::{
    BetweenBucket, BetweenRecord, BetweenSums, BetweenTime, OTHERS, add_part, give_back,
};
use crate::between_steps::step_times::{first_steps, other_steps_ns};
use crate::config::Config;
use crate::phases::per_step::by_step;
use crate::phases::section_time::id_of;
use crate::run::{InstanceAcc, RunAcc};
use crate::steps::finish::Steady;
use crate::steps::steady::SteadySteps;
use crate::summary::{BetweenStepsRow, ModeSummary, PhaseTime, SectionRow, Stats};

/// Time of driving threads between steps.
#[derive(Default)]
pub(crate) struct BetweenSteps {
    sums: BetweenSums,
    /// What sections take before that, after it and beside steps, as far as known, by the ids of their paths.
    beyond: BTreeMap<u64, u128>,
    /// What each process spends exposed in phases there, by a step after warm-up, in the order of the processes.
    by_instance: Vec<Vec<PhaseTime>>,
    /// Input of evaluation and of inference, where steps of another mode are looked at.
    of_others_ns: [u128; 2],
    /// Whether some of it was estimated.
    pub(crate) is_estimated: bool,
}

impl BetweenSteps {
    /// Sums over the threads that drive steps.
    pub(crate) fn of(run: &RunAcc, steps: &Steady<'_>, primary: Option<Mode>, config: &Config) -> Self {
        let customs = config.bounds.custom_phases;
        let mut outside = Self::default();
        for (instance, acc) in &run.instances {
            let steady = steps.get(primary, instance);
            let mut own = outside.of_instance(acc, &Window::of(acc, primary, steady), customs);
            if let Some(mode) = primary {
                let given_ns = give_back(&mut own, mode, customs);
                for (sum, given_ns) in outside.of_others_ns.iter_mut().zip(given_ns) {
                    *sum = sum.saturating_add(given_ns);
                }
            }
            let count = steady.map_or(0, |steps| steps.sums.count());
            let times = own.iter().map(|(key, time)| (key, time.exposed_ns));
            outside.by_instance.push(by_step(times, count));
            outside.sums.merge(&own, customs);
        }
        outside
    }

    fn of_instance(&mut self, acc: &InstanceAcc, window: &Window, customs: usize) -> BetweenSums {
        let driving = |thread: &Option<i64>| acc.outside.driving.contains_key(thread);
        // What lies between steps, of sections that lie where all steps are known; the whole of these; and all others.
        let (mut between, mut inside) = (BetweenSums::default(), BetweenSums::default());
        let mut others = BetweenSums::default();
        for (_, outside) in acc.outside.threads.iter().filter(|(thread, _)| driving(thread)) {
            let is_inside =
                |of: &&BetweenBucket| of.last_ns > window.first_ns && of.first_ns < window.last_ns;
            let folded = outside.folded.iter().map(|(_, bucket)| bucket).filter(is_inside);
            folded.for_each(|stretch| others.merge(&stretch.sums, customs));
            for record in outside.singly() {
                let inside_ns = window.inside_ns(record);
                let taken_ns = match inside_ns {
                    None => None,
                    Some(inside_ns) if record.end_ns > window.until_ns => {
                        add_part(&mut others, record, inside_ns, customs);
                        Some(inside_ns)
                    }
                    Some(inside_ns) => {
                        add_part(&mut inside, record, inside_ns, customs);
                        let between_ns = window.between_ns(record);
                        if between_ns > 0 || inside_ns == 0 {
                            add_part(&mut between, record, between_ns, customs);
                        }
                        Some(between_ns)
                    }
                };
                let beyond_ns = record.duration_ns() - taken_ns.unwrap_or(0);
                if taken_ns.is_none() || beyond_ns > 0 {
                    let sum = self.beyond.entry(record.path).or_default();
                    *sum = sum.saturating_add(beyond_ns.into());
                }
            }
        }
        self.is_estimated |= estimate(&mut others, &between, &inside, window.room_ns);
        between.merge(&others, customs);
        between
    }

    /// What each process spends exposed in phases between its steady steps, by a step, in the order of the processes.
    pub(crate) fn by_instance(&self) -> &[Vec<PhaseTime>] {
        &self.by_instance
    }

    /// What sections take before the steady steps, after them and beside them, by path.
    pub(crate) fn beyond(&self, sections: &[SectionRow]) -> BTreeMap<String, u64> {
        let time =
            |row: &SectionRow| Some((row.path.clone(), saturate(*self.beyond.get(&id_of(&row.path))?)));
        sections.iter().filter_map(time).collect()
    }

    /// One row a phase, longest total first.
    pub(crate) fn rows(&self) -> Vec<BetweenStepsRow> {
        let mut rows: Vec<BetweenStepsRow> = self
            .sums
            .iter()
            .map(|(key, time)| BetweenStepsRow {
                phase: key.name(),
                stats: stats(time),
                exposed_ns: saturate(time.exposed_ns),
            })
            .filter(|row| row.stats.count > 0 || row.exposed_ns > 0)
            .collect();
        // Stable: equal rows stay in the order of their phases.
        rows.sort_by_key(|row| (Reverse(row.stats.total), Reverse(row.exposed_ns)));
        rows
    }

    /// Time exposed in input.
    pub(crate) fn input_ns(&self) -> u128 {
        self.sums
            .iter()
            .filter(|(key, _)| key.name().is_some_and(|name| name.is_input()))
            .map(|(_, time)| time.exposed_ns)
            .fold(0, u128::saturating_add)
    }

    /// Tells each mode of the input between its steps.
    pub(crate) fn fill(&self, primary: Option<Mode>, modes: &mut [ModeSummary]) {
        for row in modes {
            let other = OTHERS.iter().zip(self.of_others_ns).find(|((_, mode), _)| *mode == row.mode);
            row.input_between_ns = match other {
                _ if primary == Some(row.mode) => saturate(self.input_ns()),
                Some((_, given_ns)) => saturate(given_ns),
                None => 0,
            };
        }
    }

    /// Whether words of users were counted together.
    pub(crate) fn are_phases_folded(&self) -> bool {
        self.sums.is_folded()
    }

    /// Whether any section has a phase.
    pub(crate) fn has_phases(&self) -> bool {
        self.sums.iter().any(|(key, _)| key.name().is_some())
    }
}

/// The figures of sections of which only a part may be there: how many and how long in all are those of the part.
fn stats(time: &BetweenTime) -> Stats {
    let all = Stats::of(&time.durations.0);
    let count = all.count.saturating_sub(time.beside.calls);
    let total = if time.beside.ns > 0 { saturate(time.total_ns()) } else { all.total };
    Stats { count, total, ..all }
}

/// Leaves of sections of which it is not known where steps lie as large a part as lies between steps of those of their phase
/// of which it is known; of all of them together what there is room for beside those. Whether more than a hundredth went.
fn estimate(
    others: &mut BetweenSums,
    between: &BetweenSums,
    inside: &BetweenSums,
    room_ns: Option<u128>,
) -> bool {
    let all_ns = |sums: &BetweenSums| {
        let ns = |all: u128, (_, time): (_, &BetweenTime)| all.saturating_add(time.total_ns());
        sums.iter().fold(0, ns)
    };
    let before_ns = all_ns(others);
    for (key, time) in others.iter_mut() {
        let Some(whole) = inside.get(key) else { continue };
        let part = between.get(key);
        let (part_ns, whole_ns) = (part.map_or(0, BetweenTime::total_ns), whole.total_ns());
        if is_less(part_ns, whole_ns) {
            time.leave(part_ns, whole_ns);
        }
        let part_ns = part.map_or(0, |part| part.exposed_ns);
        if is_less(part_ns, whole.exposed_ns) {
            time.leave_exposed(part_ns, whole.exposed_ns);
        }
    }
    let others_ns = all_ns(others);
    let left_ns = room_ns.map(|room_ns| room_ns.saturating_sub(all_ns(between)));
    if let Some(left_ns) = left_ns.filter(|&left_ns| left_ns < others_ns) {
        for (_, time) in others.iter_mut() {
            time.leave(left_ns, others_ns);
            time.leave_exposed(left_ns, others_ns);
        }
    }
    is_less(all_ns(others), before_ns)
}

/// Whether more than a hundredth is missing: less is how times were rounded.
const fn is_less(part: u128, whole: u128) -> bool {
    part.saturating_mul(100) < whole.saturating_mul(99)
}

/// What is known of the steps of a process.
struct Window {
    /// From the first step after warm-up to the last one.
    first_ns: u64,
    last_ns: u64,
    /// The first steps, start and end, sorted, and how long all before each take. None where some of them overlap: then
    /// it is not known which of them another thread goes on beside.
    steps: Vec<(u64, u64, u64)>,
    /// Until then there are no others.
    until_ns: u64,
    /// What steps leave from the first to the last; absent where nothing bounds it.
    room_ns: Option<u128>,
}

impl Window {
    fn of(acc: &InstanceAcc, primary: Option<Mode>, steady: Option<&SteadySteps>) -> Self {
        let first_ns = steady.and_then(|steps| steps.first_ns).unwrap_or(0);
        let last_ns = steady.and_then(|steps| steps.sums.last_ns).unwrap_or(u64::MAX);
        let (times, until_ns) = first_steps(acc);
        if times.is_sorted_by(|a, b| a.1 <= b.0) {
            let mut before_ns = 0u64;
            let with_time = |(start_ns, end_ns): (u64, u64)| {
                let step = (start_ns, end_ns, before_ns);
                before_ns = before_ns.saturating_add(end_ns.saturating_sub(start_ns));
                step
            };
            let steps = times.into_iter().map(with_time).collect();
            let room_ns = steady.and_then(|steady| {
                let others_ns = u128::from(other_steps_ns(acc, primary, steady));
                let steps_ns = steady.sums.durations.0.moments().sum.saturating_add(others_ns);
                u128::from(last_ns.saturating_sub(first_ns)).checked_sub(steps_ns)
            });
            Self { first_ns, last_ns, steps, until_ns, room_ns }
        } else {
            Self { first_ns, last_ns, steps: Vec::new(), until_ns: u64::MAX, room_ns: None }
        }
    }

    /// How much of a section lies from the first to the last step; none of one that is before or after.
    fn inside_ns(&self, record: &BetweenRecord) -> Option<u64> {
        let is_inside = record.end_ns > self.first_ns && record.start_ns < self.last_ns;
        is_inside.then(|| record.end_ns.min(self.last_ns).saturating_sub(record.start_ns.max(self.first_ns)))
    }

    /// How much of that lies in no step.
    fn between_ns(&self, record: &BetweenRecord) -> u64 {
        let (start_ns, end_ns) = (record.start_ns.max(self.first_ns), record.end_ns.min(self.last_ns));
        let in_steps_ns = self.steps_ns(end_ns).saturating_sub(self.steps_ns(start_ns));
        end_ns.saturating_sub(start_ns).saturating_sub(in_steps_ns)
    }

    /// How long steps take up to a moment.
    fn steps_ns(&self, until_ns: u64) -> u64 {
        let next = self.steps.partition_point(|&(start_ns, ..)| start_ns < until_ns);
        let last = next.checked_sub(1).and_then(|last| self.steps.get(last));
        last.map_or(0, |&(start_ns, end_ns, before_ns)| {
            before_ns.saturating_add(end_ns.min(until_ns).saturating_sub(start_ns))
        })
    }
}
