//! Rule `slow_rank`: one rank works longer for its steps than the others, which do the same steps.

use std::collections::BTreeSet;

use stepscope_core::{Phase, attr};

use super::common::late::Late;
use super::common::longer::Longer;
use super::common::waits::Wait;
use super::{Config, Rule, Steps};
use crate::report::finding::{BottleneckType, Evidence, Finding, Gain, Note, Verdict, rounded};
use crate::report::units::{count, duration, listed, percent, things};
use crate::summary::{InstanceRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "slow_rank",
    since: "0.1.0",
    name: "Slow rank",
    kind: BottleneckType::Variability,
    notes: |summary, _, _| notes(summary),
    page: include_str!("slow_rank.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the slowest rank's step from which its distance to the others is a finding.
    min_share: f64 = 0.05;
    /// The distance of the slow ranks from the others, in standard errors of it.
    min_error_ratio: f64 = 4.0;
    /// Share of the distance from which a phase explains it.
    explained_share: f64 = 0.5;
    /// Steps after warm-up that are needed of each rank.
    min_steps: u64 = 40;
}

/// So many steps say as much as one that is independent of the others.
const ALIKE: f64 = 20.0;
/// Standard error of the median of a normal distribution, in median absolute deviations of one value.
const ERROR_OF_MEDIAN: f64 = 1.2533 * 1.4826;

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.slow_rank;
    let steps = match Steps::read(summary, thresholds.min_steps) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let rows: Vec<&InstanceRow> = summary.instances.iter().filter(|row| row.steps.count > 0).collect();
    if rows.len() < 2 {
        return match Absent::of(summary) {
            Some(absent) => Verdict::unknown(absent.words()),
            None => Verdict::fine("one process does the steps"),
        };
    }
    let Some(mut ranks) = rows.iter().map(|row| Rank::of(row)).collect::<Option<Vec<Rank<'_>>>>() else {
        return Verdict::unknown(format!("processes do not say which rank they are (`{}`)", attr::RANK));
    };
    let names: BTreeSet<i64> = ranks.iter().map(|rank| rank.rank).collect();
    if names.len() < ranks.len() {
        return Verdict::unknown(
            "several processes are of the same rank: which of them did steps together is not known",
        );
    }
    if let Some(few) = ranks.iter().find(|rank| rank.row.steps.count < thresholds.min_steps) {
        return Verdict::unknown(format!(
            "rank {} has {} after warm-up: too few to judge; record at least {}",
            few.rank,
            things(few.row.steps.count, "step", "steps"),
            thresholds.min_steps
        ));
    }
    if steps.mode.are_steps_apart() {
        return Verdict::fine("ranks do steps of their own, so that none waits for another");
    }
    ranks.sort_by_key(|rank| (std::cmp::Reverse(rank.works_ns), rank.rank));
    let Some(split) = Split::of(&ranks) else {
        return Verdict::fine("no rank works longer for a step than most of the others");
    };
    let share = split.gap_ns as f64 / split.slowest.p50_ns.max(1) as f64;
    if share < thresholds.min_share || split.gap_ns as f64 <= thresholds.min_error_ratio * split.error_ns {
        return Verdict::fine(format!(
            "rank {} works longest, {} of its step longer than the next ones; from {} on that would be told",
            split.slowest.rank,
            percent(share),
            percent(
                thresholds
                    .min_share
                    .max(thresholds.min_error_ratio * split.error_ns / split.slowest.p50_ns.max(1) as f64)
            )
        ));
    }
    // (Of two kinds of steps half of each, the median is of one kind or the other.)
    if split.long_gap_ns().is_some_and(|long_ns| long_ns.saturating_mul(2) < split.gap_ns) {
        return Verdict::fine(format!(
            "the median step of rank {} takes {} longer than that of the next ones, its long steps (90th percentile) do not: it \
             has more of one kind of steps",
            split.slowest.rank,
            duration(split.gap_ns)
        ));
    }
    if let Some(late) = Late::of(summary)
        && split.slow.iter().any(|rank| rank.rank == late.rank)
        && is_told_as_late(summary, config)
    {
        return Verdict::fine(format!(
            "rank {} works longer than the others, which wait for it in communication: see communication_waits",
            late.rank
        ));
    }
    let Some(gain) = Gain::upper_bound(split.gap_ns, split.slowest.p50_ns) else {
        return Verdict::unknown("steps have no duration");
    };
    Verdict::Found(vec![split.finding(&steps, gain, thresholds)])
}

/// Ranks of the run that this input lacks.
struct Absent {
    read: u64,
    all: u64,
    /// Some of them, the smallest.
    ranks: Vec<i64>,
}

/// Ranks that are named, at most.
const NAMED: usize = 8;

impl Absent {
    /// None where all are there, or nobody said how many there are.
    fn of(summary: &Summary) -> Option<Self> {
        let size = summary.state.world_size?;
        let all = u64::try_from(size).ok()?;
        let known =
            summary.instances.iter().map(|row| row.resource.rank).collect::<Option<BTreeSet<i64>>>()?;
        let read = known.iter().filter(|rank| (0..size).contains(rank)).count() as u64;
        let ranks = (0..size).filter(|rank| !known.contains(rank)).take(NAMED + 1).collect();
        (0 < read && read < all).then_some(Self { read, all, ranks })
    }

