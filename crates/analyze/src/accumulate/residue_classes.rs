//! Classes of step numbers, of each of which something is kept, so that what happens every so often does not crowd out
//! what happens now and then. Periods are known at the end only, when all steps were seen. But by powers of different
//! primes every period comes apart: where each of its prime powers divides one of the moduli, a number that is not of
//! the period is, by one of them at least, in a class in which no number of it is (the Chinese remainder theorem).
//! Knows neither steps nor durations.

/// Moduli, each a power of a prime of its own.
pub(crate) type Moduli = &'static [u64];

/// The classes of a number, one by each modulus: their places among those of all moduli.
pub(crate) fn classes(moduli: Moduli, number: u64) -> impl Iterator<Item = usize> {
    let mut before = 0;
    moduli.iter().map(move |&modulus| {
        let class = before + number.checked_rem(modulus).unwrap_or(0);
        before += modulus;
        class as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_no_period_is_where_no_period_is() {
        let moduli: Moduli = &[8, 9, 5];
        assert_eq!(classes(moduli, 13).collect::<Vec<_>>(), [5, 8 + 4, 17 + 3]);
        for every in (3..=360).filter(|every| 360 % every == 0) {
            let mut taken = [false; 22];
            (0..720).step_by(every).flat_map(|n| classes(moduli, n as u64)).for_each(|at| taken[at] = true);
            for number in (0..720).filter(|number| number % every != 0) {
                assert!(classes(moduli, number as u64).any(|at| !taken[at]), "{number} beside every {every}");
            }
        }
    }
}
