//! Periods of a series: values that are larger every so often, at a fixed distance. Knows nothing of steps or runs.
//!
//! A value is large by what it lies above the median of those around it (of values of so short a period that they are a
//! good part of those, above that of the rest), so that neither a change of level nor a drift is one. A class of numbers
//! (those with one remainder by a period) is periodic where nearly all of its values are large, and more of them than
//! chance explains: by Chernoff's bound of the binomial distribution, at the share of large values among the others, over
//! all classes that could have been looked at. A class may be periodic from one of its numbers on (checkpoints begin when
//! there is something to save): then so it is judged among the values from there on, over all numbers where it could have
//! begun. In any case it begins with its first large value. The clearest class is taken, what its values have above the
//! others is taken off them, and the rest is looked at again: so evaluations every 100 steps are told from logging every 10.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Values that are too few to tell a period.
const MIN_VALUES: usize = 60;

/// The shortest period. Of every other value the shorter ones are the usual ones.
pub const MIN_EVERY: u64 = 2;

/// Values that a class needs.
pub const MIN_MEMBERS: usize = 4;

/// Of a class's values, the per cent that are large: what is done every so often is left out at times, as a checkpoint
/// is of a model that did not get better. Of a class that holds every other period half are.
pub const MIN_LARGE_PERCENT: usize = 60;

/// The same of a class that begins late: where it begins is chosen, so that chance adds some.
pub const MIN_LATE_PERCENT: usize = 80;

/// The share of a class's values that are large once it has begun, where nothing else is known.
const AS_A_RULE: f64 = 0.9;

/// A large value is at least so many times as large as those around it.
const LARGER: f64 = 1.1;

/// Shares of the limit beyond which deviations are outliers. What is periodic need not be: of values that scatter by 5 %
/// nearly all of a class may be 20 % larger, and few others. Of outliers alone only some would be seen, and a multiple of
/// the period told.
const STRICTNESS: [f64; 2] = [1.0, 0.5];

/// Periods so short that their values are a good part of those among which the usual one is looked for.
const OFTEN: RangeInclusive<u64> = MIN_EVERY..=4;

/// Where values of so short a period deviate so many times as far as the others, it is these that tell what is usual.
const APART: f64 = 2.0;

/// The probability of seeing any period in a series without one.
pub const SIGNIFICANCE: f64 = 1e-3;

/// Periods that are told.
pub const MAX_PERIODS: usize = 4;

/// Deviations beyond this many median ones are outliers: three standard deviations of a normal distribution.
const USUAL: f64 = 4.45;

/// Values of a block, and on each side of it, whose median is the usual value there.
const BLOCK: usize = 64;
const AROUND: usize = 32;

/// Large values after one whose distances from it can be a period: outliers lie between those of a period.
const LAGS: usize = 4;

/// Remainders of a distance that are looked up in a table.
const MAX_TABLE: usize = 4_096;

/// Distances that are looked at: the most frequent ones.
const CANDIDATES: usize = 32;

/// A period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The distance.
    pub every: u64,
    /// The smallest number of the class that is there.
    pub first: u64,
    /// The number with which it begins, where that is later.
    pub since: Option<u64>,
}

impl Period {
    /// Whether `number` is of its class.
    #[must_use]
    pub const fn holds(&self, number: u64) -> bool {
        let has_begun = match self.since {
            Some(since) => number >= since,
            None => true,
        };
        has_begun && self.every > 0 && number % self.every == self.first % self.every
    }

    /// Whether its class has all numbers of another's.
    pub(crate) const fn is_around(&self, other: &Self) -> bool {
        self.every > 0
            && other.every.is_multiple_of(self.every)
            && other.first % self.every == self.first % self.every
    }
}

/// The periods of `values` at those `numbers`, which rise; the rarest first.
#[must_use]
pub fn periods(numbers: &[u64], values: &[u64]) -> Vec<Period> {
    if numbers.len() != values.len() || values.len() < MIN_VALUES {
        return Vec::new();
    }
    let mut search = Search::new(numbers, values);
    let mut found = Vec::new();
    while found.len() < MAX_PERIODS {
        let Some(period) = search.clearest(&found) else { break };
        search.take_off(&period);
        found.push(period);
    }
    found.sort_by_key(|period| (std::cmp::Reverse(period.every), period.first));
    found
}