    fn words(&self) -> String {
        let are = if self.read == 1 { "is" } else { "are" };
        let absent = match self.ranks.as_slice() {
            [one] => format!(" (rank {one} is not)"),
            some if some.len() <= NAMED => {
                format!(" (ranks {} are not)", listed(some.iter().map(i64::to_string)))
            }
            _ => String::new(),
        };
        format!("{} of {} ranks {are} in this input{absent}", count(self.read), count(self.all))
    }
}

/// What qualifies all that is said of ranks.
fn notes(summary: &Summary) -> Vec<Note> {
    let text = |absent: Absent| {
        format!(
            "{}. What findings say of ranks, and who waits for whom, is of those that are; give the files of all.",
            absent.words()
        )
    };
    let texts = Absent::of(summary).map(text);
    texts.into_iter().map(|text| Note { rule: RULE.id, section: None, text }).collect()
}

fn is_told_as_late(summary: &Summary, config: &Config) -> bool {
    let thresholds = &config.communication_waits;
    Wait::of(summary, Phase::Communication, "", thresholds.min_share, thresholds.min_steps).is_ok()
}

/// One rank.
struct Rank<'a> {
    rank: i64,
    row: &'a InstanceRow,
    p50_ns: u64,
    works_ns: u64,
    /// What its long steps take, those of one in ten.
    long_ns: Option<u64>,
    error_ns: f64,
}

impl<'a> Rank<'a> {
    fn of(row: &'a InstanceRow) -> Option<Self> {
        // Of steps without their spans nobody knows what they waited.
        let works = if row.works.count > 0 { &row.works } else { &row.steps };
        let (works_ns, mad_ns) = works.p50.zip(works.mad.or_else(|| works.mad_is_below()))?;
        let independent = (works.count as f64 / ALIKE).max(1.0);
        Some(Self {
            rank: row.resource.rank?,
            row,
            p50_ns: row.steps.p50?,
            works_ns,
            long_ns: works.p90,
            error_ns: ERROR_OF_MEDIAN * mad_ns as f64 / independent.sqrt(),
        })
    }
}

/// The slow ranks and the others.
struct Split<'a, 'b> {
    slow: &'b [Rank<'a>],
    others: &'b [Rank<'a>],
    slowest: &'b Rank<'a>,
    gap_ns: u64,
    error_ns: f64,
}

impl<'a, 'b> Split<'a, 'b> {
    /// Where neighbours of the sorted ranks are furthest apart, among the slower half; of equals the fewest slow ones.
    fn of(ranks: &'b [Rank<'a>]) -> Option<Self> {
        let gap = |at: usize| {
            let (last, next) = (ranks.get(at.checked_sub(1)?)?, ranks.get(at)?);
            Some((last.works_ns.saturating_sub(next.works_ns), last.error_ns.hypot(next.error_ns)))
        };
        let gaps = (1..=ranks.len() / 2).rev().filter_map(|at| Some((at, gap(at)?)));
        let (at, (gap_ns, error_ns)) = gaps.max_by_key(|&(_, (gap_ns, _))| gap_ns)?;
        let (slow, others) = ranks.split_at(at);
        (gap_ns > 0).then_some(Self { slow, others, slowest: slow.first()?, gap_ns, error_ns })
    }

    /// By how much the long steps of the slow ranks are longer than those of the others.
    fn long_gap_ns(&self) -> Option<u64> {
        Some(self.slow.last()?.long_ns?.saturating_sub(self.others.first()?.long_ns?))
    }

    fn finding(&self, steps: &Steps<'_>, gain: Gain, thresholds: &Thresholds) -> Finding {
        let rows = |ranks: &'b [Rank<'a>]| ranks.iter().map(|rank| rank.row).collect::<Vec<_>>();
        let least_ns = thresholds.explained_share * self.gap_ns as f64;
        let longer = Longer::of(&rows(self.slow), &rows(self.others), least_ns);
        let section = longer.and_then(|longer| longer.section(steps));
        let who = match self.slow {
            [one] => format!("Rank {} works", one.rank),
            some => format!("Ranks {} work", listed(some.iter().map(|rank| rank.rank.to_string()))),
        };
        let at_least = if self.slow.len() > 1 { "at least " } else { "" };
        let others = match self.others {
            [one] => format!("rank {}", one.rank),
            some => format!("the other {}", some.len()),
        };
        let place = longer.map_or_else(
            || "No phase explains it: give sections a phase".to_owned(),
            |longer| longer.words(steps),
        );
        Finding {
            title: format!("{who} {at_least}{} a step longer than {others}.", duration(self.gap_ns)),
            severity: gain.severity(),
            section: section.map(|row| row.path.clone()),
            phase: longer.map(|longer| longer.phase.to_owned()),
            rank: (self.slow.len() == 1).then_some(self.slowest.rank),
            evidence: Evidence::new()
                .with("slow_ranks", self.slow.len())
                .with("ranks", self.slow.len().saturating_add(self.others.len()))
                .with("slowest_works_ns", self.slowest.works_ns)
                .with("next_works_ns", self.others.first().map_or(0, |next| next.works_ns))
                .with("standard_error_ns", rounded(self.error_ns, 0))
                .with_known("phase_per_step_ns", longer.map(|longer| longer.own_ns))
                .with_known("phase_on_others_ns", longer.map(|longer| longer.others_ns))
                .with("steps", steps.count()),
            recommendation: format!(
                "{place}. Look at what differs there from the other ranks: the device (clock, heat), other programs on the \
                 host, the part of the data, code that only this rank runs. Ranks that are in step all take as long as the \
                 slowest."
            ),
            predicted_gain: Some(gain),
        }
    }
}
