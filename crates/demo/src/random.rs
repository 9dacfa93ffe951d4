//! Pseudo-random numbers: xoshiro256++ seeded by splitmix64 (D. Blackman, S. Vigna, "Scrambled linear
//! pseudorandom number generators", 2021). Not for cryptography.

/// What a stream of random numbers is for: streams of one seed are independent of each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    /// Which images are held out.
    Split,
    /// Initial weights.
    Weights,
    /// Order of the images in an epoch.
    Shuffle,
    /// Shifts and noise of a step's images.
    Augmentation,
}

/// A generator of one stream.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    /// The `index`-th generator of a stream, such as the one of an epoch or a step.
    pub(crate) fn new(seed: u64, stream: Stream, index: u64) -> Self {
        let mut mix = splitmix64(seed);
        for word in [stream as u64, index] {
            mix = splitmix64(mix ^ word);
        }
        let mut state = [0; 4];
        for word in &mut state {
            mix = mix.wrapping_add(GOLDEN_GAMMA);
            *word = splitmix64(mix);
        }
        Self { state }
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f32 {
        const BITS: u32 = 24;
        (self.next_u64() >> (u64::BITS - BITS)) as f32 / (1_u32 << BITS) as f32
    }

    /// Uniform in [-limit, limit).
    pub(crate) fn symmetric(&mut self, limit: f32) -> f32 {
        (2.0 * self.unit() - 1.0) * limit
    }

    /// Uniform in 0..`bound`; 0 where `bound` is 0. The bias of the multiplication is below `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> u64::BITS) as usize
    }

    /// Fisher-Yates shuffle.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn splitmix64(value: u64) -> u64 {
    let mixed = value.wrapping_add(GOLDEN_GAMMA);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recurrences_match_their_authors_code() {
        // First output of splitmix64 for seed 0.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        // xoshiro256++ from the state 1, 2, 3, 4: the reference values of the rand project's test.
        let mut random = Random { state: [1, 2, 3, 4] };
        let first = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(first.map(|_| random.next_u64()), first);
    }

    #[test]
    fn draws_stay_in_range_and_cover_it() {
        let mut random = Random::new(7, Stream::Shuffle, 0);
        let mut seen = [0_u32; 3];
        for _ in 0..3000 {
            seen[random.below(3)] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
            assert!((-0.5..0.5).contains(&random.symmetric(0.5)));
        }
        assert!(seen.iter().all(|&count| (900..1100).contains(&count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |seed, stream, index| Random::new(seed, stream, index).next_u64();
        let base = first(1, Stream::Shuffle, 0);
        assert_eq!(base, first(1, Stream::Shuffle, 0));
        assert_ne!(base, first(2, Stream::Shuffle, 0));
        assert_ne!(base, first(1, Stream::Augmentation, 0));
        assert_ne!(base, first(1, Stream::Shuffle, 1));
    }

    #[test]
    fn a_shuffle_keeps_every_item_once() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3, Stream::Split, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