struct Search<'a> {
    numbers: &'a [u64],
    /// By how much each value lies above the usual one there and what periods explain, as a share of the usual one.
    above: Vec<f64>,
    /// From where on that is an outlier.
    limits: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(numbers: &'a [u64], values: &[u64]) -> Self {
        let mut above = Vec::with_capacity(values.len());
        for (block, start) in values.chunks(BLOCK).zip((0_usize..).step_by(BLOCK)) {
            let from = start.saturating_sub(AROUND);
            let to = (start + BLOCK + AROUND).min(values.len());
            let around = numbers.get(from..to).zip(values.get(from..to)).unwrap_or((&[], block));
            let usual = of_lower(around, LARGER, |values| crate::changes::median(values) as f64).max(1.0);
            above.extend(block.iter().map(|&value| value as f64 / usual - 1.0));
        }
        let limit = USUAL * of_lower((numbers, &above), APART, median_size);
        Self { numbers, limits: vec![limit; above.len()], above }
    }

    /// The class of which it is least likely that chance made it so, if any is unlikely enough.
    fn clearest(&self, known: &[Period]) -> Option<Period> {
        let found = STRICTNESS.iter().filter_map(|&strictness| self.clearest_of(strictness, known));
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, period)| period)
    }

    /// The same where values are large from a share of the limit on; with the logarithm of that likelihood.
    fn clearest_of(&self, strictness: f64, known: &[Period]) -> Option<(f64, Period)> {
        let large: Vec<u64> = self.large(strictness).collect();
        let all = Among { values: self.numbers.len(), large: large.len() };
        let is_possible =
            |large: usize| large >= MIN_MEMBERS && all.chance_ln(large, large) <= SIGNIFICANCE.ln();
        let mut best: Option<(f64, Period)> = None;
        for every in candidates(&large) {
            let classes = self.classes(every, &large, is_possible);
            let late = self.late(every, &classes, all, strictness);
            for ((first, whole), late) in classes.iter().copied().zip(late) {
                let late = late.filter(|late| late.begins_within(&whole));
                let found = [late, Some(whole)].into_iter().flatten().find_map(|class| {
                    let period = Period { every, first, since: class.since };
                    let chance = self.chance_ln(&period, class, &large, known)? + class.starts_ln(&whole);
                    (chance <= SIGNIFICANCE.ln()).then_some((chance, period))
                });
                if let Some(found) = found.filter(|(chance, _)| best.is_none_or(|(least, _)| *chance < least))
                {
                    best = Some(found);
                }
            }
        }
        best.map(|(chance, period)| (chance, self.begun(period, &large)))
    }

    /// A period from its first large value on: step 0 is a multiple of any number, and mostly none of its steps.
    fn begun(&self, period: Period, large: &[u64]) -> Period {
        let first = large.iter().copied().find(|&number| period.holds(number));
        Period { since: period.since.or(first.filter(|&number| number > period.first)), ..period }
    }

    /// The bound of the logarithm of the probability that chance made a class so; nothing where too few of it are large.
    fn chance_ln(&self, period: &Period, class: Class, large: &[u64], known: &[Period]) -> Option<f64> {
        if class.large * 100 < class.members * class.min_percent() {
            return None;
        }
        // A part of a known period's class has to be clear in that, too: its values scatter in a way of their own.
        let first = period.since.unwrap_or(period.first);
        let around =
            known.iter().filter(|known| period.every.is_multiple_of(known.every) && known.holds(first));
        let around = around.map(|known| self.among(large, period.since, |number| known.holds(number)));
        let all = self.among(large, period.since, |_| true);
        let chances = around.chain([all]).map(|among| among.chance_ln(class.large, class.members));
        chances.max_by(f64::total_cmp)
    }

    /// Those values, and the large ones of them, from a number on.
    fn among(&self, large: &[u64], since: Option<u64>, is_meant: impl Fn(u64) -> bool) -> Among {
        let count = |numbers: &[u64]| {
            let first = numbers.partition_point(|&number| since.is_some_and(|since| number < since));
            let rest = numbers.get(first..).unwrap_or_default();
            rest.iter().filter(|&&number| is_meant(number)).count()
        };
        Among { values: count(self.numbers), large: count(large) }
    }

    /// Each class from that of its values on with which it most likely began; see [`Beginning`].
    fn late(&self, every: u64, wholes: &[(u64, Class)], all: Among, strictness: f64) -> Vec<Option<Class>> {
        let mut begun: Vec<Beginning> = wholes.iter().map(|(_, whole)| Beginning::of(whole, all)).collect();
        let places = Places::of(every, wholes.iter().map(|(first, _)| first % every));
        // One pass for all classes of a distance: there may be as many as it is long.
        let values = self.numbers.iter().zip(self.above.iter().zip(&self.limits)).rev();
        for (&number, (above, limit)) in values.filter(|_| !wholes.is_empty()) {
            if let Some(beginning) = begun.get_mut(places.get(number % every)) {
                beginning.add(number, *above > beyond(*limit, strictness));
            }
        }
        let late = |((_, whole), beginning): (&(u64, Class), &Beginning)| {
            let (_, class) = beginning.best?;
            (class.members < whole.members).then_some(class)
        };
        wholes.iter().zip(&begun).map(late).collect()
    }

    fn large(&self, strictness: f64) -> impl Iterator<Item = u64> {
        let values = self.numbers.iter().zip(self.above.iter().zip(&self.limits));
        let is_large = move |(above, limit): (&f64, &f64)| *above > beyond(*limit, strictness);
        values.filter(move |(_, value)| is_large(*value)).map(|(&number, _)| number)
    }

    /// The classes that have enough large values, with their first numbers.
    fn classes(&self, every: u64, large: &[u64], is_enough: impl Fn(usize) -> bool) -> Vec<(u64, Class)> {
        let mut by_remainder: BTreeMap<u64, usize> = BTreeMap::new();
        for number in large {
            *by_remainder.entry(number % every).or_default() += 1;
        }
        by_remainder.retain(|_, large| is_enough(*large));
        if by_remainder.is_empty() {
            return Vec::new();
        }
        let places = Places::of(every, by_remainder.keys().copied());
        let mut classes: Vec<(Option<u64>, usize, usize)> =
            by_remainder.into_values().map(|large| (None, 0, large)).collect();
        for &number in self.numbers {
            if let Some((first, members, _)) = classes.get_mut(places.get(number % every)) {
                first.get_or_insert(number);
                *members += 1;
            }
        }
        let class = |members, large| Class { since: None, members, large };
        let classes = classes.into_iter();
        let classes = classes.filter_map(|(first, members, large)| Some((first?, class(members, large))));
        let mut classes: Vec<(u64, Class)> = classes.collect();
        classes.sort_by_key(|&(first, _)| first);
        classes
    }

    /// Takes off the values of a class what they have above the others, and lets them scatter as they do.
    fn take_off(&mut self, period: &Period) {
        let members: Vec<usize> = (0..self.numbers.len())
            .filter(|&at| self.numbers.get(at).is_some_and(|&n| period.holds(n)))
            .collect();
        let mut sizes: Vec<f64> = members.iter().filter_map(|&at| self.above.get(at).copied()).collect();
        sizes.sort_by(f64::total_cmp);
        let level = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        for &at in &members {
            if let Some(above) = self.above.get_mut(at) {
                *above -= level;
            }
        }
        let rest: Vec<f64> = members.iter().filter_map(|&at| self.above.get(at).copied()).collect();
        let usual = USUAL * median_size(&rest);
        for at in members {
            if let Some(limit) = self.limits.get_mut(at) {
                *limit = limit.max(usual);
            }
        }
    }
}

