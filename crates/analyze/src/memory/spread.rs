//! Which of several processes leak, in words. Whether each does is told in `detector`.

use std::collections::BTreeSet;

use crate::report::units::{bytes, count, listed};
use crate::summary::{CourseVerdict, MemorySummary, ProcessMemory};

/// Names that are told.
const NAMED: usize = 6;

/// A part of a rate below which another one is called the same.
const SAME: f64 = 0.9;

/// What some of several processes' memory does, and the others' does not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    /// Ranks, or ids of processes where ranks are not known.
    names: Vec<i64>,
    /// What they are: `rank` or `process`.
    noun: (&'static str, &'static str),
    /// Names of all that were judged.
    judged: u64,
    /// Of those, how many that neither do the same nor can be told to do anything else.
    undecided: u64,
    /// Whether all others keep their size.
    others_keep: bool,
    /// Processes that have memory at steps, whether judged or not.
    all: u64,
    /// Bytes a step, of all that grow: least and most.
    rates: (f64, f64),
    /// Growth of all processes together as a part of what it were if each grew as fast as the fastest.
    pub(crate) share: f64,
}

impl Spread {
    /// Of those that do what is told of the run; absent where a run has one process, or one name for all.
    pub(crate) fn of(memory: &MemorySummary) -> Option<Self> {
        let judged: Vec<&ProcessMemory> = memory.judged().collect();
        let is_ranked = judged.iter().all(|process| process.rank.is_some());
        let name = |process: &ProcessMemory| if is_ranked { process.rank } else { process.pid };
        let all: BTreeSet<i64> = judged.iter().map(|process| name(process)).collect::<Option<_>>()?;
        if all.len() < 2 {
            return None;
        }
        let alike = memory.alike();
        let names: BTreeSet<i64> = alike.iter().filter_map(|process| name(process)).collect();
        let others =
            || judged.iter().filter(|process| name(process).is_some_and(|name| !names.contains(&name)));
        let verdict = |process: &ProcessMemory| process.course.map(|course| course.verdict);
        let rate = |process: &&ProcessMemory| Some(process.course?.trend?.slope_per_step);
        let rates: Vec<f64> = alike.iter().filter_map(rate).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        Some(Self {
            noun: if is_ranked { ("rank", "ranks") } else { ("process", "processes") },
            judged: all.len() as u64,
            undecided: others().filter(|one| verdict(one) == Some(CourseVerdict::Undecided)).count() as u64,
            others_keep: others().all(|one| verdict(one) == Some(CourseVerdict::None)),
            all: memory.processes.iter().filter(|process| process.is_told).count() as u64,
            rates: (rates.iter().copied().fold(f64::INFINITY, f64::min).min(most), most),
            share: if most > 0.0 { rates.iter().sum::<f64>() / most / judged.len() as f64 } else { 1.0 },
            names: names.into_iter().collect(),
        })
    }

    /// Ranks that grow; none where they are not known.
    pub(crate) fn ranks(&self) -> Vec<i64> {
        if self.noun.0 == "rank" { self.names.clone() } else { Vec::new() }
    }

    /// Whether they are several.
    pub(crate) fn is_plural(&self) -> bool {
        self.names.len() > 1
    }

    /// `Ranks 2 and 5 of 8`.
    pub(crate) fn words(&self) -> String {
        let (one, many) = self.noun;
        let noun = if self.is_plural() { many } else { one };
        if self.names.len() as u64 == self.judged {
            return if self.judged == 2 {
                format!("both {many}")
            } else {
                format!("all {} {many}", count(self.judged))
            };
        }
        let named = self.names.iter().take(NAMED).map(ToString::to_string);
        let more = self.names.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("{} more", count(more as u64)));
        format!("{noun} {} of {}", listed(named.chain(more)), count(self.judged))
    }

    /// The same as the beginning of a sentence.
    pub(crate) fn beginning(&self) -> String {
        let words = self.words();
        let mut letters = words.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// What stands before the growth of the one that grows fastest.
    pub(crate) fn most(&self) -> &'static str {
        if self.is_plural() { "up to " } else { "" }
    }

    /// The same without a part of all growth.
    pub(crate) fn less(mut self, part: f64) -> Self {
        self.rates = (self.rates.0 * (1.0 - part), self.rates.1 * (1.0 - part));
        self
    }

    /// `1.00 MiB`, or `0.50 MiB to 1.00 MiB`.
    pub(crate) fn rate(&self) -> String {
        let of = |rate: f64| bytes(rate.max(0.0).round() as u64);
        let (least, most) = self.rates;
        if least >= SAME * most { of(most) } else { format!("{} to {}", of(least), of(most)) }
    }

    /// What the others do, as the end of a sentence; empty where there are none.
    pub(crate) fn others(&self) -> String {
        let rest = self.judged.saturating_sub(self.names.len() as u64);
        let unjudged = self.all.saturating_sub(self.judged);
        match (rest, self.undecided) {
            _ if unjudged > 0 => format!("; {} more that grow less were not judged", count(unjudged)),
            (0, _) => String::new(),
            (1, 1) => "; of the other it is undecided".into(),
            (_, undecided) if undecided > 0 => format!("; of {} others it is undecided", count(undecided)),
            (1, _) if self.others_keep => "; the other does not grow".into(),
            (_, _) if self.others_keep => "; the others do not grow".into(),
            (1, _) => "; the other does not leak".into(),
            _ => "; the others do not leak".into(),
        }
    }
}
