//! Rule `slow_rank`: one rank works longer for its steps than the others, which do the same steps.

use stepscope_core::Phase;

use super::{Config, Judged, Rule, Steps, fine, no_duration, unknown};
use crate::phases::waits::PhaseWait;
use crate::ranks::{Absent, Late, Longer, Rank, Split};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, Note, Verdict, rounded};
use crate::report::units::{duration, listed, percent, things};
use crate::summary::{InstanceRow, Summary};

pub(super) const RULE: Rule =
    Rule { notes: |summary, _, _| notes(summary), ..Rule::new("Slow rank", FindingType::Variability) };

thresholds! {
    /// Share of the slowest rank's step from which its distance to the others is a finding.
    min_share: f64 = 0.05;
    /// The distance of the slow ranks from the others, in standard errors of it.
    min_error_ratio: f64 = 4.0;
    /// Share of the distance from which a phase explains it.
    explained_share: f64 = 0.5;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    // Nothing is fine of ranks that nobody looked at.
    match (judged(summary, config), Absent::of(summary)) {
        (Err(Verdict::Fine { because }), Some(absent)) => {
            unknown(format!("{}; of those {because}", absent.words()))
        }
        (judged, _) => judged,
    }
}

fn judged(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.slow_rank;
    let steps = Steps::read(summary)?;
    let ranks = Rank::all(summary)?;
    let Some(split) = Split::of(&ranks) else {
        return fine(format!(
            "{} work {} a step each",
            things(ranks.len() as u64, "rank", "ranks"),
            duration(ranks.first().map_or(0, |rank| rank.works_ns))
        ));
    };
    let share = split.gap_ns as f64 / split.slowest.p50_ns.max(1) as f64;
    if share < thresholds.min_share || split.gap_ns as f64 <= thresholds.min_error_ratio * split.error_ns {
        return fine(format!(
            "rank {} works longest, {} of its step longer than the next ones; limit {}",
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
        return fine(format!(
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
        return fine(format!(
            "rank {} works longer than the others, which wait for it in communication: see communication_waits",
            late.rank
        ));
    }
    let gain = Gain::upper_bound(split.gap_ns, split.slowest.p50_ns).ok_or_else(no_duration)?;
    Ok(vec![finding(&split, &steps, gain, thresholds)])
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
    texts.into_iter().map(|text| Note { rule: "slow_rank", section: None, text }).collect()
}

fn is_told_as_late(summary: &Summary, config: &Config) -> bool {
    let thresholds = &config.communication_waits;
    PhaseWait::judged(summary, Phase::Communication, "", thresholds.min_share).is_ok()
}

fn finding(split: &Split<'_, '_>, steps: &Steps<'_>, gain: Gain, thresholds: &Thresholds) -> Finding {
    let least_ns = thresholds.explained_share * split.gap_ns as f64;
    let longer = Longer::of(&rows(split.slow), &rows(split.others), least_ns);
    let section = longer.and_then(|longer| longer.section(steps));
    let who = match split.slow {
        [one] => format!("Rank {} works", one.rank),
        some => format!("Ranks {} work", listed(some.iter().map(|rank| rank.rank.to_string()))),
    };
    let at_least = if split.slow.len() > 1 { "at least " } else { "" };
    let others = match split.others {
        [one] => format!("rank {}", one.rank),
        some => format!("the other {}", some.len()),
    };
    let place = longer.map_or_else(
        || "No phase explains it: give sections a phase".to_owned(),
        |longer| longer.words(steps),
    );
    Finding {
        title: format!("{who} {at_least}{} a step longer than {others}.", duration(split.gap_ns)),
        severity: gain.severity(),
        section: section.map(|row| row.path.clone()),
        phase: longer.map(|longer| longer.phase.to_owned()),
        rank: (split.slow.len() == 1).then_some(split.slowest.rank),
        evidence: Evidence::new()
            .with("slow_ranks", split.slow.len())
            .with("ranks", split.slow.len().saturating_add(split.others.len()))
            .with("slowest_works_ns", split.slowest.works_ns)
            .with("next_works_ns", split.others.first().map_or(0, |next| next.works_ns))
            .with("standard_error_ns", rounded(split.error_ns, 0))
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

fn rows<'a>(ranks: &[Rank<'a>]) -> Vec<&'a InstanceRow> {
    ranks.iter().map(|rank| rank.row).collect()
}