/// From where on a value is large.
fn beyond(limit: f64, strictness: f64) -> f64 {
    (limit * strictness).max(LARGER - 1.0)
}

/// Distances between large values that occur most often; of equals the shorter ones.
fn candidates(large: &[u64]) -> Vec<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for lag in 1..=LAGS {
        for (a, b) in large.iter().zip(large.iter().skip(lag)) {
            let distance = b.saturating_sub(*a);
            if distance >= MIN_EVERY {
                *counts.entry(distance).or_default() += 1;
            }
        }
    }
    let mut distances: Vec<(u64, usize)> = counts.into_iter().collect();
    distances.sort_by_key(|&(distance, count)| (std::cmp::Reverse(count), distance));
    distances.into_iter().take(CANDIDATES).map(|(distance, _)| distance).collect()
}

/// Where the class of a remainder stands in a list of some: every value of the series is looked up.
enum Places {
    /// By remainder.
    Few(Vec<usize>),
    /// Of a distance with too many remainders for that.
    Many(BTreeMap<u64, usize>),
}

impl Places {
    /// In no list.
    const NOWHERE: usize = usize::MAX;

    fn of(every: u64, remainders: impl Iterator<Item = u64>) -> Self {
        let placed = remainders.zip(0..);
        match usize::try_from(every) {
            Ok(every) if every <= MAX_TABLE => {
                let mut places = vec![Self::NOWHERE; every];
                for (remainder, at) in placed {
                    let slot = usize::try_from(remainder).ok().and_then(|at| places.get_mut(at));
                    slot.into_iter().for_each(|slot| *slot = at);
                }
                Self::Few(places)
            }
            _ => Self::Many(placed.collect()),
        }
    }

    #[inline]
    fn get(&self, remainder: u64) -> usize {
        let at = match self {
            Self::Few(places) => places.get(remainder as usize),
            Self::Many(places) => places.get(&remainder),
        };
        at.copied().unwrap_or(Self::NOWHERE)
    }
}

/// The values of a class.
#[derive(Debug, Clone, Copy)]
struct Class {
    /// From which on.
    since: Option<u64>,
    members: usize,
    large: usize,
}

impl Class {
    /// The per cent of it that has to be large.
    const fn min_percent(&self) -> usize {
        if self.since.is_some() { MIN_LATE_PERCENT } else { MIN_LARGE_PERCENT }
    }

