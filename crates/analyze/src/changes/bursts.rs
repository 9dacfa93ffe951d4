//! Whether times come in bursts: most of them in one of several steps.

/// Steps that are looked at together: more than what loaders fetch ahead.
const TOGETHER: usize = 16;

/// Share of all time that bursts take.
const SHARE: f64 = 0.1;

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
    let bursts: f64 = input.chunks(TOGETHER).filter(|some| some.len() > TOGETHER / 2).map(above).sum();
    bursts > SHARE * taken.iter().map(|&taken| taken as f64).sum::<f64>()
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
