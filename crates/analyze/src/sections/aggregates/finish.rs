//! Aggregates of one path, summed over instances.

use std::collections::BTreeMap;

use stepscope_core::path::{join, split};
use stepscope_core::{Distribution, Histogram, Moments, metric};

use crate::run::RunAcc;
use crate::sections::aggregates::Aggregate;
use crate::sections::paths::shorten;

/// Aggregates of one path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Total {
    /// Exact figures; the sum is that of times that count once a path.
    pub(crate) moments: Moments,
    pub(crate) histogram: Histogram,
    pub(crate) self_busy_ns: Option<u128>,
    /// Allocated, freed, allocations, allocated itself, freed itself; each absent where a process that says
    /// anything of these does not say it.
    pub(crate) memory: Option<[Option<u128>; 5]>,
    pub(crate) phase: Option<Box<str>>,
    pub(crate) kind: Option<Box<str>>,
}

impl Total {
    /// Moments and buckets together.
    pub(crate) fn distribution(&self) -> Distribution {
        Distribution::from_parts(self.moments, Vec::new(), Some(self.histogram.clone()))
    }

    fn add(&mut self, aggregate: &Aggregate, moments: &Moments) {
        self.moments.merge(moments);
        if let Some((_, buckets)) = aggregate.durations() {
            self.histogram.merge(&buckets.histogram());
        }
        if let Some(busy) = aggregate.integer(metric::SECTION_SELF_BUSY) {
            self.self_busy_ns = Some(self.self_busy_ns.unwrap_or(0).saturating_add(busy.into()));
        }
        let names = [
            metric::SECTION_ALLOC,
            metric::SECTION_FREE,
            metric::SECTION_ALLOC_COUNT,
            metric::SECTION_SELF_ALLOC,
            metric::SECTION_SELF_FREE,
        ];
        let values = names.map(|name| aggregate.integer(name));
        if values.iter().any(Option::is_some) {
            let sums = self.memory.get_or_insert([Some(0); 5]);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum = sum.zip(value).map(|(sum, value)| sum.saturating_add(value.into()));
            }
        }
        smallest(&mut self.phase, &aggregate.phase);
        smallest(&mut self.kind, &aggregate.kind);
    }
}

fn smallest(mine: &mut Option<Box<str>>, theirs: &Option<Box<str>>) {
    if let Some(theirs) = theirs
        && mine.as_ref().is_none_or(|mine| theirs < mine)
    {
        *mine = Some(theirs.clone());
    }
}

/// Aggregates by path, written as the sections' are. A path of which some instance has sent only a part
/// (count, total, min and max belong together) says nothing about that instance.
pub(crate) fn totals(run: &RunAcc) -> BTreeMap<String, Total> {
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    for acc in run.instances.values() {
        for (path, aggregate) in &acc.aggregates.paths {
            let Some(moments) = moments(aggregate) else { continue };
            let names = split(path);
            let path = join(names.iter().map(|name| shorten(name)));
            totals.entry(path).or_default().add(aggregate, &moments);
        }
    }
    totals
}

fn moments(aggregate: &Aggregate) -> Option<Moments> {
    let count = aggregate.integer(metric::SECTION_COUNT).filter(|&count| count > 0)?;
    let low = aggregate.word(metric::SECTION_SQUARES_LOW).unwrap_or(0);
    let high = aggregate.word(metric::SECTION_SQUARES_HIGH).unwrap_or(0);
    Some(Moments {
        count,
        sum: aggregate.integer(metric::SECTION_TOTAL)?.into(),
        sum_of_squares: metric::squares(low, high),
        min: aggregate.integer(metric::SECTION_MIN)?,
        max: aggregate.integer(metric::SECTION_MAX)?,
    })
}
