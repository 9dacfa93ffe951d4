//! A small generator, so that a seed gives the same run everywhere (SplitMix64). Not for secrets.

/// Pseudo-random numbers of a seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From -1 to 1.
    pub fn signed(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// Below `end`, which must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_follow_the_seed() {
        let mut random = Random::new(3);
        assert!((0..10_000).all(|_| (-1.0..1.0).contains(&random.signed()) && random.below(7) < 7));
        // First value of SplitMix64 with seed 0, from its reference implementation.
        assert_eq!(Random::new(0).bits(), 0xE220_A839_7B1D_CDAF);
    }
}