    /// What it costs to choose where it begins, of as many numbers as it has.
    fn starts_ln(&self, whole: &Self) -> f64 {
        self.since.map_or(0.0, |_| (whole.members.max(1) as f64).ln())
    }

    /// Whether values before it are too seldom large to be a part of it that was left out by chance.
    fn begins_within(&self, whole: &Self) -> bool {
        let before = whole.members.saturating_sub(self.members);
        let usual = before.saturating_sub(whole.large.saturating_sub(self.large));
        let left_out = (self.members.saturating_sub(self.large) as f64 + 1.0) / (self.members as f64 + 2.0);
        binomial_ln(usual, before, left_out) + self.starts_ln(whole) <= SIGNIFICANCE.ln()
    }
}

/// Where a class most likely began, found from its last value backwards: with a large one that is followed by one, where
/// before it as large a share is as of all other values, and after it nearly all.
struct Beginning {
    /// What a large value adds to the logarithm of the likelihood that the class has begun, and another.
    gain: f64,
    loss: f64,
    likelihood: f64,
    class: Class,
    is_followed: bool,
    best: Option<(f64, Class)>,
}

impl Beginning {
    fn of(whole: &Class, all: Among) -> Self {
        let usual = all.usual(whole.large, whole.members);
        let (gain, loss) = ((AS_A_RULE / usual).ln(), ((1.0 - AS_A_RULE) / (1.0 - usual)).ln());
        let class = Class { since: None, members: 0, large: 0 };
        Self { gain, loss, likelihood: 0.0, class, is_followed: false, best: None }
    }

    /// The value before those that were added.
    fn add(&mut self, number: u64, is_large: bool) {
        self.likelihood += if is_large { self.gain } else { self.loss };
        self.class.members += 1;
        self.class.large += usize::from(is_large);
        let is_likely = self.best.is_none_or(|(most, _)| most <= self.likelihood);
        if is_large && self.is_followed && is_likely {
            self.best = Some((self.likelihood, Class { since: Some(number), ..self.class }));
        }
        self.is_followed = is_large;
    }
}

/// Values of which a class is a part.
#[derive(Debug, Clone, Copy)]
struct Among {
    values: usize,
    large: usize,
}

impl Among {
    /// The share of large values among the others than a class's, by Laplace's rule of succession.
    fn usual(self, large: usize, members: usize) -> f64 {
        let others = self.values.saturating_sub(members) as f64;
        (self.large.saturating_sub(large) as f64 + 1.0) / (others + 2.0)
    }

    /// Bound of the logarithm of the probability that of any class with as many members so many are large, when as large
    /// a share is as of the other values (by Laplace's rule of succession); above 0 where nothing is said.
    fn chance_ln(self, large: usize, members: usize) -> f64 {
        let usual = self.usual(large, members);
        // As many classes as have enough members: of each period up to a quarter of the values, as many as it is long; of
        // each strictness.
        let classes = self.values as f64 * self.values as f64 / (2 * MIN_MEMBERS * MIN_MEMBERS) as f64;
        binomial_ln(large, members, usual) + (classes * STRICTNESS.len() as f64).max(1.0).ln()
    }
}

/// Chernoff's bound of the logarithm of the probability that of `members` values at least so many are large, where a
/// share is `usual`; 0 where that many are usual.
fn binomial_ln(large: usize, members: usize, usual: f64) -> f64 {
    let share = large as f64 / members.max(1) as f64;
    if share <= usual || usual <= 0.0 {
        return 0.0;
    }
    let rest = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - usual)).ln() } else { 0.0 };
    -(members as f64) * (share * (share / usual).ln() + rest)
}

/// The level of values by number: where that of every second, third or fourth number is `apart` times as high as that of
/// the rest, the rest's; the lowest, of several.
fn of_lower<T: Copy>((numbers, values): (&[u64], &[T]), apart: f64, level: impl Fn(&[T]) -> f64) -> f64 {
    let all = || numbers.iter().zip(values);
    let mut lowest = level(values);
    for (every, remainder) in OFTEN.flat_map(|every| (0..every).map(move |remainder| (every, remainder))) {
        let (class, rest): (Vec<_>, Vec<_>) = all().partition(|(number, _)| *number % every == remainder);
        let of =
            |part: Vec<(&u64, &T)>| level(&part.into_iter().map(|(_, value)| *value).collect::<Vec<T>>());
        if class.is_empty() || rest.is_empty() {
            continue;
        }
        let (class, rest) = (of(class), of(rest));
        if class >= apart * rest && rest < lowest {
            lowest = rest;
        }
    }
    lowest
}

/// The lower median of the absolute values; 0 of nothing.
fn median_size(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let middle = sizes.len().saturating_sub(1) / 2;
    if sizes.is_empty() { 0.0 } else { *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

#[cfg(test)]
mod tests;
