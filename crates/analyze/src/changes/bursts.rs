//! Whether times come in bursts, most of them in one of several steps, or go up and down in turn, and over how many steps means
//! do neither.

use super::MIN_POINTS;

/// Steps that are looked at together: more than what loaders fetch ahead.
const TOGETHER: usize = 16;

/// Share of the time of these that bursts take.
const SHARE: f64 = 0.1;

/// Share of a run in which there are bursts: one long wait, as for the first batch or of each epoch, is none.
const OFTEN: f64 = 0.3;

/// Most steps of which means are taken.
const MOST: usize = 32;

/// Means over more steps scatter less if they do by this factor, beside what they do at random.
const LESS: f64 = 0.9;

/// The same of means instead of single steps, of which there are more to tell a change by.
const LESS_THAN_SINGLE: f64 = 0.7;

/// The same of values that go up and down in turn, of which so many are in a turn at most.
const TURNS: f64 = 0.5;
const MOST_TURNS: usize = 3;

/// From this share of what steps with their input differ by from the next ones it is the input that differs.
const OF_INPUT: f64 = 0.5;

/// Whether the input before steps comes in bursts, as from loaders that make several batches at once and fall behind: the usual
/// step waits for little or nothing then, and few wait for all. What the usual step takes with it, which is what changes are
/// told of, says nothing of what a run takes. `taken` is that, of as many steps.
pub(crate) fn comes_in_bursts(input: &[u64], taken: &[u64]) -> bool {
    // What means are above medians; noise to both sides cancels out.
    let above = |some: &[u64]| {
        let mut sorted = some.to_vec();
        sorted.sort_unstable();
        // Of both in the middle, or times that are half of one level and half of another would be bursts.
        let middle = sorted.get((sorted.len() - 1) / 2).zip(sorted.get(sorted.len() / 2));
        let usual = middle.map_or(0.0, |(&lower, &upper)| lower.midpoint(upper) as f64);
        some.iter().map(|&input| input as f64 - usual).sum::<f64>()
    };
    let all = |some: &[u64]| some.iter().map(|&taken| taken as f64).sum::<f64>();
    let together = input.chunks(TOGETHER).zip(taken.chunks(TOGETHER));
    let together = together.filter(|(input, _)| input.len() > TOGETHER / 2);
    let (bursts, count) = together.fold((0.0, 0.0), |(bursts, count), (input, taken)| {
        (bursts + f64::from(u8::from(above(input) > SHARE * all(taken))), count + 1.0)
    });
    bursts > OFTEN * count
}

/// How many steps in a row take, on average, most nearly what the next ones do: one where each waits for what it takes at random,
/// several where those that wait for long are followed by others that do not, as the batches of several loaders. Absent where
/// even means over as many as there may be come in bursts.
pub(crate) fn steadiest(input: &[u64], taken: &[u64]) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    // Where it is the steps that go up and down, others tell what is usual.
    let is_of_input = comes_in_bursts(input, taken) || apart(input, FEW) >= apart(taken, FEW) * OF_INPUT;
    let most = if is_of_input { MOST.min(taken.len() / (2 * MIN_POINTS)) } else { 1 };
    for count in 1..=most.max(1) {
        let taken = means(taken, count);
        if comes_in_bursts(&means(input, count), &taken) {
            continue;
        }
        // At random, means scatter by one part in the root of their count. Of more there are fewer to tell a change by.
        let scatter = apart(&taken, MANY) * (count as f64).powf(0.75);
        let is_less =
            |(least, of): (f64, usize)| scatter < least * if of == 1 { LESS_THAN_SINGLE } else { LESS };
        if best.is_none_or(is_less) {
            best = Some((scatter, count));
        }
    }
    best.map(|(_, count)| count)
}

/// Over how many of up to 3 values in a row means scatter by less than half, which is where values go up and down in turn, in the
/// whole series or in a part of it. Rarer ones than one in three are no matter to medians.
pub(super) fn turns(values: &[u64]) -> Option<usize> {
    let scatter = |count: usize| apart(&means(values, count), SOME) * (count as f64).sqrt();
    let most = scatter(1) * TURNS;
    (2..=MOST_TURNS).find(|&count| scatter(count) < most)
}

/// Of what neighbours differ by, the largest parts (one in so many) that are outliers. Means have as many times more as values are in
/// one.
const MANY: usize = 4;
pub(super) const SOME: usize = 10;
const FEW: usize = 20;

/// What neighbours differ by on average, outliers aside.
pub(super) fn apart(values: &[u64], outliers: usize) -> f64 {
    let apart = values.iter().zip(values.iter().skip(1)).map(|(one, other)| one.abs_diff(*other));
    let mut apart: Vec<u64> = apart.collect();
    apart.sort_unstable();
    let usual = apart.get(..apart.len() - apart.len() / outliers).unwrap_or_default();
    usual.iter().map(|&apart| apart as f64).sum::<f64>() / usual.len().max(1) as f64
}

/// The means of so many values in a row each, rounded down; of fewer at the end none.
pub(crate) fn means(values: &[u64], count: usize) -> Vec<u64> {
    let mean = |some: &[u64]| some.iter().map(|&value| u128::from(value)).sum::<u128>() / count as u128;
    values.chunks_exact(count.max(1)).map(|some| u64::try_from(mean(some)).unwrap_or(u64::MAX)).collect()
}

/// Where in `from..=to` a change from a mean of `before` to one of `after` begins: where the squares of what values differ from
/// them are least, of equals the first.
pub(super) fn first_of(taken: &[u64], (from, to): (usize, usize), (before, after): (u64, u64)) -> usize {
    let (before, after) = (before as f64, after as f64);
    let mut best = (0.0, from);
    let mut sum = 0.0;
    for (index, &value) in (from + 1..).zip(taken.get(from..to).unwrap_or_default()) {
        // What the square of its distance from the level before is more than that from the level after.
        sum += (after - before) * (2.0 * value as f64 - after - before);
        if sum < best.0 {
            best = (sum, index);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10 ms beside the input.
    fn comes(input: impl Fn(u64) -> u64) -> bool {
        let input: Vec<u64> = (0..600).map(input).collect();
        let taken: Vec<u64> = input.iter().map(|input| 10_000 + input).collect();
        comes_in_bursts(&input, &taken)
    }

    #[test]
    fn one_batch_in_several_is_a_burst_and_more_from_some_step_on_is_none() {
        assert!(!comes(|_| 0) && !comes(|_| 40_000));
        assert!(!comes(|step| if step < 360 { 20 } else { 6_000 }));
        assert!(!comes(|step| step * 100));
        assert!(!comes(|step| if step / 8 % 2 == 0 { 5_000 } else { 25_000 }));
        // Anything up to 10 ms, in no order.
        assert!(!comes(|step| step * 7_919 % 10_007));
        for every in [4, 8, 16] {
            assert!(comes(|step| if step % every == 0 { 40_000 } else { 10 }), "{every}");
            // In a part of the run alone.
            assert!(comes(|step| if step >= 300 && step % every == 0 { 40_000 } else { 0 }), "{every}");
        }
        // So little of it that it does not matter.
        assert!(!comes(|step| if step % 8 == 0 { 4_000 } else { 10 }));
    }
}
