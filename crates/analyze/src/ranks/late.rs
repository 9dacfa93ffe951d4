//! The rank that the others wait for. In communication all wait for the last one to come, which itself hardly waits.

use std::collections::BTreeSet;

use super::longer::Longer;
use crate::report::units::{duration, percent};
use crate::steps::judged::Steps;
use crate::summary::{InstanceRow, Summary};

/// The others wait for at least so many times as long.
const LONGER: f64 = 1.5;

/// Share of its lateness from which a phase explains it.
const EXPLAINS: f64 = 0.5;

/// A rank that comes last to what all ranks do together.
pub(crate) struct Late<'a> {
    pub(crate) rank: i64,
    /// What it communicates a step.
    pub(crate) own_ns: u64,
    /// What the others do, their mean.
    pub(crate) others_ns: u64,
    /// Of the communication of all ranks what they would do without if it took each as long as this one.
    pub(crate) share: f64,
    /// What it does longer than the others in its steps, where that is most of its lateness.
    pub(crate) longer: Option<Longer<'a>>,
    /// What it takes longer than the others between its steps, where that is most of its lateness, and more than in its steps.
    pub(crate) between: Option<Between<'a>>,
}

/// Time of the late rank between its steps, by a step.
pub(crate) struct Between<'a> {
    pub(crate) own_ns: u64,
    /// The mean of the others.
    pub(crate) others_ns: u64,
    /// What most of it is, where that is known.
    pub(crate) what: Option<What<'a>>,
}

/// What a rank does between its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// Steps of other modes.
    OtherSteps,
    /// Sections of a phase.
    Phase(&'a str),
}

impl<'a> Between<'a> {
    /// Nothing where what it takes longer there is less than `least_ns`.
    fn of(late: &'a InstanceRow, others: &[&InstanceRow], least_ns: f64) -> Option<Self> {
        let mean = |of: &dyn Fn(&InstanceRow) -> u64| {
            let sum_ns = others.iter().fold(0, |sum, row| u64::saturating_add(sum, of(row)));
            sum_ns / u64::try_from(others.len()).unwrap_or(u64::MAX).max(1)
        };
        let more = |of: &dyn Fn(&InstanceRow) -> u64| of(late).saturating_sub(mean(of));
        let between = |row: &InstanceRow| {
            let ns = row.throughput.elapsed_ns.saturating_sub(row.steps.total);
            ns.checked_div(row.steps.count).unwrap_or(0)
        };
        let other_steps = |row: &InstanceRow| row.other_steps_ns.checked_div(row.steps.count).unwrap_or(0);
        let more_ns = more(&between);
        if more_ns == 0 || (more_ns as f64) < least_ns {
            return None;
        }
        let phases = late.phases_between_steps.iter().map(|time| time.phase.as_str());
        let of_phase = phases.map(|phase| {
            let of = |row: &InstanceRow| {
                let own = row.phases_between_steps.iter().find(|time| time.phase.as_str() == phase);
                own.map_or(0, |time| time.exposed_ns)
            };
            (more(&of), What::Phase(phase))
        });
        let most = of_phase.rev().chain([(more(&other_steps), What::OtherSteps)]).max_by_key(|&(ns, _)| ns);
        Some(Self {
            own_ns: between(late),
            others_ns: mean(&between),
            what: most.filter(|&(ns, _)| ns as f64 >= EXPLAINS * more_ns as f64).map(|(_, what)| what),
        })
    }

    fn more_ns(&self) -> u64 {
        self.own_ns.saturating_sub(self.others_ns)
    }
}

impl<'a> Late<'a> {
    /// Where one rank communicates for much less time than each of the others, and works for longer.
    pub(crate) fn of(summary: &'a Summary) -> Option<Self> {
        let ranks: Option<Vec<Row<'_>>> = summary.instances.iter().map(Row::of).collect();
        let mut ranks = ranks?;
        ranks.sort_by_key(|row| (row.waits_ns, row.rank));
        let (late, others) = ranks.split_first()?;
        let next = others.first()?;
        let works_longest = others.iter().all(|row| row.works_ns < late.works_ns);
        let names: BTreeSet<i64> = ranks.iter().map(|row| row.rank).collect();
        if names.len() < ranks.len()
            || !works_longest
            || (next.waits_ns as f64) < LONGER * late.waits_ns as f64
            || next.waits_ns == 0
        {
            return None;
        }
        let all_ns = ranks.iter().fold(0u64, |sum, row| sum.saturating_add(row.waits_ns));
        let least_ns = late.waits_ns.saturating_mul(ranks.len() as u64);
        let others_ns = all_ns.saturating_sub(late.waits_ns) / others.len() as u64;
        let lateness_ns = others_ns.saturating_sub(late.waits_ns);
        let rows: Vec<&InstanceRow> = others.iter().map(|row| row.row).collect();
        let explains_ns = EXPLAINS * lateness_ns as f64;
        let longer = Longer::of(&[late.row], &rows, explains_ns);
        let is_more =
            |between: &Between<'_>| longer.is_none_or(|longer| between.more_ns() > longer.more_ns());
        Some(Self {
            rank: late.rank,
            own_ns: late.waits_ns,
            others_ns,
            share: all_ns.saturating_sub(least_ns) as f64 / all_ns as f64,
            between: Between::of(late.row, &rows, explains_ns).filter(is_more),
            longer,
        })
    }

    /// What to do about it, in words.
    pub(crate) fn advice(&self, steps: &Steps<'_>) -> String {
        let look = match (&self.between, &self.longer) {
            (Some(between), _) => beside_its_steps(between),
            (None, Some(longer)) => format!(
                "{}: look at what differs there: its part of the data, its device, code that only it runs.",
                longer.words(steps)
            ),
            (None, None) => {
                "Look at what its step does before the exchange that takes longer than on the others: its part \
                             of the data, its device, other programs on its host."
                    .to_owned()
            }
        };
        format!(
            "Rank {} comes late and the others wait for it: it communicates for {} a step, the others for {} on average, \
             and {} of this time is its lateness. {look}",
            self.rank,
            duration(self.own_ns),
            duration(self.others_ns),
            percent(self.share)
        )
    }
}

/// What to do about a rank that comes late because of what it does between its steps.
fn beside_its_steps(between: &Between<'_>) -> String {
    let what = match between.what {
        Some(What::OtherSteps) => {
            "most of that in steps of another mode, such as evaluation: let each rank do a part of these, or do them less \
             often."
                .to_owned()
        }
        Some(What::Phase(phase)) => format!(
            "most of that in `{phase}`: let another thread do it while the steps go on, or each rank a part of it."
        ),
        None => "and no section tells what it does there: put sections around it.".into(),
    };
    format!(
        "It is between its steps for {} a step and the others for {}, {what}",
        duration(between.own_ns),
        duration(between.others_ns)
    )
}

/// One rank, in means of a step and what follows it up to the next.
struct Row<'a> {
    row: &'a InstanceRow,
    rank: i64,
    waits_ns: u64,
    works_ns: u64,
}

impl<'a> Row<'a> {
    fn of(row: &'a InstanceRow) -> Option<Self> {
        let waits_ns = row.communication_per_step_ns?;
        // From step to step: the others wait as well for what it does between them.
        let step_ns = row.throughput.elapsed_ns.checked_div(row.steps.count)?;
        let works_ns = step_ns.saturating_sub(waits_ns);
        Some(Self { row, rank: row.resource.rank?, waits_ns, works_ns })
    }
}
